import numpy as np
import pytest
from flint import arb, ctx

from twofold.rigor.opinion import balls
from twofold.rigor.opinion.subspaces import frame


@pytest.fixture(autouse=True, params=[192, 384])
def _bits(request):
    before = ctx.prec
    ctx.prec = request.param
    yield
    ctx.prec = before


def test_the_norm_is_enclosed_and_narrow():
    rng = np.random.default_rng(0)
    for K in (1, 2, 5, 12):
        for scale in (1e-150, 1.0, 1e150):
            for T in (rng.standard_normal((K, K)), np.eye(K), np.ones((K, K))):
                norm = balls.norm(balls.matrix(T * scale))
                assert float(norm.rad() / norm.mid()) < 1e-14
                assert abs(float(norm.mid()) / scale - np.linalg.norm(T, 2)) < 1e-13 * K
    exact = balls.norm(balls.matrix(np.diag([3.0, -4.0, 1.0])))
    assert exact.contains(4) and float(exact.rad()) < 1e-20
    assert balls.norm(balls.matrix(np.zeros((3, 3)))) == 0


def test_a_norm_between_close_singular_values_is_still_enclosed():
    for gap in (0.0, 1e-15, 1e-9):
        norm = balls.norm(balls.matrix(np.diag([1.0, 1.0 + gap, 0.5])))
        assert norm.contains(arb(1.0 + gap)) and float(norm.rad()) < 1e-17


def test_positive_refuses_what_is_not_definite():
    assert balls.positive(balls.matrix(np.array([[2.0, 1.0], [1.0, 2.0]])))
    assert not balls.positive(balls.matrix(np.array([[1.0, 2.0], [2.0, 1.0]])))
    assert not balls.positive(balls.matrix(np.array([[1.0, 1.0], [1.0, 1.0]])))
    assert not balls.positive(balls.matrix(np.array([[2.0, 0.0], [0.0, -1e-300]])))


def test_a_comparison_is_proved_refuted_or_undecided():
    balls.at_most(arb(1), arb(1), "a", "b")
    with pytest.raises(balls.Refuted, match="a .* is above b"):
        balls.at_most(arb(2), arb(1), "a", "b")
    with pytest.raises(balls.Undecided):
        balls.at_most(arb(1, 0.5), arb(1), "a", "b")
    with pytest.raises(balls.Undecided):
        balls.at_most(arb("nan"), arb(1), "a", "b")


def test_the_root_of_a_ball_around_zero():
    assert balls.root(arb(0, 1e-40)).contains(0) and balls.root(arb(4)) == 2


def test_a_subspace_known_in_closed_form_lies_within_its_radius():
    t = np.float64(0.3)
    S = np.array([[np.cos(t), np.sin(t)], [np.sin(t), -np.cos(t)]])
    V = frame(S.tobytes(), 2, 1, ctx.prec)
    assert float(V.radius) < 1e-25
    angle = (arb(S[0, 1]) / arb(S[0, 0])).atan() / 2
    cross = abs(V.V[0, 0] * angle.sin() - V.V[1, 0] * angle.cos())
    assert cross <= V.radius + arb(10) ** -40
    assert (V.last - V.after - 2).overlaps(arb(0, 1e-15))


def test_a_cluster_inside_the_subspace_is_no_obstacle_but_one_across_it_is():
    rng = np.random.default_rng(1)
    Q = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    S = (Q * [2.0, 2.0, 2.0, 1.0, 1.0]) @ Q.T
    S = (S + S.T) / 2
    assert float(frame(S.tobytes(), 5, 3, ctx.prec).radius) < 1e-14
    with pytest.raises(balls.Undecided):
        frame(np.eye(5).tobytes(), 5, 2, ctx.prec)
