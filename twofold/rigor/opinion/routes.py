r"""Which certificates are redone, from which inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from twofold.rigor.opinion.angles import FORMS, sines
from twofold.rigor.opinion.attention import nearby, no_matrix
from twofold.rigor.opinion.information import chained, layered, projected, risked
from twofold.rigor.opinion.iteration import averaged, bounded, transported, two_traces
from twofold.rigor.opinion.operators import encoded_floor, weak_bias
from twofold.rigor.opinion.pencils import carried, energy, enveloped
from twofold.rigor.opinion.preconditioners import PAIRS, balanced, logged, similar_pair
from twofold.rigor.opinion.sides import (
    Sides,
    bias,
    decay,
    decomposition,
    excess,
    expansion,
    expansion_bound,
    missed_subspace,
    posterior_twice,
    recursion_and_sum,
    split_in_two,
    two_modes,
)
from twofold.rigor.opinion.wishart import wick_twice


@dataclass(frozen=True)
class Route:
    """How one certificate is redone.

    ``inputs`` names the arrays in the order in which the certificate's ``source`` hashes them, with
    the number of axes that one row has; an array with one axis more holds one entry per row. None
    hands the whole array to every row.
    """

    kind: str
    side: str
    inputs: Mapping[str, int | None]
    sides: Callable[..., Sides]


_ANATOMY = {"answer": 1, "best": 1, "truth": 1, "metric": 2, "scale": 0}
_RESOLVENT = {"H_M": 2, "H_inf": 2}
_HEADS = dict.fromkeys(
    ("at_rest", "by_query", "by_key", "by_both", "value", "output", "diagonal", "soft")
)
_NEAR = {**_HEADS, "H": 2, "d": 1, "depth": None}
_ITERATION = {"P": 2, "H": 2, "d": 1, "depth": 0}
_INTERVAL = {"P": 2, "H": 2, "d": 1, "interval": 1, "depth": 0}
_CODE = {"p_x": 1, "p": 2, "encoder": 1, "decoder": 2}
_BATCH = {"P": None, "H": None, "d": None, "depth": None, "sigma": None}
POLYNOMIALS = {"scaled": "Scaled Richardson", "heavy_ball": "Heavy ball", "chebyshev": "Chebyshev"}
ROUTES: dict[str, Route] = {
    "Richardson identity": Route("identity", "both", _ITERATION, transported),
    "Richardson rate": Route("bound", "upper", _ITERATION, bounded("rate")),
    "Power bound": Route("bound", "upper", _ITERATION, bounded("power")),
    **{
        f"{name} envelope": Route("bound", "upper", _INTERVAL, enveloped(form))
        for form, name in POLYNOMIALS.items()
    },
    **{
        f"{name} identity": Route("identity", "both", _INTERVAL, carried(form))
        for form, name in POLYNOMIALS.items()
    },
    "Energy bound": Route(
        "bound", "upper", {"P": 2, "H": 2, "d": 1, "x": 1, "least": 0}, energy),
    "Decoder bound": Route("bound", "upper", _BATCH, averaged("rate")),
    "Decoder bound, power": Route("bound", "upper", _BATCH, averaged("power")),
    "Trace risk": Route(
        "identity", "both", {"P": 2, "H": 2, "depth": 0, "prior": None}, two_traces),
    "Wick risk": Route(
        "identity", "both", {"p": 1, "sigma": None, "prior": None, "law": None}, wick_twice),
    "tracking": Route("identity", "both", {"eta": 0, "E0": 2, "C": 3, "D": 3}, recursion_and_sum),
    "excess_risk": Route(
        "identity", "both", {"P": 2, "P_star": 2, "C": 2, "B": 2}, excess),
    "risk decomposition": Route("identity", "both", _ANATOMY, decomposition),
    "factor two": Route("bound", "upper", _ANATOMY, split_in_two),
    "subspace floor": Route(
        "bound", "upper", {"U": 2, "U_star": 2, "sigma_x": 2, "sigma_z": 2}, missed_subspace),
    "nonclosure": Route("bound", "lower", {"x": 0, "y": 0}, two_modes),
    "weak-form bias": Route(
        "identity", "both",
        {"A": None, "u": 2, "f": 2, "probes": None, "z": 1, "ridge": 0, "metric": None},
        weak_bias),
    "encoded floor": Route("bound", "upper", {"A_enc": 2, "A": 2, "f": 1}, encoded_floor),
    "ridge bias": Route("identity", "both", {"H": 2, "z": 1, "ridge": 0}, bias),
    "primal-dual": Route(
        "identity", "both", {"Phi": 2, "y": 1, "Phi_q": 2, "prior": None, "noise": None},
        posterior_twice),
    "resolvent expansion": Route("identity", "both", _RESOLVENT, expansion),
    "resolvent bound": Route("bound", "upper", _RESOLVENT, expansion_bound),
    "encoder_rate": Route(
        "bound", "upper", {"s": 0, "modes": 2, "values": 1, "eta": 0}, decay),
    "Local contraction": Route("bound", "upper", _NEAR, nearby("error")),
    "Local contraction, Jacobian": Route("bound", "upper", _NEAR, nearby("jacobian")),
    "No one matrix": Route(
        "bound", "lower", {**_HEADS, "r": 1, "other": 1, "P": None}, no_matrix),
    "Balance": Route(
        "identity", "both", {"query": 2, "key": 2, "G": 2, "eta": 0}, balanced),
    "Overlap log": Route(
        "identity", "both", {"P": 2, "H": None, "d": None, "depth": None}, logged),
    **{
        f"Spectral obstruction, {form}": Route(
            "bound", "lower", {"P": 2, "H": 2, "order": None, "prior": None}, similar_pair(form))
        for form in PAIRS
    },
    "Information identity, risk": Route("identity", "both", _CODE, risked),
    "Information identity, chain": Route("identity", "both", _CODE, chained),
    "Information identity, projection": Route("identity", "both", _CODE, projected),
    "Information identity, layers": Route(
        "identity", "both", {"p_x": 1, "p": 2, "finer": 1, "coarser": 1}, layered),
    **{
        f"Davis-Kahan, {form}": Route(
            "bound", "upper", {"sigma": 2, "estimate": 2, "rank": 0}, sines(form))
        for form in FORMS
    },
}  # fmt: skip
