import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import nnls

from twofold.atlas import flat, sae
from twofold.store import tensors

ROOT = Path(__file__).resolve().parents[2]


def problem(K, p, N, seed=0):
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((K, p)) / np.sqrt(p)
    c = rng.random((N, K)) * (rng.random((N, K)) < 0.1)
    return W, c @ W + 0.05 * rng.standard_normal((N, p))


@pytest.mark.parametrize(("penalty", "ridge"), [(0.1, 0.0), (0.02, 0.0), (0.1, 0.05), (0.0, 0.1)])
def test_the_gap_holds_against_another_solver(penalty, ridge):
    """Non-negative lasso as non-negative least squares of one more row, solved by Lawson-Hanson."""
    W, X = problem(40, 24, 60)
    found = flat.encode(W, X, penalty=penalty, ridge=ridge)
    assert found.counts["global"] == len(X)
    for x, high, low in zip(X, found.primal, found.dual, strict=True):
        c = lawson_hanson(W, x, penalty, ridge)
        best = 0.5 * np.sum((x - c @ W) ** 2) + penalty * c.sum() + 0.5 * ridge * c @ c
        assert low <= best * (1 + 1e-12) and high - best <= 1e-8 * (x @ x)


def lawson_hanson(W, x, penalty, ridge):
    """min P as |A c - y|^2 with A'A = WW' + rho I and A'y = W x - lambda."""
    G = W @ W.T + (ridge + 1e-12) * np.eye(len(W))
    A = np.linalg.cholesky(G).T
    return nnls(A, np.linalg.solve(A.T, W @ x - penalty), maxiter=10_000)[0]


def test_dual_never_exceeds_primal_whatever_the_codes():
    rng = np.random.default_rng(3)
    for ridge in (0.0, 0.3):
        W, X = problem(16, 8, 2000, seed=1)
        best = flat.encode(W, X, penalty=0.05, ridge=ridge, tolerance=1e-12)
        guess = np.maximum(rng.standard_normal((2000, 16)), 0)
        found = flat.judged(W, X, guess, penalty=0.05, ridge=ridge)
        assert np.all(found.dual <= best.primal) and np.all(best.dual <= found.primal)
        low, high = flat.amortisation(W, X, guess, best, penalty=0.05, ridge=ridge)
        assert np.all(low <= high) and np.all(low > 0)


def test_orthonormal_dictionaries_have_a_closed_form():
    W = np.linalg.qr(np.random.default_rng(0).standard_normal((12, 12)))[0]
    X = np.random.default_rng(1).standard_normal((50, 12))
    found = flat.encode(W, X, penalty=0.3)
    assert np.allclose(found.codes, np.maximum(X @ W.T - 0.3, 0), atol=1e-12)
    assert np.max(found.gap) < 1e-12 * np.max(X**2) * 100


def test_bad_input_is_flagged_or_refused():
    W, X = problem(6, 5, 4)
    X[1, 0], X[2, 0] = np.nan, 1e300
    found = flat.encode(W, X, penalty=0.1)
    assert list(found.verdict) == ["global", "uncertified", "uncertified", "global"]
    assert sum(found.counts.values()) == 4
    assert flat.encode(np.vstack([W, W[:1], 0 * W[:1]]), X, penalty=0.1).verdict[0] == "global"
    for arguments, said in (({"penalty": -1}, "penalty"), ({"penalty": 0.0}, "penalty"),
                            ({"penalty": 1, "ridge": np.nan}, "ridge")):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            flat.encode(W, X, **arguments)
    with pytest.raises(ValueError, match="empty"):
        flat.encode(np.zeros((0, 5)), X, penalty=1)


def text_rows(p=32, window=120):
    """Real data at hand: how often hashed letter pairs occur in windows of the documentation."""
    text = "".join(path.read_text("utf-8") for path in sorted((ROOT / "docs").rglob("*.md")))
    body = np.frombuffer(text.encode()[: 400 * window], dtype=np.uint8).astype(np.int64)
    pairs = ((body[:-1] * 31 + body[1:]) % p)[: 399 * window].reshape(-1, window)
    counts = np.array([np.bincount(row, minlength=p) for row in pairs]) / window**0.5
    return counts - counts.mean(axis=0)


def trained(X, K=64, penalty=0.05, steps=400, seed=0):
    """A ReLU autoencoder by gradient descent with Adam, unit rows of W_dec."""
    rng, p = np.random.default_rng(seed), X.shape[1]
    W = rng.standard_normal((K, p))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    theta = [W.T.copy(), W, np.zeros(K)]
    first, second = ([np.zeros_like(x) for x in theta] for _ in range(2))
    for step in range(1, steps + 1):
        E, D, b = theta
        pre = X @ E + b
        c = np.maximum(pre, 0)
        r = c @ D - X
        dc = (r @ D.T + penalty) * (pre > 0)
        grads = [X.T @ dc / len(X), c.T @ r / len(X), dc.mean(axis=0)]
        for i, g in enumerate(grads):
            first[i] = 0.9 * first[i] + 0.1 * g
            second[i] = 0.999 * second[i] + 0.001 * g * g
            scale = np.sqrt(second[i] / (1 - 0.999**step)) + 1e-8
            theta[i] = theta[i] - 0.01 * first[i] / (1 - 0.9**step) / scale
        theta[1] = theta[1] / np.linalg.norm(theta[1], axis=1, keepdims=True)
    return sae.SAE(theta[0], theta[1], theta[2], np.zeros(p))


def test_a_trained_sae_end_to_end(tmp_path):
    """Read from its folder, encoded to proved optimality; its own encoder costs more, per row."""
    X = text_rows()
    sae.save(trained(X), tmp_path)
    model = sae.load(tmp_path)
    given = model.encode(X)
    explained = 1 - np.sum((X - model.decode(given)) ** 2) / np.sum(X**2)
    assert explained > 0.5, explained
    best = flat.encode(model.W_dec, X - model.b_dec, penalty=0.05)
    assert best.counts["global"] == len(X)
    low, high = flat.amortisation(model.W_dec, X - model.b_dec, given, best, penalty=0.05)
    assert np.all(low <= high) and np.all(high - low <= 1e-6 * np.sum(X**2, axis=1))
    assert low.sum() > 0.01 * best.primal.sum()


def test_folders_of_other_tools(tmp_path):
    rng = np.random.default_rng(0)
    E, D = rng.standard_normal((4, 6)), rng.standard_normal((6, 4))
    for extra in ({}, {"threshold": np.full(6, 0.5)}, {"k": 2}):
        model = sae.SAE(E, D, np.ones(6), np.zeros(4), **extra)
        sae.save(model, tmp_path / "lens")
        after = sae.load(tmp_path / "lens")
        X = rng.standard_normal((9, 4))
        assert np.array_equal(after.encode(X), model.encode(X))
    other = tmp_path / "sparsify"
    other.mkdir()
    arrays = {"encoder.weight": E.T.astype(np.float32), "encoder.bias": np.ones(6), "W_dec": D,
              "b_dec": np.zeros(4)}  # fmt: skip
    tensors.write(other / "sae.safetensors", arrays)
    (other / "cfg.json").write_text(json.dumps({"k": 3}))
    assert np.all(np.sum(sae.load(other).encode(X) > 0, axis=1) <= 3)
    (other / "cfg.json").write_text("[]")
    with pytest.raises(ValueError, match=r"cfg\.json"):
        sae.load(other)
    pickled = tmp_path / "pickled"
    pickled.mkdir()
    (pickled / "ae.pt").write_bytes(b"\x80\x02")
    with pytest.raises(ValueError, match="save_file"):
        sae.load(pickled)
