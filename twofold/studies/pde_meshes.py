"""The same encoder and decoder on meshes: 1-D elliptic and 2-D diffusion, never formed densely."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from twofold.anatomy import take_apart
from twofold.certificate import Certificate
from twofold.decoder import reduced_basis, solve
from twofold.decoder.fast_poisson import FastPoisson
from twofold.encoder.operator import OperatorSystem
from twofold.encoder.weak_form import WeakForm
from twofold.findings import Table
from twofold.measures import encoded
from twofold.measures.coercivity import Elliptic
from twofold.protocol import EncoderDecoder
from twofold.tasks import families, forcing, pde
from twofold.tasks.affine import Sparse
from twofold.theorems import operator_residual

DEPTHS = (4, 8, 12)


@dataclass(frozen=True)
class Mesh:
    """A family on ``side``^``axes`` points, driven and probed by the same smooth modes."""

    name: str
    operators: Elliptic
    side: int
    axes: int
    modes: int

    @property
    def field(self) -> np.ndarray:
        """The weighted sine modes of the forcing."""
        return forcing.field(self.side, axes=self.axes, modes=self.modes)


def meshes() -> tuple[Mesh, ...]:
    """One in each dimension."""
    return (Mesh("1-D elliptic, tridiagonal", families.elliptic(dim=127), 127, 1, 8),
            Mesh("2-D diffusion, 4 pieces", families.diffusion(side=31), 31, 2, 4))  # fmt: skip


def table(seed: int, count: int = 64, spread: float = 0.1) -> tuple[Table, list[Certificate]]:
    """Floor, decoder error and proved distance of each mesh, by depth."""
    rows, proofs = [], []
    for mesh in meshes():
        tasks = pde.sample(mesh.operators, seed=seed, count=count, pairs=4, spread=spread,
                           forcing=mesh.field)  # fmt: skip
        encoder = WeakForm(mesh.operators, probes=mesh.field / (mesh.side + 1) ** mesh.axes)
        z_error = np.mean(encoded.latent_error(encoder.estimate(tasks.prompt), tasks.latent))
        for depth in DEPTHS:
            anatomy = take_apart(EncoderDecoder(encoder, _decoder(mesh, depth)), tasks)
            system = anatomy.systems
            assert isinstance(system, OperatorSystem) and anatomy.x is not None
            proof = operator_residual.certify(system, anatomy.x)
            proofs.append(proof)
            mean = anatomy.mean
            rows.append([mesh.name, mesh.operators.size[0], float(z_error), depth, mean["floor"],
                         mean["decoder"], mean["cross"], _proved(proof, mesh)])  # fmt: skip
    return Table("meshes", "On meshes: conjugate gradients with a fast Poisson solver", TOLD,
                 HEAD, rows), proofs  # fmt: skip


def reduced(seed: int, old: int = 160, fresh: int = 64) -> str:
    """How many new tasks a basis of old answers solves to 1e-8, proved, with no iteration."""
    mesh = meshes()[1]
    drawn = [pde.sample(mesh.operators, seed=seed + i, count=n, pairs=1, spread=0.1,
                        forcing=mesh.field) for i, n in ((1, old), (2, fresh))]  # fmt: skip
    assert isinstance(mesh.operators, Sparse)
    basis = reduced_basis.fitted(mesh.operators, drawn[0].truth, rank=old)
    system = OperatorSystem(mesh.operators, np.asarray(drawn[1].latent), drawn[1].query)
    found = reduced_basis.solve_proved(system, FastPoisson(mesh.side), tolerance=1e-8, start=basis)
    fallen, proved = int(np.sum(found.steps > 0)), int(found.reached(1e-8).sum())
    return (f"reduced basis of {basis.V.shape[1]} on {mesh.name}: {fresh - fallen} of {fresh} new "
            f"tasks proved to 1e-8 at once, {fallen} fell back to conjugate gradients, {proved} "
            "proved in all")  # fmt: skip


def _decoder(mesh: Mesh, depth: int):
    def decode(system: OperatorSystem) -> np.ndarray:
        return solve(system, P=FastPoisson(mesh.side, mesh.axes), method="pcg", depth=depth)[-1]

    return decode


def _proved(proof: Certificate, mesh: Mesh) -> float:
    """The mean square that is proved of the decoder's error, without knowing the solution."""
    return float(np.mean(proof.bound**2)) / mesh.operators.size[0]


HEAD = ["mesh", "unknowns", "z error", "depth", "floor", "decoder", "cross term", "decoder, proved"]
TOLD = (
    "The number of steps to the floor does not grow with the mesh. The last column is proved from "
    "the residual and a bound of the smallest eigenvalue alone: no solution is needed for it."
)
