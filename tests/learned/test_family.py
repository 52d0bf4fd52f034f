"""Every family: one formula, and JAX's two derivatives of it against NumPy's complex step."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from twofold import claims
from twofold.learned import family
from twofold.learned.flexformer import Flexformer
from twofold.learned.free import Free
from twofold.learned.softmax_spd import SoftmaxSPD
from twofold.tasks import regression
from twofold.training import adjoint, complex_step

FAMILIES = [
    Flexformer(8), Flexformer(8, "non-stationary", 3, 5), Flexformer(8, "softmax"), SoftmaxSPD(8),
    Free(8, 1.0),
]  # fmt: skip
LEARNED = FAMILIES[:-1]
each = pytest.mark.parametrize("family_", FAMILIES, ids=str)
learned = pytest.mark.parametrize("family_", LEARNED, ids=str)


def somewhere(family_, seed=0):
    theta = family_.start(seed)
    return theta + 0.3 * np.random.default_rng(seed).normal(size=theta.shape)


@learned
def test_the_jvp_is_the_complex_step_of_the_same_formula(family_):
    theta = somewhere(family_)
    along = np.random.default_rng(1).normal(size=theta.shape)
    step = 2.0**-300
    expected = family_.form(np, theta + 1j * step * along).imag / step
    found = family_.push_forward(theta, along)
    assert np.linalg.norm(found - expected) <= 1e-13 * np.linalg.norm(expected)


@each
def test_pull_back_and_push_forward_are_adjoint(family_):
    theta, rng = somewhere(family_), np.random.default_rng(2)
    along, dP = rng.normal(size=theta.shape), rng.normal(size=(8, 8))
    P, back = family_.push_forward(theta, along), family_.pull_back(theta, dP)
    gap = abs(np.sum(P * dP) - along @ back)
    assert gap <= 1e-13 * np.linalg.norm(P) * np.linalg.norm(dP)
    assert type(back) is np.ndarray and back.dtype == np.float64 and back.flags.writeable
    assert type(P) is np.ndarray and P.dtype == np.float64


def tasks(count=40):
    drawn = regression.sample(seed=3, dim=8, prompt=32, ridge=1e-3, count=count)
    return drawn.H, drawn.d, drawn.truth


@learned
def test_the_gradient_in_theta_is_the_complex_step_s_within_the_seed_s_limit(family_):
    limit = [c for c in claims.load() if c.id == "002-S9-theta-gradient-error"][0].tolerance
    theta, data = somewhere(family_), tasks()
    dP = adjoint.gradient(family_.matrix(theta), *data, 6)[1]
    found = family_.pull_back(theta, dP)
    expected = complex_step.gradient(
        lambda z: complex_step.loss(family_.form(np, z), *data, 6), theta
    )
    assert np.linalg.norm(found - expected) < limit * np.linalg.norm(expected)


def test_jax_through_the_whole_unrolled_loss_agrees():
    flex, (H, d, target) = FAMILIES[0], tasks()
    theta = somewhere(flex)
    with jax.enable_x64(True):
        jnp = jax.numpy

        def loss(theta):
            P, x = flex.form(jnp, theta), jnp.zeros_like(d)
            for _ in range(5):
                x = x + (d - jnp.einsum("nij,nj->ni", H, x)) @ P.T
            return jnp.sum((x - target) ** 2) / (2 * x.size)

        expected = np.array(jax.grad(loss)(theta))
    found = flex.pull_back(theta, adjoint.gradient(flex.matrix(theta), H, d, target, 5)[1])
    assert np.linalg.norm(found - expected) <= 1e-12 * np.linalg.norm(expected)


@each
def test_theta_is_flat_and_the_start_depends_on_its_seed_alone(family_):
    one, two = family_.start(5), family_.start(5)
    assert one.ndim == 1 and one.dtype == np.float64 and np.array_equal(one, two)
    assert isinstance(family_, Free) or not np.array_equal(one, family_.start(6))
    assert family_.matrix(one).shape == (8, 8)


@each
def test_a_narrow_theta_is_upcast_exactly(family_):
    theta = somewhere(family_).astype(np.float32)
    P = family_.matrix(theta)
    assert P.dtype == np.float64 and np.array_equal(P, family_.matrix(theta.astype(np.float64)))
    dP = np.ones((8, 8), dtype=np.float32)
    assert family_.pull_back(theta, dP).dtype == np.float64


@each
def test_bad_input_is_named(family_):
    theta = family_.start(0)
    for call in (family_.matrix, lambda t: family_.pull_back(t, np.eye(8))):
        with pytest.raises(ValueError, match="^theta: "):
            call(theta[:-1])
        with pytest.raises(ValueError, match="^theta: "):
            call(np.where(np.arange(len(theta)) == 3, np.nan, theta))
    with pytest.raises(ValueError, match="^dP: "):
        family_.pull_back(theta, np.eye(7))
    with pytest.raises(ValueError, match="^dP: "):
        family_.pull_back(theta, np.full((8, 8), np.inf))
    with pytest.raises(ValueError, match="^dtheta: "):
        family_.push_forward(theta, theta[:-1])
    with pytest.raises(ValueError, match="^seed: "):
        family_.start(-1)


def test_derivatives_are_compiled_once_per_family():
    family._derivatives.cache_clear()
    for _ in range(3):
        flex = Flexformer(8)
        flex.pull_back(flex.start(0), np.eye(8))
    assert family._derivatives.cache_info().misses == 1


def test_float64_is_nobody_else_s_business():
    flex = FAMILIES[0]
    flex.pull_back(flex.start(0), np.eye(8))
    assert jax.numpy.asarray(np.ones(2)).dtype == np.float32


def test_without_jax_there_are_matrices_but_no_derivatives(monkeypatch):
    code = (
        "import sys\n"
        "import twofold\n"
        "from twofold.training import finite_set\n"
        "flex = twofold.learned.flexformer.Flexformer(4)\n"
        "flex.matrix(flex.start(0))\n"
        "assert 'jax' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setattr(family.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match="twofold\\[learn\\]"):
        family.loaded()
