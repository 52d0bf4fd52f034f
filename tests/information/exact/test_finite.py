"""The values of the brief to every printed digit, identities, and inputs that make no sense."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from twofold.information import exact
from twofold.measures import discrete

TERMS = ("mutual_information", "encoded_information", "loss")


def bsc(e):
    return np.array([[1 - e, e], [e, 1 - e]])


def looks(e=0.1):
    """Two looks at one bit: states (x1, x2), p(x) and p(y|x) by Bayes."""
    joint = np.array([[0.5 * bsc(e)[y, a] * bsc(e)[y, b] for y in (0, 1)]
                      for a in (0, 1) for b in (0, 1)])  # fmt: skip
    return joint.sum(1), joint / joint.sum(1, keepdims=True)


def erased():
    joint = np.array([[0.35, 0], [0.15, 0.15], [0, 0.35]])
    return joint.sum(1), joint / joint.sum(1, keepdims=True)


FOUR = np.full((4, 4), 0.1) + 0.6 * np.eye(4)
TABLE = [
    ([0.5, 0.5], bsc(0.11), [0, 1], (0.346631843641, 0.346631843641, 0)),
    (*erased(), [0, 0, 1], (0.485203026392, 0.342014488007, 0.143188538385)),
    (*looks(), [0, 0, 1, 1], (0.514374720587, 0.368064207168, 0.146310513419)),
    (*looks(), [0, 1, 1, 2], (0.514374720587, 0.514374720587, 0)),
    (*looks(), [0, 1, 1, 0], (0.514374720587, 0, 0.514374720587)),
    ([0.25] * 4, FOUR, [0, 0, 1, 1], (0.445846372465, 0.192744757022, 0.253101615443)),
]


@pytest.mark.parametrize(("p_x", "p", "encoder", "wanted"), TABLE)
def test_known_values(p_x, p, encoder, wanted):
    found = exact.channel(p_x, p, encoder)
    assert np.allclose([getattr(found, t) for t in TERMS], wanted, rtol=0, atol=6e-13)
    assert all(found.errors[t] < 1e-13 for t in TERMS)
    assert found.risk == pytest.approx(found.conditional_entropy + found.loss, abs=1e-14)


def test_a_wrong_decoder_costs_its_divergence():
    found = exact.channel([0.5, 0.5], bsc(0.11), [0, 1], bsc(0.2))
    assert abs(found.decoder_kl - 0.029120594119) < 6e-13
    assert abs(found.risk - 0.375635931037) < 6e-13
    assert [c.counts["holds"] for c in found.certify()] == [1, 1, 1]


@given(st.integers(0, 2**32), st.integers(1, 12), st.integers(1, 5), st.integers(1, 6))
@settings(max_examples=150, deadline=None)
def test_the_identity_is_below_1e_12_and_nothing_is_negative(seed, S, Y, C):
    rng = np.random.default_rng(seed)
    p_x, p = rng.dirichlet(np.full(S, 0.3)), rng.dirichlet(np.full(Y, 0.3), S)
    found = exact.channel(p_x, p, rng.integers(0, C, S), rng.dirichlet(np.ones(Y), C))
    parts = found.conditional_entropy + found.loss + found.decoder_kl
    assert abs(found.risk - parts) <= 1e-12 * max(1, found.risk)
    assert abs(found.mutual_information - found.encoded_information - found.loss) <= 1e-12
    assert min(found.loss, found.decoder_kl, found.encoded_information) > -1e-14
    if np.isfinite(found.errors["risk"]):
        assert all(c.counts["violated"] == 0 for c in found.certify())


def test_the_brute_force_of_the_definitions_agrees():
    rng = np.random.default_rng(0)
    p_x, p, u = (
        rng.dirichlet(np.ones(7)),
        rng.dirichlet(np.ones(3), 7),
        np.array([0, 1, 1, 0, 2, 2, 1]),
    )
    joint = p_x[:, None] * p
    cell = np.array([joint[u == c].sum(0) for c in range(3)])

    def information(m):
        return float(np.sum(m * np.log(m * m.sum() / np.outer(m.sum(1), m.sum(0)))))

    found = exact.channel(p_x, p, u)
    assert found.mutual_information == pytest.approx(information(joint), abs=1e-14)
    assert found.encoded_information == pytest.approx(information(cell), abs=1e-14)


def test_the_test_of_sufficiency_has_three_answers():
    p_x, p = looks()
    assert exact.channel(p_x, p, [0, 0, 1, 1]).sufficient == "not sufficient"
    p[2] = p[1]
    assert exact.channel(p_x, p, [0, 1, 1, 2]).sufficient == "sufficient"
    p[2] = p[1] * (1 + np.array([1e-15, -1e-15]))
    assert exact.channel(p_x, p, [0, 1, 1, 2]).sufficient == "undecided"


def test_relabelled_cells_and_text_labels_change_nothing():
    p_x, p = looks()
    one = exact.channel(p_x, p, [0, 0, 1, 1]).loss
    assert exact.channel(p_x, p, [7, 7, 3, 3]).loss == pytest.approx(one, abs=1e-15)
    assert exact.channel(p_x, p, ["a", "a", "b", "b"]).loss == pytest.approx(one, abs=1e-15)


def test_an_unseen_cell_of_the_decoder_costs_nothing_and_a_forbidden_label_everything():
    q = np.vstack([bsc(0.2), [0.5, 0.5]])
    assert abs(exact.channel([0.5, 0.5], bsc(0.11), [0, 1], q).risk - 0.375635931037) < 6e-13
    found = exact.channel([0.5, 0.5], bsc(0.11), [0, 1], np.eye(2))
    assert found.risk == found.decoder_kl == np.inf and found.certify()[0].counts["silent"] == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p_x": [0.5, 0.4]}, "p_x: row 0 sums to 0.9"),
        ({"p_y_given_x": [[0.5, 0.5], [0.5, 0.500001]]}, "p_y_given_x: row 1 sums to"),
        ({"p_x": [1.5, -0.5]}, "p_x: expected probabilities, smallest is -0.5"),
        ({"p_x": [0.5, np.nan]}, "p_x: 1 of 2 entries are not finite"),
        ({"encoder": [0, 1, 1]}, "encoder: expected 2 cell labels"),
        ({"encoder": [0, 0.5]}, "encoder: labels of cells are whole"),
        ({"decoder": [[0.5, 0.5]]}, "one row of the decoder per cell"),
        ({"decoder": [[0.5, 0.5, 0], [0.5, 0.5, 0]]}, "decoder: expected shape"),
        ({"p_y_given_x": [[1.0, 0.0]]}, "p_y_given_x: expected shape"),
    ],
)
def test_bad_input_is_named(change, message):
    given = {"p_x": [0.5, 0.5], "p_y_given_x": bsc(0.1), "encoder": [0, 1]} | change
    with pytest.raises(ValueError, match=message):
        exact.channel(**given)


def test_a_mutant_of_the_loss_would_be_seen(monkeypatch):
    right = discrete.loss
    monkeypatch.setattr(discrete, "loss", lambda s: (1.000001 * right(s)[0], right(s)[1]))
    p_x, p = looks()
    assert exact.channel(p_x, p, [0, 0, 1, 1]).certify()[0].counts["violated"] == 1
