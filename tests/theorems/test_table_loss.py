import math

import numpy as np
import pytest
from scipy.optimize import minimize

from twofold.information import exact
from twofold.theorems import paired, table_capital, table_loss

DELTA = 0.05


def law(seed=0, S=12, Y=3, C=4, sure=1.0):
    """A finite model and an encoder that loses something."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(Y, 0.5), S) ** sure
    p /= p.sum(1, keepdims=True)
    return exact.channel(np.full(S, 1 / S), p, np.arange(S) % C)


def draw(found, rng, shape):
    x = rng.integers(0, len(found.p_x), shape)
    edges = np.cumsum(found.p_y_given_x, axis=1)
    y = np.sum(rng.random(shape)[..., None] >= edges[x], axis=-1)
    return x, np.minimum(y, edges.shape[1] - 1)


def losses(found, x, y, share=1e-2):
    Y = found.p_y_given_x.shape[1]
    q = found.p_y_given_x[x, y].ravel()
    loss, clip = paired.mixed(q, Y, share)
    return loss.reshape(np.shape(x)), clip


def test_holds_over_ten_thousand_samples_of_a_known_law():
    found = law(sure=8.0)
    x, y = draw(found, np.random.default_rng(1), (10000, 100))
    loss, clip = losses(found, x, y)
    proof = table_loss.certify(found.encoder[x], y, classes=3, delta=DELTA, losses=loss, clip=clip,
                               truth=found.loss)  # fmt: skip
    assert not proof.condemned and np.mean(proof.bound) > 0.02
    alone = table_loss.certify(found.encoder[x[:2000]], y[:2000], classes=3, delta=DELTA,
                               losses=None, clip=0.0, truth=found.risk)  # fmt: skip
    assert not alone.condemned and np.median(alone.bound) > 0.3 * found.risk


@pytest.mark.parametrize(("target", "n"), [(0.3, 10000), (0.07, 10000)])
def test_is_positive_where_it_has_to_be(target, n):
    """Binary Y, |U| = 32 cells that each hide a bit; the bit's strength sets the loss."""
    strengths = np.linspace(0.01, 0.49, 400)
    lost = math.log(2) + strengths * 0
    for i, e in enumerate(0.5 - strengths):
        lost[i] = math.log(2) + e * math.log(e) + (1 - e) * math.log(1 - e)
    e = 0.5 - strengths[np.argmin(abs(lost - target))]
    p = np.array([[1 - e, e], [e, 1 - e]])[np.arange(64) % 2]
    found = exact.channel(np.full(64, 1 / 64), p, np.arange(64) // 2)
    assert abs(found.loss - target) < 0.01
    x, y = draw(found, np.random.default_rng(2), n)
    loss, clip = losses(found, x, y, 1e-3)
    bound = table_loss.lower(found.encoder[x], y, classes=2, delta=0.05, losses=loss, clip=clip)
    assert 0.5 * found.loss < bound < found.loss


def test_a_poor_reference_only_lowers_it_and_sufficiency_gives_zero():
    found = law(sure=3.0)
    x, y = draw(found, np.random.default_rng(3), 5000)
    loss, clip = losses(found, x, y)
    u = found.encoder[x]
    best = table_loss.lower(u, y, classes=3, delta=DELTA, losses=loss, clip=clip)
    poor = table_loss.lower(
        u, y, classes=3, delta=DELTA, losses=np.minimum(1.3 * loss, clip), clip=clip
    )
    assert 0 <= poor < best
    assert table_loss.lower(x, y, classes=3, delta=DELTA, losses=loss, clip=clip) == 0.0


def test_a_lottery_of_cells_cannot_fool_it():
    """Every row a cell of its own: the empirical H(Y|U) is 0 and so is the bound."""
    y = np.random.default_rng(0).integers(0, 2, 1000)
    assert table_loss.lower(np.arange(1000), y, classes=2, delta=DELTA) == 0.0


def test_the_minimum_over_tables_is_a_minimum_and_sharp():
    rng = np.random.default_rng(0)
    u, y, a = rng.integers(0, 3, 200), rng.integers(0, 3, 200), -rng.exponential(1, 200).clip(0, 4)
    order, edges, starts = table_loss._sorted(u, y, -a, 4.0, 3)
    for bet, m in ((0.08, 0.0), (0.03, 0.7)):
        ours = table_capital.least(order, edges, starts, bet, m)

        def capital(t, bet=bet, m=m):
            r = np.exp(t.reshape(3, 3))
            r /= r.sum(1, keepdims=True)
            return float(np.sum(np.log1p(bet * (a - np.log(r[u, y]) - m))))

        brute = min(minimize(capital, rng.standard_normal(9), tol=1e-12).fun for _ in range(5))
        assert brute - 2e-3 < ours <= brute + 1e-9
        assert all(capital(rng.standard_normal(9)) >= ours for _ in range(100))


@pytest.mark.parametrize("mutant", ["goal", "table"])
def test_a_false_statement_is_refused(mutant, monkeypatch):
    """Without ln 1/delta, or with a table that charges twice, it is condemned."""
    if mutant == "goal":
        monkeypatch.setattr(table_loss, "MARGIN", -math.log(1 / DELTA))
    else:
        right = table_capital.averaged
        monkeypatch.setattr(table_loss, "averaged", lambda a, *rest: right(a + 0.2, *rest))
    found = law(sure=2.0)
    x, y = draw(found, np.random.default_rng(4), (400, 400))
    loss, clip = losses(found, x, y)
    given = {"classes": 3, "delta": DELTA, "losses": loss, "clip": clip, "truth": found.loss}
    assert table_loss.certify(found.encoder[x], y, **given).condemned


def test_bad_input_is_named():
    u, y = np.array([0, 1, 1]), np.array([0, 1, 2])
    for change, message in (
        ({"classes": 2}, "classes: a label is 2"), ({"classes": 1}, "classes"),
        ({"losses": np.full(3, 9.0), "clip": 4.0}, "losses, clip"),
        ({"losses": np.array([0.1, np.nan, 0.2]), "clip": 4.0}, "losses"),
        ({"y": y[:2]}, "u, y: expected"), ({"delta": 2.0}, "delta"), ({"u": u - 0.5}, "u: labels"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            table_loss.lower(**({"u": u, "y": y, "classes": 3, "delta": DELTA} | change))
    assert table_loss.lower(u, y, classes=10**6, delta=DELTA) == 0.0
