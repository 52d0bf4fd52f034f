import numpy as np
import pytest

from twofold.decoder import solve
from twofold.decoder.fast_poisson import FastPoisson
from twofold.encoder.operator import OperatorSystem
from twofold.tasks import families


@pytest.mark.parametrize("side", [1, 2, 7, 16])
@pytest.mark.parametrize("axes", [1, 2])
def test_it_is_the_inverse_of_the_laplacian(side, axes):
    family = families.elliptic(dim=side) if axes == 1 else families.diffusion(side=side, blocks=1)
    A = family.dense(np.zeros((1, family.size[1])))[0]
    r = np.random.default_rng(0).standard_normal((5, side**axes))
    step = FastPoisson(side, axes)(None, r)
    np.testing.assert_allclose(step @ A, r, atol=1e-10 * np.abs(A).max())


def test_conjugate_gradients_need_steps_that_do_not_grow_with_the_mesh():
    """Spectrum in [.6, 1.4]: the error in the energy falls below 2 q^L."""
    for side in (7, 15, 31):
        family = families.diffusion(side=side)
        rng = np.random.default_rng(1)
        z = rng.choice([-0.4, 0.4], (20, 4))
        system = OperatorSystem(family, z, rng.standard_normal((20, side * side)))
        path = solve(system, P=FastPoisson(side), method="pcg", depth=8)
        e = path - system.exact()
        energy = [np.sqrt(np.einsum("nk,nk->n", x, system.matvec(x))) for x in e]
        q = (np.sqrt(1.4) - np.sqrt(0.6)) / (np.sqrt(1.4) + np.sqrt(0.6))
        assert np.all(energy[8] <= 2 * q**8 * energy[0])


def test_a_bad_row_spoils_no_other():
    r = np.random.default_rng(0).standard_normal((4, 49))
    good = FastPoisson(7)(None, r)
    r[1, 3] = np.nan
    step = FastPoisson(7)(None, r)
    np.testing.assert_allclose(np.delete(step, 1, 0), np.delete(good, 1, 0), rtol=1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match="side: expected a whole number"):
        FastPoisson(0)
    with pytest.raises(ValueError, match="axes: expected 1 or 2"):
        FastPoisson(3, 3)
    with pytest.raises(ValueError, match="residual: expected shape"):
        FastPoisson(3)(None, np.ones((2, 8)))
