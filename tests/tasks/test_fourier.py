import numpy as np
import pytest

from twofold.tasks.fourier import Fourier


def test_the_mean_over_seeds_is_the_kernel():
    t = np.linspace(0, 2, 9)
    draws = [Fourier(64, 0.8, seed=s) for s in range(400)]
    kernels = np.array([(b(t) * b.prior) @ b(np.zeros(1))[0] for b in draws])
    error = kernels.std(axis=0) / 20
    assert np.all(np.abs(kernels.mean(axis=0) - draws[0].kernel(t, 0 * t)) <= 5 * error + 1e-12)
    assert np.all(kernels.var(axis=0) <= 1.3 / 64)


def test_one_seed_is_one_kernel():
    x = np.linspace(-1, 1, 5)
    np.testing.assert_array_equal(Fourier(8, seed=3)(x), Fourier(8, seed=3)(x))
    assert not np.array_equal(Fourier(8, seed=3)(x), Fourier(8, seed=4)(x))
    assert np.all(Fourier(8).gap(x) == 2)
    np.testing.assert_allclose(np.sum(Fourier(8).prior * Fourier(8)(x) ** 2, axis=1), 1)


def test_bad_input():
    for change, message in (
        ({"rank": 3}, "rank: features come in pairs"), ({"rank": 0}, "rank"),
        ({"length": 0.0}, "length"), ({"seed": -1}, "seed"), ({"spread": np.inf}, "spread"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            Fourier(**({"rank": 4} | change))
    assert np.isnan(Fourier(4)(np.array([np.nan]))).all()
