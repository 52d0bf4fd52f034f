"""T^L e through the formed matrix, against exact rational arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from twofold.decoder.drift import power_growth
from twofold.decoder.transport import transport

exactly = np.vectorize(Fraction, otypes=[object])


def off_and_bound(P, H, e, depth):
    """(the exact error per task, the proved bound)."""
    out, bound = transport(P, H, e, depth, power_growth(P, H, depth))
    off = []
    for n in range(len(H)):
        true = exactly(e[n])
        T = exactly(np.eye(H.shape[1])) - exactly(P if P.ndim == 2 else P[n]) @ exactly(H[n])
        for _ in range(depth):
            true = T @ true
        off.append(float(np.sum((exactly(out[n]) - true) ** 2)) ** 0.5)
    return np.array(off), bound


@pytest.mark.parametrize(("K", "J", "depth"), [(1, 1, 5), (3, 1, 4), (6, 6, 3), (5, 2, 0)])
def test_error_is_within_its_bound(K, J, depth):
    rng = np.random.default_rng(K)
    H, P = rng.normal(size=(10, K, K)), 0.5 * rng.normal(size=(10, K, K))
    off, bound = off_and_bound(P, H, rng.normal(size=(10, K, J)), depth)
    assert (off <= bound).all()


def test_forming_t_shows_where_p_inverts_h():
    """fl(1 - fl(P h)) is 0 on many rows where 1 - P h is not."""
    h = np.random.default_rng(0).uniform(1, 2, size=(200, 1, 1))
    off, bound = off_and_bound(1 / h, h, np.ones((200, 1, 1)), 1)
    assert (off <= bound).all() and (off > 0).sum() > 100


def test_applying_c_shows_where_p_is_small():
    rng = np.random.default_rng(1)
    H, P = rng.normal(size=(50, 4, 4)), 2.0**-25 * rng.normal(size=(4, 4))
    off, bound = off_and_bound(P, H, rng.normal(size=(50, 4, 1)), 2)
    assert (off <= bound).all() and (off > 0).all()
