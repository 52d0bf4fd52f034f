"""Full-batch training: downhill, resumable to the bit, and plain about divergence."""

import subprocess
import sys

import numpy as np
import pytest

from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.store import tensors
from twofold.tasks import regression
from twofold.training import adjoint, finite_set, online
from twofold.training.finite_set import FiniteSet

FAMILIES = [Free(6, 1.0), Flexformer(6), Flexformer(6, "softmax"), SoftmaxSPD(6)]
each = pytest.mark.parametrize("family", FAMILIES, ids=str)
rules = pytest.mark.parametrize(("rule", "eta"), [("descent", 1.0), ("adam", 0.02)])


def data(seed=0, count=64, dim=6):
    drawn = regression.sample(seed=seed, dim=dim, prompt=32, ridge=1e-3, count=count)
    return drawn.H, drawn.d, drawn.truth


@each
@rules
def test_a_run_resumed_from_the_store_is_the_uninterrupted_one_bit_for_bit(
    family, rule, eta, tmp_path
):
    settings = {"depth": 4, "eta": eta, "rule": rule}
    theta0 = family.start(1)
    half, last = finite_set.train(family, theta0, *data(), steps=40, times=[17, 40], **settings)
    tensors.write(tmp_path / "state.safetensors", half.arrays)
    stored = online.State(half.s, tensors.read(tmp_path / "state.safetensors"))
    (again,) = finite_set.train(family, stored, *data(), steps=40, **settings)
    assert again.s == last.s == 40 and set(again.arrays) == set(last.arrays)
    for name, array in last.arrays.items():
        assert type(array) is np.ndarray
        assert np.asarray(again[name]).tobytes() == array.tobytes()


def test_another_process_walks_the_same_bits(tmp_path):
    code = (
        "import sys, numpy as np\n"
        "from twofold.learned.flexformer import Flexformer\n"
        "from twofold.store import tensors\n"
        "from twofold.tasks import regression\n"
        "from twofold.training import finite_set\n"
        "t = regression.sample(seed=0, dim=6, prompt=32, ridge=1e-3, count=64)\n"
        "f = Flexformer(6)\n"
        "(s,) = finite_set.train(f, f.start(1), t.H, t.d, t.truth, depth=4, eta=1.0, steps=9)\n"
        "tensors.write(sys.argv[1], s.arrays)\n"
    )
    path = tmp_path / "there.safetensors"
    subprocess.run([sys.executable, "-c", code, str(path)], check=True)
    flex = FAMILIES[1]
    (here,) = finite_set.train(flex, flex.start(1), *data(), depth=4, eta=1.0, steps=9)
    assert tensors.read(path)["theta"].tobytes() == here["theta"].tobytes()


@each
@rules
def test_training_goes_downhill(family, rule, eta):
    learner = FiniteSet(family, *data(), 4, eta, rule)
    first, last = online.states(learner, learner.start(family.start(0)), [0, 60])
    assert learner.loss(last) < 0.5 * learner.loss(first)
    assert int(last["guarded"]) == 0 and not finite_set.diverged(last)


@each
def test_one_step_is_theta_minus_eta_times_the_pulled_back_gradient(family):
    H, d, target = data()
    theta = family.start(3)
    (state,) = finite_set.train(family, theta, H, d, target, depth=3, eta=0.25, steps=1)
    dP = adjoint.gradient(family.matrix(theta), H, d, target, 3)[1]
    expected = theta - 0.25 * family.pull_back(theta, dP)
    assert np.array_equal(state["theta"], expected)


def test_free_descent_at_depth_one_is_gradient_descent_on_least_squares():
    """P_{s+1} = P_s - eta/K (P_s C - B) with the sample's C = mean dd', B = mean zd'."""
    H, d, target = data()
    C, B = d.T @ d / len(d), target.T @ d / len(d)
    P = np.zeros((6, 6))
    (state,) = finite_set.train(Free(6), np.zeros(36), H, d, target, depth=1, eta=2.0, steps=25)
    for _ in range(25):
        P = P - 2.0 / 6 * (P @ C - B)
    np.testing.assert_allclose(state["theta"].reshape(6, 6), P, atol=1e-14)


def test_adam_is_its_formula():
    H, d, target = data()
    family = Free(6, 1.0)
    theta, m, v = family.start(0), np.zeros(36), np.zeros(36)
    for s in range(1, 6):
        g = adjoint.gradient(theta.reshape(6, 6), H, d, target, 4)[1].ravel()
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g * g
        theta = theta - 0.02 * (m / (1 - 0.9**s)) / (np.sqrt(v / (1 - 0.999**s)) + 1e-8)
    (state,) = finite_set.train(
        family, family.start(0), H, d, target, depth=4, eta=0.02, steps=5, rule="adam"
    )
    np.testing.assert_allclose(state["theta"], theta, rtol=1e-13)


@each
def test_a_diverging_run_says_so_and_stays(family):
    learner = FiniteSet(family, *data(), 4, 1e6)
    *_, last = online.states(learner, learner.start(family.start(0)), [0, 30])
    assert finite_set.diverged(last) and last.s == 30
    assert np.isnan(learner.loss(last))
    assert learner.step(last)["theta"] is last["theta"]


def test_steps_on_a_guarded_row_are_counted():
    flex = Flexformer(2, "stationary", 1, 1)
    theta = np.array([0.0, 0.3, 0.0, np.pi, 1.0, 0.1, 0.1, 0.1, 0.1, 1.0, 1.0])
    assert finite_set.rows_guarded(flex, theta) == 2
    H, d, target = data(dim=2)
    (state,) = finite_set.train(flex, theta, H, d, target, depth=2, eta=1e-12, steps=3)
    assert int(state["guarded"]) == 3


def test_states_are_not_changed_in_place():
    flex = FAMILIES[1]
    learner = FiniteSet(flex, *data(), 3, 0.1, "adam")
    start = learner.start(flex.start(0))
    before = {k: v.copy() for k, v in start.arrays.items()}
    learner.step(start)
    assert all(np.array_equal(before[k], start[k]) for k in before)


def call(**changed):
    H, d, target = data()
    given = {"family": Free(6, 1.0), "theta0": np.eye(6).ravel(), "H": H, "d": d, "target": target}
    given |= {"depth": 2, "eta": 0.1, "steps": 2} | changed
    return finite_set.train(**given)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"eta": 0.0}, "eta"), ({"eta": np.nan}, "eta"), ({"depth": 0}, "depth"),
        ({"steps": -1}, "steps"), ({"times": [0, 3]}, "times"), ({"times": [1, 0]}, "times"),
        ({"rule": "newton"}, "rule"), ({"theta0": np.full(36, np.nan)}, "theta0"),
        ({"theta0": np.zeros(35)}, "theta"), ({"target": np.zeros((64, 5))}, "target"),
        ({"H": np.full((64, 6, 6), np.nan)}, "H"), ({"d": np.zeros((3, 6))}, "d"),
    ],
)  # fmt: skip
def test_bad_input_is_named(changed, name):
    with pytest.raises(ValueError, match=f"^{name}: "):
        call(**changed)


def test_a_float32_model_and_its_tasks_are_upcast_exactly():
    H, d, target = (a.astype(np.float32) for a in data())
    narrow = call(H=H, d=d, target=target)[0]
    wide = call(H=H.astype(float), d=d.astype(float), target=target.astype(float))[0]
    assert narrow["theta"].dtype == np.float64
    assert np.array_equal(narrow["theta"], wide["theta"])
