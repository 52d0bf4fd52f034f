import dataclasses

import flint
import numpy as np
import pytest

from twofold.training import eigenbasis, error_bar, trajectory


def covariance(seed, K, condition=10.0, rank=None):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.standard_normal((K, K)))[0]
    values = np.geomspace(1, 1 / condition, K)
    values[rank or K :] = 0.0
    C = (Q * values) @ Q.T
    return (C + C.T) / 2


def problem(seed, K=6, condition=10.0, m=None):
    rng = np.random.default_rng([seed, 1])
    C = covariance(seed, K, condition)
    return rng.standard_normal((m or K, K)), C, rng.standard_normal((m or K, K))


def balls(x):
    return flint.arb_mat([[flint.arb(float(v)) for v in row] for row in x])


def exact_excess(P0, C, B, eta, s, flow=False):
    """The excess risk of the given floats in 700-bit ball arithmetic."""
    flint.ctx.prec = 700
    C_, K = balls(C), len(C)
    E = balls(P0) - balls(B) * C_.inv()
    identity = balls(np.eye(K))
    step = C_ * flint.arb(eta)
    A = (step * flint.arb(-float(s))).exp() if flow else (identity - step) ** int(s)
    Y = E * A
    T = Y * C_ * Y.transpose()
    return sum((T[i, i] for i in range(len(P0))), flint.arb(0)) / len(P0)


def gap(x, ball):
    return float(abs(ball - flint.arb(float(x))).upper())


def iterated(P0, C, B, eta, steps):
    out = [P0]
    for _ in range(steps):
        out.append(out[-1] - eta * (out[-1] @ C - B))
    return np.array(out)


@pytest.mark.parametrize("m", [1, 4, 6, 9])
def test_every_state_is_the_iterated_one(m):
    P0, C, B = problem(0, m=m)
    path = trajectory.decoder(P0, C, B, eta=0.7, steps=np.arange(51))
    walked = iterated(P0, C, B, 0.7, 50)
    np.testing.assert_allclose(path.P, walked, rtol=0, atol=1e-13 * np.abs(walked).max())
    np.testing.assert_array_equal(path.at(17), path.P[17])
    star = B @ np.linalg.inv(C)
    E = walked - star
    np.testing.assert_allclose(path.oracle, star, rtol=0, atol=1e-12)
    np.testing.assert_allclose(path.excess, np.einsum("sij,jk,sik->s", E, C, E) / m, rtol=1e-11)
    np.testing.assert_allclose(path.error, np.linalg.norm(E, axis=(1, 2)) / np.linalg.norm(star))
    inner = np.einsum("sij,ij->s", walked, star)
    cosine = inner / np.linalg.norm(walked, axis=(1, 2)) / np.linalg.norm(star)
    np.testing.assert_allclose(path.cosine_defect, 1 - cosine, rtol=1e-9, atol=1e-14)
    parts = path.basis.values * np.sum((E @ path.basis.vectors) ** 2, axis=1)
    np.testing.assert_allclose(path.weights, parts / parts.sum(1, keepdims=True), atol=1e-12)


def test_the_encoder_moves_by_the_same_law():
    G0, Sigma_z, Sigma_bz = problem(1, m=9)
    path = trajectory.encoder(G0, Sigma_z, Sigma_bz, eta=0.3, steps=40)
    np.testing.assert_allclose(path.at(0), iterated(G0, Sigma_z, Sigma_bz, 0.3, 40)[-1], atol=1e-13)


def test_flow_solves_its_differential_equation():
    P0, C, B = problem(2)
    h = 1e-4
    path = trajectory.flow(P0, C, B, eta=0.5, times=[1.0 - h, 1.0, 1.0 + h])
    slope = (path.at(2) - path.at(0)) / (2 * h)
    np.testing.assert_allclose(slope, -0.5 * (path.at(1) @ C - B), atol=1e-7)
    many = trajectory.decoder(P0, C, B, eta=1e-5, steps=100_000)
    once = trajectory.flow(P0, C, B, eta=1.0, times=1.0)
    np.testing.assert_allclose(many.at(0), once.at(0), atol=1e-4)


@pytest.mark.parametrize("flow", [False, True])
@pytest.mark.parametrize("condition", [1.0, 10.0, 1e3, 1e6])
def test_error_bar_holds_against_ball_arithmetic_and_is_not_idle(condition, flow):
    P0, C, B = problem(3, condition=condition)
    s = np.array([0, 1, 2, 7, 50, 400, 3000, 10**4, 10**5, 10**6])
    # eta lambda_max = 1.7: the fastest discrete mode alternates
    run = trajectory.flow if flow else trajectory.decoder
    path = run(P0, C, B, eta=1.7, **{"times" if flow else "steps": s})
    truth = [exact_excess(P0, C, B, 1.7, t, flow) for t in s]
    gaps = np.array([gap(x, ball) for x, ball in zip(path.excess, truth, strict=True)])
    assert np.all(gaps <= path.error_bar)
    visible = path.excess > 1e-290
    assert np.any(path.error_bar < 1e-30) or condition == 1e6
    delta = path.basis.distance
    growth = (1 + np.minimum(s, 1 / (path.basis.values[0] * 1.7)) * 1.7) * 2 * delta
    sharp = 30 * np.sqrt(condition) * (growth / path.basis.values[0] * (1 + s / 1e3) + 1e-13)
    assert np.all((path.error_bar < np.maximum(sharp, 1e-9) * path.excess)[visible & (s <= 3000)])


def test_error_bar_is_needed():
    """Dropping it is refuted: the computed curve is not the true one to the last bit."""
    P0, C, B = problem(3, condition=1e6)
    path = trajectory.decoder(P0, C, B, eta=1.7, steps=[10**6])
    assert gap(path.excess[0], exact_excess(P0, C, B, 1.7, 10**6)) > 1e-13 * path.excess[0]


def test_a_fast_start_leaks_into_the_slow_mode_and_the_bar_covers_it():
    """Excite one fast eigenvector only: rounding of C alone feeds the slow ones."""
    _, C, B = problem(4, K=5, condition=100.0)
    q = np.linalg.eigh(C)[1][:, -1]
    P0 = B @ np.linalg.inv(C) + np.outer(np.ones(5), q)
    path = trajectory.decoder(P0, C, B, eta=0.9, steps=[0, 10, 20, 40, 200, 1000])
    for i, s in enumerate(path.s):
        assert gap(path.excess[i], exact_excess(P0, C, B, 0.9, s)) <= path.error_bar[i]


def test_basis_distance_bounds_the_true_distance():
    flint.ctx.prec = 300
    for seed, condition in enumerate([1.0, 10.0, 1e8, 1e12]):
        C = covariance(seed, 7, condition)
        basis = eigenbasis.decompose("C", C)
        Q, D = balls(basis.vectors), balls(np.diag(np.linalg.eigh(C)[0]))
        R = balls(C) * Q - Q * D
        size = sum((R[i, j] ** 2 for i in range(7) for j in range(7)), flint.arb(0)).sqrt()
        assert float(size.mid()) <= basis.distance < 1e-13


def test_residual_bound_is_an_upper_bound_even_where_it_cancels():
    rng = np.random.default_rng(5)
    flint.ctx.prec = 300
    for _ in range(20):
        A, X = rng.standard_normal((2, 6, 6)) * 10.0 ** rng.integers(-8, 8, (2, 6, 6))
        R = balls(A) * balls(X) - balls(A @ X)
        size = sum((R[i, j] ** 2 for i in range(6) for j in range(6)), flint.arb(0)).sqrt()
        bound = eigenbasis.residual_bound(A, X, A @ X)
        assert float(size.mid()) <= bound <= 10 * float(size.mid()) + 1e-10 * np.linalg.norm(A @ X)


def test_kernel_components_stay():
    C = covariance(6, 8, rank=5)
    rng = np.random.default_rng(6)
    P0, star = rng.standard_normal((2, 8, 8))
    path = trajectory.decoder(P0, C, star @ C, eta=0.5, steps=[0, 3, 10**6])
    assert path.basis.rank == 5 and not path.basis.regular
    kernel = np.linalg.eigh(C)[1][:, :3]
    np.testing.assert_allclose(path.P @ kernel, np.broadcast_to(P0 @ kernel, (3, 8, 3)), atol=1e-12)
    np.testing.assert_allclose(path.oracle @ kernel, 0, atol=1e-12)
    assert path.excess[2] == 0 and path.weights[:, :3].max() == 0
    walked = iterated(P0, C, star @ C, 0.5, 3)[-1]
    np.testing.assert_allclose(path.at(1), walked, atol=1e-12)
    E = walked - path.oracle
    true = np.trace(E @ C @ E.T) / 8
    assert abs(path.excess[1] - true) <= path.error_bar[1] + 1e-13 * true


def test_a_target_in_the_kernel_is_refused():
    C = np.diag([1.0, 0.5, 0.0])
    with pytest.raises(ValueError, match="B: no P solves"):
        trajectory.decoder(np.zeros((3, 3)), C, np.eye(3), eta=0.5, steps=[1])


def test_nothing_but_a_kernel():
    path = trajectory.decoder(np.eye(2), np.zeros((2, 2)), np.zeros((2, 2)), eta=1.0, steps=[0, 9])
    np.testing.assert_array_equal(path.P, np.broadcast_to(np.eye(2), (2, 2, 2)))
    assert np.all(path.excess == 0) and np.all(path.error_bar == 0)
    assert np.all(np.isnan(path.weights)) and np.all(np.isinf(path.error))


def test_diverging_modes_are_said_and_alternate():
    C, B = np.diag([3.0, 0.5]), np.eye(2)
    path = trajectory.decoder(np.zeros((2, 2)), C, B, eta=1.0, steps=[0, 1, 2, 3, 10**6])
    np.testing.assert_array_equal(path.diverging, [False, True])
    np.testing.assert_allclose(path.P[:4], iterated(np.zeros((2, 2)), C, B, 1.0, 3))
    grown = (path.P[:4] - path.oracle)[:, 0, 0]
    np.testing.assert_allclose(grown, -((-2.0) ** np.arange(4)) / 3)
    assert path.excess[-1] == np.inf and path.error_bar[-1] == np.inf
    np.testing.assert_allclose(path.weights[-1], [0, 1])
    calm = trajectory.decoder(np.diag([1 / 3, 0.0]), np.diag([3.0, 0.5]), B, eta=1.0, steps=[5])
    assert calm.excess[0] < np.inf


def test_the_edge_of_stability_and_the_dead_beat_step():
    path = trajectory.decoder([[0.0]], [[2.0]], [[1.0]], eta=1.0, steps=[0, 1, 2, 10**6 + 1])
    np.testing.assert_array_equal(path.P[:, 0, 0], [0, 1, 0, 1])
    still = trajectory.decoder([[0.0]], [[2.0]], [[1.0]], eta=0.5, steps=[0, 1, 2])
    np.testing.assert_array_equal(still.P[:, 0, 0], [0, 0.5, 0.5])
    np.testing.assert_array_equal(still.excess, [0.5, 0, 0])
    assert np.all(np.abs(still.excess - [0.5, 0, 0]) <= still.error_bar)


def test_weights_survive_underflow():
    path = trajectory.decoder(
        np.zeros((2, 2)), np.diag([1.0, 0.5]), np.eye(2), eta=0.5, steps=[9**9]
    )
    assert path.excess[0] == 0
    np.testing.assert_array_equal(path.weights[0], [1, 0])


def test_a_scalar_mode_has_the_error_of_its_power():
    """Relative bar of one mode: about 2 s eta delta / (1 - eta lambda)."""
    s = 10**6
    path = trajectory.decoder([[1.0]], [[1e-6]], [[0.0]], eta=1.0, steps=[s])
    expected = 2 * s * path.basis.distance / (1 - 1e-6)
    assert expected < path.error_bar[0] / path.excess[0] < 10 * expected + 1e-14


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"P0": np.full((3, 3), np.nan)}, "P0: .* not finite"),
        ({"P0": np.eye(3) * 1j}, "P0: expected real"),
        ({"P0": np.eye(2)}, "P0: expected shape"),
        ({"P0": np.zeros((0, 3)), "B": np.zeros((0, 3))}, "P0: expected at least one row"),
        ({"C": np.ones(3)}, "C: expected 2 axes"),
        ({"C": np.triu(np.ones((3, 3)))}, "C: matrix 0 is not symmetric"),
        ({"C": -np.eye(3)}, "C: a covariance has no negative eigenvalue"),
        ({"C": np.zeros((0, 0))}, "C: expected at least one dimension"),
        ({"C": np.eye(3) * 1e300}, "C: its largest entry"),
        ({"B": np.eye(3) * 5e-324}, "B: its largest entry"),
        ({"B": np.eye(3, dtype=object)}, "B: expected real"),
        ({"eta": 0.0}, "eta: expected a positive"),
        ({"eta": np.nan}, "eta: "),
        ({"steps": []}, "steps: expected at least one"),
        ({"steps": [-1]}, "steps: expected at least one outer time >= 0"),
        ({"steps": [0.5]}, "steps: expected whole numbers"),
        ({"steps": [[1]]}, "steps: expected 0 or 1 axes"),
    ],
)
def test_bad_input_is_refused_by_name(change, message):
    good = {"P0": np.eye(3), "C": np.eye(3), "B": np.eye(3), "eta": 0.5, "steps": [1]}
    with pytest.raises(ValueError, match=message):
        trajectory.decoder(**(good | change))


def test_layout_and_narrow_types_change_no_bit():
    P0, C, B = (x.astype(np.float32) for x in problem(7))
    C = (C + C.T) / 2
    base = trajectory.decoder(P0, C, B, eta=0.5, steps=[5]).at(0)
    for twist in (np.asfortranarray, lambda x: x.astype(">f8"), lambda x: x[::-1][::-1]):
        other = trajectory.decoder(twist(P0), twist(C), twist(B), eta=0.5, steps=[5]).at(0)
        np.testing.assert_array_equal(base, other)


@pytest.mark.parametrize("flow", [False, True])
def test_what_underflows_is_not_zero(flow):
    """The excess leaves float64 but not the positive numbers: its bar must not be zero."""
    P0, C, B = np.array([[2.0**-60]]), np.array([[2.0**-50]]), np.array([[0.0]])
    run = trajectory.flow if flow else trajectory.decoder
    path = run(P0, C, B, eta=0.8 * 2.0**50, **{"times" if flow else "steps": [10**4]})
    truth = exact_excess(P0, C, B, 0.8 * 2.0**50, 10**4, flow)
    assert path.excess[0] == 0 and truth > 0 and truth < flint.arb(float(path.error_bar[0]))


def believed(monkeypatch, P0, C, D, B, **rest):
    """A path from the eigenbasis of C + D, told only that C is within |D| of it."""
    real = eigenbasis.decompose
    distance = np.linalg.norm(D, 2) * (1 + 1e-12)

    def off(name, C):
        basis = real(name, C + D)
        return dataclasses.replace(basis, distance=basis.distance + distance)

    monkeypatch.setattr(trajectory, "decompose", off)
    return trajectory.decoder(P0, C, B, **rest)


def perturbed(seed, size=1e-3):
    rng = np.random.default_rng([seed, 2])
    P0, C, B = problem(seed, K=4, condition=10.0)
    D = rng.standard_normal((4, 4))
    D = (D + D.T) / np.linalg.norm(D + D.T, 2) * size
    s = np.array([0, 1, 2, 5, 20, 60])
    return P0, C, D, B, s


def true_gaps(path, P0, C, B, s):
    true = [exact_excess(P0, C, B, path.eta, t) for t in s]
    return np.array([gap(x, ball) for x, ball in zip(path.excess, true, strict=True)])


@pytest.mark.parametrize("seed", range(40))
def test_the_bar_covers_a_covariance_that_is_visibly_another(monkeypatch, seed):
    """Rounding is too small to test the theorem behind the bar; a distance of 1e-3 is not."""
    P0, C, D, B, s = perturbed(seed)
    path = believed(monkeypatch, P0, C, D, B, eta=0.2 + 0.04 * seed, steps=s)
    assert np.all(true_gaps(path, P0, C, B, s) <= path.error_bar)


def test_each_term_of_the_bar_is_needed(monkeypatch):
    P0, C, D, B, s = perturbed(0)
    nothing = np.zeros_like(B)
    metric = believed(monkeypatch, P0, C, D, nothing, eta=0.9, steps=[0])
    missed = true_gaps(metric, P0, C, nothing, [0])[0]
    assert missed <= metric.error_bar[0]
    blind = dataclasses.replace(metric.basis, distance=0.0)
    assert error_bar.excess(dataclasses.replace(metric, basis=blind, misfit=0.0))[0] < missed
    monkeypatch.undo()
    start = B @ np.linalg.inv(C + D)  # at the oracle of C + D, so the modes are zero
    at_rest = believed(monkeypatch, start, C, D, B, eta=0.9, steps=[0])
    missed = true_gaps(at_rest, start, C, B, [0])[0]
    assert at_rest.excess[0] < 1e-9 * missed and missed <= at_rest.error_bar[0]
    fast = np.linalg.eigh(C + D)[1][:, -1:].T
    monkeypatch.undo()
    leak = believed(monkeypatch, fast, C, D, nothing[:1], eta=0.9, steps=[60])
    missed = true_gaps(leak, fast, C, nothing[:1], [60])[0]
    assert missed <= leak.error_bar[0]
    monkeypatch.setattr(error_bar, "duhamel", lambda path: 0.0)
    assert error_bar.excess(leak)[0] < missed


def test_rounding_covers_the_sum_of_the_given_modes():
    """lambda mu^{2s} |w|^2 of the floats at hand, in balls; K = 1 has the longest exponent."""
    flint.ctx.prec = 400
    off = 0.0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        eta, lam = rng.uniform(0.1, 0.9, 2)
        path = trajectory.decoder([[rng.uniform(1, 2)]], [[lam]], [[0.0]], eta=eta, steps=[300])
        x = flint.arb(path.eta * float(path.basis.values[0]))
        w = flint.arb(float(path.modes[0, 0]))
        true = flint.arb(float(path.basis.values[0])) * w * w * (1 - x) ** 600
        miss = gap(path.excess[0], true)
        assert miss <= error_bar.rounding(path)[0]
        off = max(off, miss)
    assert off > 0


def test_a_bar_of_mere_summation_error_is_refuted(monkeypatch):
    """That C is known through LAPACK only must be paid for."""
    P0, C, B = problem(3, condition=1e6)
    path = trajectory.decoder(P0, C, B, eta=1.7, steps=[10**6])
    miss = gap(path.excess[0], exact_excess(P0, C, B, 1.7, 10**6))
    monkeypatch.setattr(error_bar, "duhamel", lambda path: 0.0)
    blind = dataclasses.replace(path.basis, distance=0.0)
    assert error_bar.excess(dataclasses.replace(path, basis=blind, misfit=0.0))[0] < miss
