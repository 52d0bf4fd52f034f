import numpy as np
import pytest

from twofold.information import exact, layers
from twofold.information.probes import Logistic, Table, quantised, tied, usable_entropy

LAW = exact.SparseSoftmax(dim=8, sparsity=3, discrimination=2.0)


def network(seed=0):
    """Three layers: injective, injective, and a ReLU so thin that states tie."""
    rng = np.random.default_rng(seed)
    one = np.tanh(LAW.states @ rng.standard_normal((8, 16)))
    two = one @ rng.standard_normal((16, 8))
    return [one, two, np.maximum(two[:, :2] - 2, 0)]


def test_losses_add_up_and_vanish_until_rows_tie():
    found = layers.chain(LAW.p_x, LAW.p_y_given_x, network())
    assert max(map(abs, found.losses[:2])) < 1e-15 and found.losses[2] > 0.1
    assert found.cells[:2] == [256, 256] and found.cells[2] < 256
    assert sum(found.losses) == pytest.approx(found.total, abs=1e-14)
    assert all(p.counts["holds"] == 1 for p in found.proofs)
    whole = exact.channel(LAW.p_x, LAW.p_y_given_x, tied(network()[2]))
    assert found.total == pytest.approx(whole.loss, abs=1e-14)


def test_one_ulp_apart_is_not_a_tie_and_minus_zero_is():
    a = np.array([[1.0, 0.0], [np.nextafter(1, 2), 0.0], [1.0, -0.0]])
    assert tied(a).tolist() == [0, 1, 0] or len(np.unique(tied(a))) == 2
    assert tied(a)[0] == tied(a)[2] != tied(a)[1]
    with pytest.raises(ValueError, match="codes"):
        tied(np.array([[np.nan]]))


def test_usable_loss_names_its_family_and_is_above_nothing_in_particular():
    found = layers.chain(LAW.p_x, LAW.p_y_given_x, network(), probe=Logistic(ridge=0.0),
                         states=LAW.states)  # fmt: skip
    assert "logistic" in found.family and found.usable is not None
    exactly = exact.channel(LAW.p_x, LAW.p_y_given_x, np.arange(256))
    read = usable_entropy(Logistic(ridge=0.0, iterations=500), LAW.states, LAW.p_x, LAW.p_y_given_x)
    assert read == pytest.approx(exactly.conditional_entropy, abs=1e-5)
    assert abs(found.usable[0]) > 1e-4 and abs(found.losses[0]) < 1e-15


def test_the_families_predict_probabilities():
    rng = np.random.default_rng(0)
    u, T = rng.integers(0, 4, 300), np.eye(3)[rng.integers(0, 3, 300)]
    for family, codes in ((Table(), u), (Logistic(), rng.standard_normal((300, 2)))):
        q = family.fit(codes, T)(codes)
        assert q.shape == (300, 3) and np.allclose(q.sum(1), 1) and q.min() > 0
    assert np.allclose(Table().fit(u, T)(np.array([99])), 1 / 3)
    constant = Logistic().fit(np.ones((300, 1)), T)(np.ones((2, 1)))
    assert np.allclose(constant, T.mean(0), atol=1e-3)


def test_a_real_target_is_cut_into_even_labels():
    y = np.random.default_rng(0).standard_normal(1000)
    assert np.bincount(quantised(y, 4)).tolist() == [250] * 4


def test_bad_input_is_named():
    p_x, p = LAW.p_x, LAW.p_y_given_x
    with pytest.raises(ValueError, match=r"layers\[1\]: two states that are equal"):
        layers.chain(p_x, p, [LAW.states[:, :2], LAW.states])
    with pytest.raises(ValueError, match=r"layers\[0\]: expected 256 rows"):
        layers.chain(p_x, p, [LAW.states[:9]])
    with pytest.raises(ValueError, match="layers: expected at least one"):
        layers.chain(p_x, p, [])
    with pytest.raises(ValueError, match="states: the probe"):
        layers.chain(p_x, p, network(), probe=Logistic())
