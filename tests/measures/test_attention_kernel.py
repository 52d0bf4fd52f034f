import numpy as np
import pytest

from twofold.measures import attention_kernel as kernel


def factors(S=6, h=2, m=3, K=5, seed=0):
    return np.random.default_rng(seed).normal(size=(2, S, h, m, K))


def test_the_kernel_is_the_mean_of_the_heads_and_free_of_gauge():
    q, k = factors()
    M = kernel.effective_kernel(q, k)
    wanted = np.mean([[a.T @ b for a, b in zip(x, y, strict=True)] for x, y in
                      zip(q, k, strict=True)], axis=1)  # fmt: skip
    np.testing.assert_allclose(M, wanted, atol=1e-13)
    A = np.random.default_rng(1).normal(size=(3, 3))
    turned = kernel.effective_kernel(A @ q, np.linalg.inv(A).T @ k)
    np.testing.assert_allclose(turned, M, atol=1e-12)
    np.testing.assert_allclose(kernel.effective_kernel(q[0], k[0]), M[0], atol=1e-14)


def test_skew_ratios():
    A = np.random.default_rng(2).normal(size=(4, 4))
    odd, even = A - A.T, A + A.T
    assert kernel.skew_ratio(even) == 0 and np.isinf(kernel.skew_ratio(odd))
    assert np.isnan(kernel.skew_ratio(np.zeros((3, 3))))
    share = np.linalg.norm(odd) / np.linalg.norm(even)
    for scale in (1.0, 1e-200, 1e200):
        assert kernel.skew_ratio(scale * A) == pytest.approx(share, rel=1e-13)


def test_the_imbalance_turns_with_rotations_and_is_zero_for_equal_factors():
    q, k = factors()
    Q = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
    np.testing.assert_allclose(
        kernel.imbalance(Q @ q, Q @ k), Q @ kernel.imbalance(q, k) @ Q.T, atol=1e-12
    )
    assert not kernel.relative_imbalance(q, q).any()
    share = kernel.relative_imbalance(q, k)
    assert np.all((share > 0) & (share < 1))
    np.testing.assert_allclose(kernel.relative_imbalance(1e-180 * q, 1e-180 * k), share, rtol=1e-12)
    assert np.isnan(kernel.relative_imbalance(0 * q[0], 0 * k[0]))


def test_bad_input_is_refused():
    q, k = factors()
    for f in (kernel.effective_kernel, kernel.imbalance, kernel.relative_imbalance):
        with pytest.raises(ValueError, match="^key"):
            f(q, k[:, :1])
        with pytest.raises(ValueError, match="^query"):
            f(q[0, 0], k[0, 0])
        with pytest.raises(ValueError, match="^query"):
            f(q * np.nan, k)
    with pytest.raises(ValueError, match="^M"):
        kernel.skew_ratio(np.zeros((2, 3)))
