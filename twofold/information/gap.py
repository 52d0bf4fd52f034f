r"""The risk of an encoder and a decoder taken apart from held-out rows, without knowing the law.

    R_decoder = R_X + (R_U - R_X) + (R_decoder - R_U)

R_X the risk of a reference that sees X, R_U that of a head refitted on the code. The gaps equal
I(X;Y|U) + KL_U - KL_X and KL_decoder - KL_U: an ill-fitting family biases them both ways, so each
row names its family. Certified rows come from one split and hold for any law; asymptotic rows from
five-fold cross-fitting, and are estimates. Every predictor is mixed with the uniform one (share
1e-3), which bounds its loss and moves no risk up by more than 1e-3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from twofold.information.probes import Family, Logistic, Table, one_hot, tied
from twofold.information.records import Decomposition, Value
from twofold.measures.cells import whole
from twofold.rigor import inputs
from twofold.theorems import heldout, paired, table_loss

SHARE, FOLDS, FEWEST = 1e-3, 5, 10
METHODS = ("auto", "table", "logistic")
NORMAL = 1.959963984540054
UPPER = "H(Y|X) >= 0 is all that is known of the noise, so this is R_U from above"
NONE = "the code is continuous: no distribution-free lower bound above 0 exists"


@dataclass(frozen=True, eq=False)
class Data:
    """Rows, codes and labels, and which rows are fitted on."""

    X: Float[np.ndarray, "n d"]
    y: Int[np.ndarray, " n"]
    codes: np.ndarray
    """as they came"""
    read: np.ndarray
    """as the head reads them: labels of distinct codes, or the codes"""
    discrete: bool
    classes: int
    fold: Int[np.ndarray, " n"]
    """0 .. 4 per row; equal rows share one"""

    @property
    def test(self) -> np.ndarray:
        """The held-out rows of the certified split."""
        return self.fold % 2 == 1


def decompose(
    encoder: Any, decoder: Any, X: Any, y: Any, *, reference: Any = None,
    layers: Sequence[Any] = (), method: str = "auto", delta: float = 0.05,
) -> Decomposition:  # fmt: skip
    """R_decoder, R_U, R_X, their gaps, bounds on I(X;Y|U), usable loss per layer; see the module.

    encoder, layers: functions of X or their outputs on X; decoder: function of the code, or its
    probabilities (n,K), or None; reference: the same of X, fitted on other rows, or None.
    """
    heldout.share(delta, 8)
    data, notes = _prepared(encoder, X, y, method)
    q = _probabilities("reference", reference, data.X, data.classes)
    p = _probabilities("decoder", decoder, data.codes, data.classes)
    for found in (q, p):
        if found is not None:
            data = replace(data, classes=found.shape[1])
    head: Family = Table() if data.discrete else Logistic()
    given = {"X": (q, Logistic(), data.X), "U": (None, head, data.read),
             "decoder": (p, head, data.read)}  # fmt: skip
    if decoder is None:
        del given["decoder"]
    certified = {k: _split_loss(data, *v) for k, v in given.items()}
    fitted = {k: _cross_fitted(data, *v) for k, v in given.items()}
    names = {k: "given" if v[0] is not None else v[1].name for k, v in given.items()}
    rows = [_entropy(data), *_risks(certified, fitted, names, delta)]
    rows += _bounds(data, certified, names, delta / 12)
    rows += _layers(data, layers, fitted["X"][0] if reference is None else None)
    return Decomposition(tuple(rows), tuple(notes))


def _prepared(encoder: Any, X: Any, y: Any, method: str) -> tuple[Data, list[str]]:
    X = inputs.real("X", X)
    X = X.reshape(len(X), -1)
    y = _classes(y, len(X))
    codes = np.asarray(encoder(X) if callable(encoder) else encoder)
    codes = inputs.real("encoder", codes.astype(np.int8) if codes.dtype == bool else codes)
    if len(codes) != len(X):
        raise ValueError(f"encoder: {len(codes)} codes for {len(X)} rows of X")
    if method not in METHODS:
        raise ValueError(f"method: expected auto, table or logistic, got {method!r}")
    labels = tied(codes)
    many = int(labels.max()) + 1
    discrete = method == "table" or (method == "auto" and many <= max(2, len(X) // 10))
    group, notes = tied(X), []
    twice = len(X) - int(group.max()) - 1
    if int(group.max()) < len(X) // 2:
        group = np.arange(len(X))
        notes.append(f"{twice} rows repeat another's X: X is discrete, repeats are new draws")
    elif twice:
        notes.append(f"{twice} rows repeat another's X: kept in one fold, so that none leaks; "
                     "the certified rows assume that rows were drawn independently")  # fmt: skip
    fold = np.argsort(heldout.order(int(group.max()) + 1))[group] % FOLDS
    notes.append(f"{len(X)} rows, {y.max() + 1} classes, {many} distinct codes, read as "
                 + ("a table" if discrete else "features"))  # fmt: skip
    read = labels if discrete else codes
    return Data(X, y, codes, read, discrete, int(y.max()) + 1, fold), notes


def _classes(y: Any, n: int) -> Int[np.ndarray, " n"]:
    labels = whole("y", y)
    if labels.shape != (n,) or n < FEWEST:
        raise ValueError(f"y: expected one label per row and n >= {FEWEST}, got {labels.shape}")
    seen = np.unique(labels)
    if len(seen) < 2:
        raise ValueError("y: one class only, so there is nothing to lose; pass at least two")
    if labels.max() >= n or (int(labels.max()) + 1) * n > 2**27:
        raise ValueError(
            f"y: labels reach {labels.max()} for {n} rows, more than can be learned or held; "
            "number the classes 0 .. K-1 (np.unique), or merge rare ones"
        )
    return labels


def _probabilities(name: str, given: Any, argument: np.ndarray, classes: int) -> np.ndarray | None:
    if given is None:
        return None
    q = inputs.real(name, given(argument) if callable(given) else given, 2)
    wrong = len(q) != len(argument) or q.shape[1] < classes
    if wrong or np.any(q < 0) or np.any(abs(q.sum(axis=1) - 1) > 1e-5):
        raise ValueError(
            f"{name}: expected probabilities of shape {(len(argument), classes)}, rows summing to "
            f"1, got {q.shape}"
        )
    return q / q.sum(axis=1, keepdims=True)


def _of_labels(q: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.minimum(q[np.arange(len(y)), y], 1.0)


def _split_loss(data: Data, q: Any, family: Family, codes: np.ndarray) -> tuple[np.ndarray, float]:
    """(losses on the held-out rows, their ceiling)."""
    test, T = data.test, data.y[data.test]
    if q is None:
        fit = family.fit(codes[~test], one_hot(data.y[~test], data.classes))
        return paired.mixed(_of_labels(fit(codes[test]), T), data.classes, SHARE)
    return paired.mixed(_of_labels(q[test], T), data.classes, SHARE)


def _cross_fitted(data: Data, q: Any, family: Family, codes: np.ndarray) -> tuple[np.ndarray, str]:
    """(a loss for every row, by a predictor that has not seen it, the family)."""
    if q is not None:
        return paired.mixed(_of_labels(q, data.y), data.classes, SHARE)[0], "given"
    out = np.empty(len(data.y))
    for k in range(FOLDS):
        now = data.fold == k
        if now.any():
            fit = family.fit(codes[~now], one_hot(data.y[~now], data.classes))
            p = _of_labels(fit(codes[now]), data.y[now])
            out[now] = paired.mixed(p, data.classes, SHARE)[0]
    return out, family.name


def _entropy(data: Data) -> Value:
    p = np.bincount(data.y) / len(data.y)
    p = p[p > 0]
    note = "of the empirical frequencies, biased down by about (K-1)/2n"
    return Value("H(Y)", float(-np.sum(p * np.log(p))), "estimate", note=note)


def _risks(certified: Any, fitted: Any, names: dict[str, str], delta: float) -> list[Value]:
    """Each risk and each gap twice: certified, and cross-fitted."""
    pairs = [("R_X", "X", None), ("R_U", "U", None), ("encoder gap R_U - R_X", "U", "X")]
    if "decoder" in certified:
        pairs += [("R_decoder", "decoder", None),
                  ("decoder gap R_decoder - R_U", "decoder", "U")]  # fmt: skip
    out, each = [], 0.75 * delta / len(pairs)
    for name, one, other in pairs:
        family = names[one] if other is None else f"{names[one]} - {names[other]}"
        a, clip = certified[one]
        b = np.zeros_like(a) if other is None else certified[other][0]
        low, high = paired.interval(a, b, clip=clip, delta=each)
        mean = float(np.mean(a - b))
        out.append(Value(name, mean, "confidence", low, high, each, family, "one split"))
        c = fitted[one][0] - (0.0 if other is None else fitted[other][0])
        half = NORMAL * float(np.std(c)) / np.sqrt(len(c))
        out.append(Value(f"{name}, cross-fitted", float(np.mean(c)), "estimate",
                         float(np.mean(c)) - half, float(np.mean(c)) + half, 0.05, family,
                         "asymptotic 95 %"))  # fmt: skip
    if "decoder" in certified:
        x, u, d = (float(np.mean(certified[k][0])) for k in ("X", "U", "decoder"))
        out.append(Value("R_decoder - R_X - both gaps", d - x - (u - x) - (d - u), "identity"))
    return out


def _bounds(data: Data, certified: Any, names: dict[str, str], delta: float) -> list[Value]:
    """What is certain of I(X;Y|U): from above R_U - H(Y|X), from below a bound over all tables."""
    (loss, clip), test, K = certified["U"], data.test, data.classes
    above = paired.interval(loss, np.zeros_like(loss), clip=clip, delta=delta)[1]
    X, noise, note = tied(data.X), 0.0, UPPER
    if X.max() < len(X) // 10:
        noise = table_loss.lower(X[test], data.y[test], classes=K, delta=delta)
        note = f"X is discrete: R_U from above minus H(Y|X) >= {noise:.4g} from below"
    above = max(0.0, above - noise)
    rows = [Value("I(X;Y|U), at most", above, "confidence", 0.0, above, 2 * delta, names["U"],
                  note)]  # fmt: skip
    if not data.discrete:
        return [*rows, Value("I(X;Y|U), at least", 0.0, "bound", 0.0, note=NONE)]
    loss, clip = certified["X"]
    below = table_loss.lower(
        data.read[test], data.y[test], classes=K, delta=delta, losses=loss, clip=clip
    )
    note = "uniform over tables; the encoder must not have been fitted to these rows"
    return [*rows, Value("I(X;Y|U), at least", below, "confidence", below, delta=delta,
                         family=names["X"], note=note)]  # fmt: skip


def _layers(data: Data, layers: Sequence[Any], first: np.ndarray | None) -> list[Value]:
    """Ties, exactly, and what a logistic probe reads less than from the layer before."""
    out, family, whole_ = [], Logistic(), int(tied(data.X).max()) + 1
    before = _cross_fitted(data, None, family, data.X)[0] if first is None else first
    for i, layer in enumerate(layers):
        Z = inputs.real(f"layers[{i}]", layer(data.X) if callable(layer) else layer)
        if len(Z) != len(data.y):
            raise ValueError(f"layers[{i}]: {len(Z)} rows, expected {len(data.y)}")
        Z = Z.reshape(len(Z), -1)
        many = int(tied(Z).max()) + 1
        note = "injective on these rows: no Shannon loss can be seen"
        if many < whole_:
            note = f"{whole_ - many} rows tie that differed in X"
        out.append(Value(f"layer {i + 1}: distinct rows", float(many), "identity", note=note))
        now = _cross_fitted(data, None, family, Z)[0]
        change, half = now - before, NORMAL * float(np.std(now - before)) / np.sqrt(len(now))
        mean = float(np.mean(change))
        out.append(Value(f"layer {i + 1}: usable loss", mean, "estimate", mean - half, mean + half,
                         0.05, family.name, "asymptotic 95 %; no chain rule"))  # fmt: skip
        before = now
    return out
