import numpy as np
import pytest

from twofold.information import exact
from twofold.learned import mlp

LAW = exact.SparseSoftmax(dim=5, sparsity=2)


def given(R=2, steps=20, batch=4, seed=0):
    pairs = [mlp.draw(LAW.p_y_given_x, 50, steps, batch, seed + r) for r in range(R)]
    return np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs])


def by_hand(mask, rows, labels, width, rate, seed):
    """The same SGD in NumPy, gradients written out."""
    W1, b1, W2, b2 = mlp.start(5, width, 4, seed)
    for x, y in zip(rows, labels, strict=True):
        X = LAW.states[x] * mask
        h = np.maximum(X @ W1 + b1, 0)
        e = np.exp(h @ W2 + b2)
        G = (e / e.sum(1, keepdims=True) - np.eye(4)[y]) / len(x)
        back = (G @ W2.T) * (h > 0)
        W2, b2 = W2 - rate * h.T @ G, b2 - rate * G.sum(0)
        W1, b1 = W1 - rate * X.T @ back, b1 - rate * back.sum(0)
    e = np.exp(np.maximum(LAW.states * mask @ W1 + b1, 0) @ W2 + b2)
    return e / e.sum(1, keepdims=True)


def test_training_is_sgd_written_out_and_a_mask_hides_its_coordinates():
    rows, labels = given()
    masks = np.array([[1.0] * 5, [1, 1, 0, 0, 0]])
    q = mlp.train(LAW.states, masks, rows, labels, classes=4, width=6, rate=0.1, seed=3)
    assert q.dtype == np.float64
    for r in range(2):
        hand = by_hand(masks[r], rows[r], labels[r], 6, 0.1, 3 + r)
        assert np.allclose(q[r], hand, atol=1e-12)
    cells = LAW.sufficient
    assert max(np.ptp(q[1][cells == c], axis=0).max() for c in range(4)) < 1e-14


def test_bad_input_is_named():
    rows, labels = given()
    for change in ({"rows": rows[:1]}, {"labels": labels + 4}, {"rows": rows + 32}):
        call = {"states": LAW.states, "masks": np.ones((2, 5)), "rows": rows, "labels": labels}
        with pytest.raises(ValueError, match="rows, labels"):
            mlp.train(**(call | change), classes=4, width=3, rate=0.1)
