import numpy as np
from flint import arb

from twofold.rigor import logarithm
from twofold.rigor.balls import precision


def worst(x):
    """The largest error, as a share of the computed logarithm."""
    found = logarithm.log(x)
    with precision(200):
        gaps = [abs(arb(float(f)) - arb(float(v)).log()) / abs(float(f))
                for f, v in zip(found, x, strict=True) if f]  # fmt: skip
        return max(float(g) for g in gaps)


def test_the_error_is_below_the_proved_share_everywhere():
    rng = np.random.default_rng(0)
    near = 1 + 10.0 ** rng.uniform(-16, 0, 2000) * rng.choice([-0.5, 1], 2000)
    edges = np.sqrt(0.5) * (1 + rng.uniform(-1e-3, 1e-3, 2000))
    wide = 2.0 ** rng.uniform(-1074, 1024, 2000)
    for x in (near, edges, wide):
        assert worst(x) < logarithm.SHARE
    assert worst(near) > logarithm.SHARE / 20


def test_one_is_exact_and_what_has_no_logarithm_is_nan():
    assert logarithm.log(1.0) == 0
    assert np.isnan(logarithm.log([0.0, -1.0, np.nan, np.inf])).all()
    assert abs(logarithm.log(5e-324) + 744.4400719213812) < 1e-12
