import math

import numpy as np
import pytest

import twofold
from twofold import atlas
from twofold.atlas import families

FIELDS = ("coords", "amplitude", "beta", "eta", "L", "h", "radius", "unique", "start", "start_h",
          "verdict", "method", "gap", "objective", "residual")  # fmt: skip


def made(family, p=32, seed=0, **rest):
    rng = np.random.default_rng(seed)
    atom = atlas.Atom(family, rng.standard_normal((family.size, p)) / math.sqrt(p))
    return atlas.build([atom], **rest), atom


def rows(atom, count, noise, seed=1, z=1.0):
    rng = np.random.default_rng(seed)
    t = rng.uniform(-0.8, 0.8, (count, atom.family.dim))
    if atom.family.period is None:
        t /= np.linalg.norm(t, axis=1, keepdims=True)
    m = atom.decode(t, z)
    e = rng.standard_normal(m.shape) / math.sqrt(m.shape[1])
    return m + noise * np.linalg.norm(m, axis=1, keepdims=True) * e, t


def lemniscate(p=2):
    """(cos 2 pi t, sin 4 pi t), a curve that crosses itself."""
    B = np.zeros((5, p))
    B[2, 0] = B[3, 1] = 1.0
    return atlas.Atom(families.Periodic(2), B)


def scan(atom, X, z=1.0, points=20_000):
    """min over a dense grid of 1/2 |x - z m(t)|^2."""
    t = np.linspace(0, 1, points, endpoint=False)[:, None]
    m = atom.decode(t, z)
    return np.array([0.5 * np.min(np.sum((x - m) ** 2, axis=1)) for x in X])


def test_the_names_of_the_paper():
    one = twofold.atlas.Atom(twofold.atlas.families.Periodic(1), np.eye(3))
    codes = twofold.atlas.build([one], charts=16, priors=None).encode(np.eye(3)[:1])
    assert codes.coords.shape == (1, 1) and isinstance(codes.verdict[0], str)
    assert sum(codes.counts.values()) == sum(codes.routes.values()) == 1


@pytest.mark.parametrize("H", [1, 2, 3, 5])
@pytest.mark.parametrize("noise", [0.0, 0.3, 0.6])
def test_sixteen_charts_certify_the_predictor_s_start(H, noise):
    a, atom = made(families.Periodic(H), p=64, charts=16)
    X, _ = rows(atom, 1500, noise)
    codes = a.encode(X, amplitudes=1.0)
    assert codes.routes["predictor"] >= 0.99 * len(X)
    assert np.all(codes.start_h[codes.method == "predictor"] < 0.5)
    assert codes.counts["global"] >= 0.99 * len(X)
    checked = slice(0, 100)
    f = codes.objective + 0.5 * np.sum(X**2, axis=1)
    assert np.all(f[checked] <= scan(atom, X[checked]) + 1e-12)
    assert np.allclose(np.sqrt(np.maximum(2 * f, 0)), codes.residual, atol=1e-6)


def test_torus_rows_anywhere_are_certified():
    a, atom = made(families.Torus(2, 2), p=64, charts=16)
    X, t = rows(atom, 600, 0.05)
    codes = a.encode(X, amplitudes=1.0)
    assert codes.counts["uncertified"] == 0 and codes.counts["global"] >= 0.99 * len(X)
    gap = np.abs(np.mod(codes.coords - t + 0.5, 1) - 0.5)
    assert np.median(gap) < 0.02


def test_sphere_poles_and_seams_are_certified():
    a, atom = made(families.Sphere(2), p=64)
    poles = np.array([[0, 0, 1.0], [0, 0, -1], [-1, 0, 0], [0, 1, 0], [-1, 1e-9, 0], [1e-9, 0, 1]])
    poles /= np.linalg.norm(poles, axis=1, keepdims=True)
    X = atom.decode(poles)
    codes = a.encode(X, amplitudes=1.0)
    assert set(codes.verdict) == {"global"}
    assert np.max(np.linalg.norm(codes.coords - poles, axis=1)) < 1e-12
    X, _ = rows(atom, 150, 0.05)
    assert a.encode(X, amplitudes=1.0).counts["global"] == 150


@pytest.mark.parametrize("charts", [16, 64])
def test_the_global_share_on_a_lemniscate_is_the_true_one(charts):
    atom = lemniscate()
    a = atlas.build([atom], charts=charts)
    X, _ = rows(atom, 1000, 0.6, seed=4)
    codes = a.encode(X, amplitudes=1.0)
    f = codes.objective + 0.5 * np.sum(X**2, axis=1)
    true = f <= scan(atom, X) + 1e-9
    assert abs(np.mean(true) - np.mean(codes.verdict == "global")) <= 0.002
    assert np.all(true[codes.verdict == "global"])
    local = a.encode(X, amplitudes=1.0, budget=0)
    assert set(local.verdict) <= {"local", "uncertified"}
    start = local.objective + 0.5 * np.sum(X**2, axis=1)
    wrong = (start > f + 1e-9) & (local.verdict == "local")
    assert np.all(codes.refuted[wrong] > 0)


def test_ties_are_ambiguous():
    atom = lemniscate()
    a = atlas.build([atom])
    X = np.array([[0.0, 0.5], [0.0, -0.7], [0.0, 3.0]])  # t and 1/2 - t are equally near
    codes = a.encode(X, amplitudes=1.0)
    assert set(codes.verdict) == {"ambiguous"}, codes.verdict
    assert np.all(codes.gap < 1e-9)


def test_all_minima_by_companion_matrix_agree():
    """f' is a polynomial in e^{2 pi i t}: its roots on the unit circle are all critical points."""
    a, atom = made(families.Periodic(3), p=8)
    X, _ = rows(atom, 200, 1.0, seed=7)
    codes = a.encode(X, amplitudes=1.0)
    grid = np.arange(32) / 32
    for x, f, verdict in zip(X, codes.objective, codes.verdict, strict=True):
        values = 0.5 * np.sum((x - atom.decode(grid[:, None])) ** 2, axis=1)
        c = np.fft.fft(values) / 32
        k = np.arange(-6, 7)
        roots = np.roots((c[k] * k)[::-1])
        t = np.angle(roots[np.abs(np.abs(roots) - 1) < 1e-5]) / (2 * np.pi)
        lowest = 0.5 * np.min(np.sum((x - atom.decode(t[:, None])) ** 2, axis=1))
        if verdict == "global":
            assert abs(f + 0.5 * x @ x - lowest) < 1e-9 * (1 + lowest)
    assert np.mean(codes.verdict == "global") > 0.98


def test_a_row_does_not_see_its_neighbours():
    a, atom = made(families.Periodic(4), p=37)
    X, _ = rows(atom, 133, 0.4)
    whole = a.encode(X, amplitudes=1.0)
    order = np.random.default_rng(0).permutation(len(X))
    parts = [a.encode(X[i : i + 1], amplitudes=1.0) for i in range(9)]
    turned = a.encode(X[order], amplitudes=1.0)
    chunks = [a.encode(X[i : i + 50], amplitudes=1.0) for i in (0, 50, 100)]
    for name in FIELDS:
        want = getattr(whole, name)
        assert np.array_equal(np.concatenate([getattr(c, name) for c in parts]), want[:9]), name
        assert np.array_equal(getattr(turned, name), want[order]), name
        assert np.array_equal(np.concatenate([getattr(c, name) for c in chunks]), want), name


def test_flat_axes_keep_their_edge():
    """A minimum beyond the chart is not certified; one inside is, and is global in the chart."""
    a, atom = made(families.Patch(2, 2, radius=1.0), p=32)
    inside = a.encode(atom.decode(np.array([[0.3, -0.2]])), amplitudes=1.0)
    assert inside.verdict[0] == "global" and np.allclose(inside.coords, [[0.3, -0.2]])
    B = np.array([[0.0], [1.0]])
    line = atlas.build([atlas.Atom(families.Affine(1), B)])
    codes = line.encode(np.array([[0.4], [3.0]]), amplitudes=1.0)
    assert list(codes.verdict) == ["global", "uncertified"] and "chart" in codes.reason[1]


def test_priors_move_the_minimum_to_where_the_derivative_vanishes():
    family = families.Cylinder(1, 1)
    a, atom = made(family, p=16, priors=atlas.Priors(flat=0.3, periodic=0.5))
    X, _ = rows(atom, 60, 0.1)
    codes = a.encode(X * 0.5, amplitudes=0.7)
    good = codes.verdict == "global"
    assert good.sum() > 30
    for x, t in zip(0.5 * X[good], codes.coords[good], strict=True):
        phi, J = family.jets(t[None], 1)
        r = 0.7 * phi[0] @ atom.B - x
        slope = 0.7 * np.einsum("mi,mp,p->i", J[0], atom.B, r)
        slope += [0.5 / (2 * np.pi) * np.sin(2 * np.pi * t[0]), 0.3 * t[1]]
        assert np.max(np.abs(slope)) < 1e-11


def test_a_joint_amplitude_is_the_best_one():
    a, atom = made(families.Periodic(2), p=24)
    X, t = rows(atom, 60, 0.1, z=2.5)
    codes = a.encode(X, budget=20_000)
    assert codes.counts["global"] >= 50
    phi = atom.family.values(codes.coords) @ atom.B
    best = np.sum(X * phi, axis=1) / np.sum(phi**2, axis=1)
    good = codes.verdict == "global"
    assert np.allclose(codes.amplitude[good, 0], best[good], rtol=1e-9)
    grid = atom.decode(np.linspace(0, 1, 5000)[:, None])
    score = np.maximum(X @ grid.T, 0) ** 2 / np.sum(grid**2, axis=1)
    assert np.all(codes.objective[good] <= -0.5 * score.max(axis=1)[good] + 1e-9)


def test_several_active_atoms_share_one_certificate():
    rng = np.random.default_rng(2)
    atoms = [atlas.Atom(families.Periodic(1), rng.standard_normal((3, 24))) for _ in range(3)]
    a = atlas.build(atoms)
    t, z = rng.random((40, 2)), rng.uniform(0.5, 2, (40, 2))
    which = np.array([[0, 2], [1, 2]] * 20)
    X = np.array([sum(atoms[k].decode(t[n, j : j + 1, None], z[n, j])[0]
                      for j, k in enumerate(which[n])) for n in range(40)])  # fmt: skip
    X += 0.05 * rng.standard_normal(X.shape)
    codes = a.encode(X, amplitudes=z, atoms=which, budget=2000)
    assert codes.counts["global"] >= 38 and codes.coords.shape == (40, 2)
    assert np.median(np.abs(np.mod(codes.coords - t + 0.5, 1) - 0.5)) < 0.01
    for n in range(5):
        best = np.inf
        g = np.linspace(0, 1, 200, endpoint=False)[:, None]
        m = [atoms[k].decode(g, z[n, j]) for j, k in enumerate(which[n])]
        best = np.min(np.sum((X[n] - m[0][:, None] - m[1][None]) ** 2, axis=2)) / 2
        assert codes.objective[n] + 0.5 * X[n] @ X[n] <= best + 1e-12


def test_without_atoms_the_best_one_is_taken():
    rng = np.random.default_rng(5)
    atoms = [atlas.Atom(families.Periodic(1), rng.standard_normal((3, 24))) for _ in range(3)]
    a = atlas.build([*atoms, atoms[0]])
    which = rng.integers(0, 3, 60)
    X = np.array([atoms[k].decode(rng.random((1, 1)))[0] for k in which])
    codes = a.encode(X + 0.01, amplitudes=1.0)
    assert np.array_equal(codes.atom[:, 0], which)
    assert set(codes.verdict[which == 0]) == {"ambiguous"}  # atom 3 is atom 0
    assert np.mean(codes.verdict[which != 0] == "global") == 1


@pytest.mark.parametrize(
    ("z", "said"),
    [(0.0, "zero"), (-1.0, "negative"), (math.nan, "not finite"), (math.inf, "not finite"),
     (1e300, "range"), (1e-300, "range")],
)  # fmt: skip
def test_odd_amplitudes_flag_the_row(z, said):
    a, atom = made(families.Periodic(2))
    X, _ = rows(atom, 3, 0.1)
    codes = a.encode(X, amplitudes=np.array([1.0, z, 1.0]))
    assert list(codes.verdict[[0, 2]]) == ["global"] * 2
    assert codes.verdict[1] == "uncertified" and said in codes.reason[1]
    assert sum(codes.counts.values()) == sum(codes.routes.values()) == 3


@pytest.mark.parametrize("joint", [False, True])
def test_odd_rows_are_flagged_and_the_others_go_on(joint):
    a, atom = made(families.Periodic(2))
    X, _ = rows(atom, 6, 0.1)
    X[1], X[2, 3], X[3, 0], X[4] = 0.0, np.nan, 1e300, 1e-320
    codes = a.encode(X, amplitudes=None if joint else 1.0)
    assert codes.verdict[0] != "uncertified" and codes.verdict[5] != "uncertified"
    assert set(codes.verdict[2:4]) == {"uncertified"} and all(codes.reason[2:4])
    assert not joint or all(codes.reason[[1, 4]])
    assert len(a.encode(np.zeros((0, 32)), amplitudes=1.0)) == 0


def test_a_flat_objective_is_uncertified_with_its_reason():
    zero = atlas.build([atlas.Atom(families.Periodic(1), np.zeros((3, 4)))])
    codes = zero.encode(np.ones((2, 4)), amplitudes=1.0)
    assert set(codes.verdict) == {"uncertified"} and all(codes.reason)
    point = atlas.build([atlas.Atom(families.Periodic(1), np.eye(3)[:, :])])
    codes = point.encode(np.array([[1.0, 0.0, 0.0]]), amplitudes=1.0)  # equally far from all
    assert codes.verdict[0] == "uncertified" and codes.reason[0]


def test_what_cannot_be_encoded_is_an_error_that_says_why():
    a, atom = made(families.Periodic(1), p=4)
    other = atlas.Atom(families.Periodic(1), np.ones((3, 5)))
    for call, said in (
        (lambda: atlas.build([]), "empty"),
        (lambda: atlas.build([atom, other]), r"one length p"),
        (lambda: atlas.Atom(families.Periodic(1), np.ones((4, 4))), "B"),
        (lambda: a.encode(np.ones((2, 5))), "rows"),
        (lambda: a.encode(np.ones((2, 4)), atoms=[0, 7]), "atoms"),
        (lambda: a.encode(np.ones((2, 4)), amplitudes=np.ones(3)), "amplitudes"),
        (lambda: a.encode(np.ones((2, 4)), budget=-1), "budget"),
        (lambda: atlas.Priors(flat=-1), "priors"),
    ):
        with pytest.raises(ValueError, match=said):
            call()


@pytest.mark.parametrize("z", [1.0, None])
def test_routing_prunes_by_proof_and_finds_what_brute_force_finds(z, monkeypatch):
    """Recall one: the winner is the brute-force winner, though few atoms are looked at."""
    rng = np.random.default_rng(8)
    kinds = [families.Periodic(1), families.Periodic(2), families.Torus(2, 1)]
    if z is not None:
        kinds.append(families.Sphere(1))
    atoms = [atlas.Atom(k, rng.standard_normal((k.size, 48)) * rng.uniform(0.5, 2))
             for k in kinds * 3]  # fmt: skip
    a = atlas.build(atoms, charts=8)
    X = np.concatenate([rows(atom, 4, 0.1, seed=n)[0] for n, atom in enumerate(atoms)])
    floors = a._floors(X, None if z is None else np.full((len(X), 1), z))
    every = [a.encode(X, amplitudes=z, atoms=np.full(len(X), k), budget=500)
             for k in range(len(atoms))]  # fmt: skip
    values = np.array([codes.objective for codes in every]).T
    assert np.all(floors <= values)
    looked, encode = [], type(a).encode

    def counted(self, chosen, **rest):
        looked.append(len(chosen))
        return encode(self, chosen, **rest)

    monkeypatch.setattr(type(a), "encode", counted)
    codes = a.encode(X, amplitudes=z, budget=500)
    assert np.array_equal(codes.atom[:, 0], np.argmin(values, axis=1))
    assert np.allclose(codes.objective, values.min(axis=1), rtol=1e-12)
    if z is not None:
        assert sum(looked[1:]) < 0.5 * values.size
