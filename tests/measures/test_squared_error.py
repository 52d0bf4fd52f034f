import numpy as np

from twofold.measures.squared_error import metric_matrix, split

K = 5


def test_rounding_sized_indefiniteness_of_the_metric_passes():
    v = np.random.default_rng(0).standard_normal((K, 2))
    S = metric_matrix(v @ v.T, K)
    assert S is not None and np.linalg.eigvalsh(S)[0] < 1e-14


def test_subnormal_errors_are_not_an_accident():
    tiny = np.full((1, 2), 5e-324)
    parts = split(tiny, 0 * tiny, 0 * tiny, None)
    assert parts["total"][0] == 0.0


def test_the_parts_add_up_and_the_metric_is_the_one_given():
    rng = np.random.default_rng(0)
    answer, best, truth = rng.standard_normal((3, 100, K))
    S = metric_matrix(np.arange(1.0, K + 1), K)
    parts = split(answer, best, truth, S, 0.5)
    sum_of_parts = parts["floor"] + parts["decoder"] + parts["cross"]
    np.testing.assert_allclose(parts["total"], sum_of_parts, rtol=1e-12)
    expected = 0.5 * np.sum((answer - truth) ** 2 * np.arange(1, K + 1), axis=1)
    np.testing.assert_allclose(parts["total"], expected, rtol=1e-13)
