import numpy as np

from twofold.information import exact
from twofold.information.exact import projection


def model(seed=0, S=8, Y=3, C=3):
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.arange(C), rng.integers(0, C, S - C)])
    return exact.channel(rng.dirichlet(np.ones(S)), rng.dirichlet(np.ones(Y), S), labels,
                         rng.dirichlet(np.ones(Y), C))  # fmt: skip


def test_no_sufficient_model_is_closer_than_the_projection():
    found, rng = model(), np.random.default_rng(1)
    best = exact.project(found)
    assert best.sufficient == "sufficient"
    assert abs(exact.divergence(found, best.p_x, best.decoder) - found.loss) < 1e-14
    for _ in range(200):
        near = 10.0 ** rng.uniform(-4, 0)
        q = best.decoder * np.exp(near * rng.standard_normal(best.decoder.shape))
        nu = best.p_x * np.exp(near * rng.standard_normal(8))
        assert exact.divergence(found, nu / nu.sum(), q / q.sum(1, keepdims=True)) > found.loss


def test_pythagoras_with_another_marginal():
    found = model()
    nu = np.random.default_rng(2).dirichlet(np.ones(8))
    apart = float(np.sum(found.p_x * np.log(found.p_x / nu)))
    whole = exact.divergence(found, nu, found.decoder)
    assert abs(whole - apart - found.loss - found.decoder_kl) < 1e-14


def test_the_functional_form_has_the_law_of_the_projected_model():
    best = exact.project(model())
    w = (np.arange(30000) + 0.5) / 30000
    for u in range(3):
        drawn = projection.quantile(best.decoder, w, np.full(30000, u))
        assert np.allclose(np.bincount(drawn, minlength=3) / 30000, best.decoder[u], atol=1e-4)


def test_samples_of_y_equal_f_of_w_and_u_are_certified_and_samples_of_the_true_model_are_not():
    found = model()
    best = exact.project(found)
    x, w, y = exact.sample(best, seed=0, count=40000)
    assert projection.certify_sample(best, x, y, delta=0.01).counts["holds"] == 1
    assert abs(np.corrcoef(w, x)[0, 1]) < 0.03
    edges = np.cumsum(found.p_y_given_x, axis=1)
    true = np.sum(w[:, None] >= edges[x], axis=1)
    assert projection.certify_sample(best, x, true, delta=0.01).counts["violated"] == 1


def test_a_label_of_probability_zero_is_never_drawn():
    q = np.array([[0.3, 0.7, 0.0]])
    assert projection.quantile(q, np.array([0.0, 0.3, 1 - 2**-53]), [0, 0, 0]).tolist() == [0, 1, 1]
