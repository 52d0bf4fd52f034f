import math

import numpy as np
import pytest

from twofold.theorems import self_bounding


def sample(rng, R, n, C=4, Y=3):
    p = np.random.default_rng(7).dirichlet(np.ones(Y), C)
    u = rng.integers(0, C, (R, n))
    y = np.minimum(np.sum(rng.random((R, n))[..., None] >= np.cumsum(p, 1)[u], axis=-1), Y - 1)
    return u, y, float(-np.mean(np.sum(p * np.log(p), axis=1)))


def test_holds_over_ten_thousand_samples_and_is_not_vacuous():
    u, y, truth = sample(np.random.default_rng(0), 10000, 300)
    proof = self_bounding.certify(u, y, cells=4, classes=3, delta=0.05, truth=truth)
    assert not proof.condemned and np.median(proof.bound) > 0.3 * truth
    u, y, _ = sample(np.random.default_rng(1), 1, 100000)
    assert self_bounding.lower(u[0], y[0], cells=4, classes=3, delta=0.05) > 0.9 * truth


def test_the_lemma_of_the_proof():
    """Each removal lowers n H_hat by 0 .. B, and they sum to n H_hat + occupied at most."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 30))
        u, y = rng.integers(0, 4, n), rng.integers(0, 3, n)
        whole = self_bounding.empirical(u, y, 4, 3)
        kept = ~np.eye(n, dtype=bool)
        falls = np.array([whole - self_bounding.empirical(u[k], y[k], 4, 3) for k in kept])
        assert falls.min() > -1e-12 and falls.max() <= math.log(n) + 1
        assert falls.sum() <= whole + len(self_bounding.counts(u, y, 4, 3)) + 1e-9


def test_zero_where_y_is_a_function_of_u_and_where_cells_are_many():
    u = np.arange(500)
    assert self_bounding.lower(u, u % 2, cells=500, classes=2, delta=0.05) == 0.0
    y = np.random.default_rng(0).integers(0, 2, 500)
    assert self_bounding.lower(u, y, cells=500, classes=2, delta=0.05) == 0.0
    assert self_bounding.lower([0], [0], cells=1, classes=10**6, delta=0.05) == 0.0


def test_without_the_deviation_it_is_condemned(monkeypatch):
    monkeypatch.setattr(self_bounding.heldout, "log_ratio", lambda top, delta: -0.5)
    u, y, truth = sample(np.random.default_rng(2), 400, 2000)
    with pytest.raises(ValueError):
        self_bounding.certify(u, y, cells=4, classes=3, delta=0.05, truth=truth)
    monkeypatch.setattr(self_bounding.heldout, "log_ratio", lambda top, delta: 0.0)
    assert self_bounding.certify(u, y, cells=4, classes=3, delta=0.05, truth=truth).condemned


def test_bad_input_is_named():
    for change, message in (
        ({"cells": 1}, "cells, classes: labels reach"), ({"y": [0]}, "u, y: expected n >= 1"),
        ({"u": [0, -1]}, "u: labels"), ({"delta": 0.0}, "delta"), ({"u": [], "y": []}, "u"),
    ):  # fmt: skip
        given = {"u": [0, 1], "y": [0, 1], "cells": 2, "classes": 2, "delta": 0.1} | change
        with pytest.raises(ValueError, match=message):
            self_bounding.lower(**given)
