import numpy as np
import pytest

from twofold.measures import cells, discrete
from twofold.theorems import information_identity as theorem


def models(N=2000, S=9, Y=3, C=4, seed=0):
    rng = np.random.default_rng(seed)
    p_x, p = rng.dirichlet(np.full(S, 0.7), N), rng.dirichlet(np.full(Y, 0.5), (N, S))
    labels = np.sort(rng.integers(0, C, (N, S)), axis=1)
    return p_x, p, labels, rng.dirichlet(np.ones(Y), (N, C))


def test_holds_on_random_models_below_1e_12():
    for proof in theorem.certify(*models()):
        assert proof.counts["holds"] == 2000 and proof.bound.max() < 1e-12
        assert np.abs(proof.value).max() < 1e-13 and np.any(proof.value != 0)


def test_layers_hold_on_random_coarsenings():
    p_x, p, labels, _ = models()
    (proof,) = theorem.certify_layers(p_x, p, labels, labels // 2)
    assert proof.counts["holds"] == 2000 and proof.bound.max() < 1e-12


def test_attained_where_the_encoder_is_sufficient_and_the_decoder_is_the_posterior():
    p = np.array([[0.25, 0.75], [0.25, 0.75], [0.5, 0.5]])
    p_x, labels = np.array([0.25, 0.25, 0.5]), np.array([0, 0, 1])
    risk, chain, projection = theorem.certify(p_x, p, labels, p[1:])
    assert risk.value[0] == chain.value[0] == projection.value[0] == 0.0
    s = cells.sums(p_x, p, labels, 2)
    assert discrete.loss(s)[0] == 0.0 and discrete.decoder_kl(s, p[1:])[0] == 0.0


def test_nothing_needs_to_be_normalised():
    p_x, p, labels, q = models(N=200)
    for proof in theorem.certify(3 * p_x, 0.2 * p, labels, 7 * q):
        assert proof.counts["holds"] == 200


@pytest.mark.parametrize(
    ("term", "broken"),
    [("loss", [True] * 3), ("decoder_kl", [True, False, True]),
     ("conditional_entropy", [True, False, False]), ("encoded_information", [False, True, False])],
)  # fmt: skip
def test_a_false_statement_is_refused(term, broken, monkeypatch):
    right = getattr(discrete, term)
    monkeypatch.setattr(
        discrete,
        term,
        lambda *a: tuple(x * (1 + 1e-10 * (i == 0)) for i, x in enumerate(right(*a))),
    )
    proofs = theorem.certify(*models(N=100))
    assert [proof.counts["violated"] > 90 for proof in proofs] == broken


def test_rounding_set_to_zero_is_refuted(monkeypatch):
    monkeypatch.setattr(cells, "U", 0.0)
    monkeypatch.setattr(theorem, "U", 0.0)
    assert theorem.certify(*models(N=200))[0].counts["violated"] > 50


def test_broken_hypotheses_are_silent_with_a_reason():
    p_x, p, labels, q = models(N=3)
    q[1, labels[1, 0]] = 0.0
    risk, chain, projection = theorem.certify(p_x, p, labels, q)
    assert list(risk.verdict) == list(projection.verdict) == ["holds", "silent", "holds"]
    assert risk.reason[1] == theorem.WHY
    p[2, 0] = [1e-300, 0.5, 0.5]
    assert list(theorem.certify(p_x, p, labels, q)[1].verdict)[2] == "silent"
    crossed = np.roll(np.arange(9), 1) // 3
    (layers,) = theorem.certify_layers(p_x, p, np.arange(9) // 3, crossed)
    assert layers.counts["holds"] == 0


def test_bad_input_is_named():
    p_x, p, labels, q = models(N=2)
    for change, message in (
        ({"p_x": -p_x}, "p_x, p_y_given_x: tables >= 0"),
        ({"encoder": labels + 0.5}, "encoder: labels of cells are whole"),
        ({"encoder": labels + 4}, "one row of the decoder per cell"),
        ({"decoder": q[:, :, :2] * np.nan}, "decoder"),
    ):
        given = {"p_x": p_x, "p_y_given_x": p, "encoder": labels, "decoder": q} | change
        with pytest.raises(ValueError, match=message):
            theorem.certify(**given)
