import numpy as np
import pytest

from twofold import atlas
from twofold.atlas import curves, encoding, proof
from twofold.atlas.projection import project


def both(H, noise, budget, priors=None, z=1.0, count=1500):
    atom = curves.rough(H, 24, seed=H)
    a = atlas.build([atom], priors=priors)
    X, _ = curves.rows(atom, count, noise=noise, seed=3)
    fast = a.encode(X, amplitudes=z, budget=budget)
    b, norm = project(X, atom.B)
    zs = np.full((count, 1), z)
    starts = a._starts((0,), [b], zs, zs)
    slow = encoding.solve(a.form((0,)), b, norm, zs, starts, budget=budget, refine=True,
                          reach=1.5 * a.charts[0].cell)  # fmt: skip
    return a, X, fast, encoding.judged(slow, norm, zs, np.zeros((count, 1), int))


@pytest.mark.parametrize("H", [1, 2, 4, 5])
@pytest.mark.parametrize("noise", [0.05, 0.6])
def test_the_quick_kernel_and_the_general_one_agree(H, noise):
    """Two kernels, one mathematics: the same roots within their radii, verdicts and constants."""
    a, _, fast, slow = both(H, noise, 4096)
    assert np.array_equal(fast.verdict, slow.verdict)
    assert np.all(proof.apart(a, fast.coords, slow.coords) <= fast.radius + slow.radius)
    assert np.allclose(fast.start, slow.start, rtol=0, atol=1e-12)
    for name in ("beta", "L", "start_beta", "start_eta", "start_h"):
        assert np.allclose(getattr(fast, name), getattr(slow, name), rtol=1e-6, atol=1e-12), name
    assert np.allclose(fast.objective, slow.objective, rtol=1e-12, atol=1e-13)
    assert np.all(fast.unique > 0.5 * slow.unique)


def test_priors_and_amplitudes_enter_both():
    for z in (0.3, 4.0):
        _, _, fast, slow = both(3, 0.3, 0, atlas.Priors(periodic=0.7), z)
        assert np.array_equal(fast.verdict, slow.verdict)
        assert np.allclose(fast.objective, slow.objective, rtol=1e-12, atol=1e-13)


def test_most_rows_are_easy():
    a, X, fast, _ = both(4, 0.3, 4096)
    cells = 8 * 8
    assert np.mean(fast.cells == cells) > 0.95
