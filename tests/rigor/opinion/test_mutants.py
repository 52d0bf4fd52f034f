"""Each route with one thing wrong: it no longer agrees with the truth, or lets a lie pass."""

import copy
import itertools
import sys
import types

import pytest

from twofold.rigor.opinion import standalone

# What to change in the joined file, and the certificates that must notice.
HONEST = [
    ("total += (joined + stein([turned", "total += (joined - stein([turned", "Wick risk"),
    ("M ** (len(rows) - n)", "M ** (len(rows) - n + 1)", "Wick risk"),
    ("pairs * matrix(a) * V for", "pairs * V for", "weak-form bias"),
    ("matrix(f) - pairs * first", "matrix(f) + pairs * first", "weak-form bias"),
    ("- v + solve(H, M * v) * lam", "- v - solve(H, M * v) * lam", "weak-form bias"),
    ("/ (1 - y * d) * frobenius(query)", "/ (1 + y * d)", "encoded floor"),
    ("e - PH * e * alpha", "e - PH * e * beta", "Chebyshev identity"),
    ("(x - before) * beta, x", "(x - before) * alpha, x", "Chebyshev envelope"),
    ("1 + L * (1 + q)", "1 + 9 * L * (1 + q)", "Heavy ball envelope"),
    ("((M - m) / (M + m)) ** L", "((M - m) / (M + m)) ** (L + 1)", "Scaled Richardson envelope"),
    ("2 * q**L / (1 +", "q**L / (1 +", "Chebyshev envelope"),
    ("root(inner(r, p * r) / m)", "root(inner(r, r) / m)", "Energy bound"),
    ("x = x + p * (c - h * x)", "x = x + p * (c + h * x)", "Richardson identity"),
    ("x = x + p * (c - h * x)", "x = x + h * (c - p * x)", "Richardson rate"),
    ("frobenius(x - dagger + moved)", "frobenius(x + dagger + moved)", "Richardson identity"),
    ("least * size, scale", "least, scale", "Richardson rate"),
    ("return rho**depth, (", "return rho ** (depth - 1), (", "Richardson rate"),
    ("out = out * T if digit", "out = out * out if digit", "Power bound"),
    ("eye(len(H)) - matrix(P) * matrix(H)", "eye(len(H)) - matrix(H) * matrix(P)",
     "Richardson identity"),
    ("right * top / N", "right * top", "Decoder bound"),
    ("left + inner(e, S * e)", "left + inner(e, e)", "Decoder bound, power"),
    ("slow = slow * T", "slow = slow * slow", "Trace risk"),
    ("E = E * m + matrix(drift)", "E = E * m - matrix(drift)", "tracking"),
    ("m * Pi\n", "Pi * m\n", "tracking"),
    ("(p + star) * c - b * 2", "(p - star) * c - b * 2", "excess_risk"),
    ("inner(D * c, D)", "inner(D, D)", "excess_risk"),
    ("c * 2 * inner(a, metric * b)", "c * inner(a, metric * b)", "risk decomposition"),
    ("c * inner(a, metric * a)", "c * inner(a, a)", "risk decomposition"),
    ("2 * (floor + decoder), size", "floor + decoder, size", "factor two"),
    ("star - u * (u.transpose() * star)", "star - u * u.transpose() * u", "subspace floor"),
    ("shared_norm(X) * shared_norm(Z)", "shared_norm(X) * inner(M, M)", "subspace floor"),
    ("abs(2 - a - b)", "abs(2 - a + b)", "nonclosure"),
    ("- v + solve(h, v) * lam", "- v - solve(h, v) * lam", "ridge bias"),
    ("X - Y + Y * D * Y", "X - Y - Y * D * Y", "resolvent expansion"),
    ("y * y * d / (1 - y * d)", "y * d / (1 - y * d)", "resolvent bound"),
    ("error = contraction(P, h), x - moved", "error = contraction(P, h), x", "Overlap log"),
    ("moved = T * moved\n        left", "moved = T * T * moved\n        left", "Overlap log"),
    ("moved - before - second", "moved - before", "Balance"),
    ("z = z + heads.at(r.entries())[0] * r", "z = z - heads.at(r.entries())[0] * r",
     "Local contraction"),
    ("e = [[x.exp() for x in row]", "e = [[x.cosh() for x in row]", "Local contraction"),
    ("heads.at(c.entries())[1] * h", "heads.at(c.entries())[0] * h", "Local contraction, Jacobian"),
    ("two / 4 * (o * (p + two * g * R) + two * oq)", "two / 8 * (o * p + two * oq)",
     "Local contraction"),
    ("frobenius(one - two) / 2", "frobenius(one - two) / 4", "No one matrix"),
    ("inner(T, T * S)", "inner(T, S * S)", "Spectral obstruction, risk"),
    ("- 2 * inner(first, eye", "- inner(first, eye", "Spectral obstruction, risk"),
    ("known - p * (h * known)", "known - p * known", "Spectral obstruction, gradient"),
    ("b**twice for a, b", "b ** int(s) for a, b", "encoder_rate"),
    ("max(mu) ** twice * start", "min(mu) ** twice * start", "encoder_rate"),
    ("2 * norm(B - A), one.last", "4 * norm(B - A), one.last", "Davis-Kahan, population gap"),
    ("max(two.last - one.after", "min(two.last - two.last", "Davis-Kahan, separation"),
    ("norm(A * two.V - two.V * M), least", "norm(A * two.V), least", "Davis-Kahan, residual"),
    ("one.V * (one.V.transpose() * two.V)", "one.V * one.V.transpose() * one.V",
     "Davis-Kahan, separation"),
]  # fmt: skip
# What to drop, the certificate, and the forgery that then goes unseen.
FORGED = [
    ('at_most(sides.right, limit + slack, "right side"', "Richardson rate", {"bound": 1 - 1e-9}),
    ('at_most(bound, most + rounding + slack, "stored', "Power bound", {"bound": 2}),
    ('at_most(abs(value - sides.left), rounding + slack', "factor two", {"value": 1 - 1e-6}),
    ('at_most(abs(value - sides.left), rounding, "stored', "nonclosure", {"value": 1 + 1e-6}),
    ('at_most(abs(bound - sides.right), rounding', "nonclosure", {"bound": 1 - 1e-6}),
    ('at_most(abs(value), noise', "tracking", {"value": 1e6, "bound": 1e7}),
    ('at_most(bound, gap + VACUOUS * scale', "tracking", {"bound": 1e14}),
    ('at_most(rounding, VACUOUS', "factor two", {"rounding": 1e20, "value": 0.5}),
]  # fmt: skip
COUNT = itertools.count()


def mutant(old, new):
    """The stand-alone program with one text changed, as a module."""
    text = standalone.program()
    assert text.count(old) >= 1, old
    module = types.ModuleType(f"mutant_{next(COUNT)}")
    sys.modules[module.__name__] = module  # dataclasses look their module up
    try:
        exec(compile(text.replace(old, new), module.__name__, "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return module


def forged(record, factors):
    out = copy.deepcopy(record)
    for field, factor in factors.items():
        out[field][0] *= factor
    return out


@pytest.mark.parametrize("old, new, name", HONEST)
def test_a_wrong_formula_disagrees_with_the_truth_or_agrees_with_a_lie(make, old, new, name):
    module, agreed = mutant(old, new), []
    for flavour in ("random", "attained"):
        record, inputs = make(name, flavour)
        outcome = module.redo(record, inputs)
        agreed.append(not outcome.disagrees and not outcome.undecided)
    record, inputs = make(name)
    lie = forged(record, {"bound": 1 - 1e-9})
    fooled = record["kind"] == "bound" and not module.redo(lie, inputs).disagrees
    assert fooled or not all(agreed)


@pytest.mark.parametrize("line, name, factors", FORGED)
def test_every_comparison_is_needed(make, line, name, factors):
    record, inputs = make(name)
    lie = forged(record, factors)
    assert mutant(line, line).redo(lie, inputs).disagrees
    blind = mutant(line, "(lambda *_: None)" + line[len("at_most") :])
    assert not blind.redo(lie, inputs).disagrees


def test_the_joined_file_defines_every_name_once():
    names = [
        line.split("(")[0].split(":")[0].split("=")[0].strip()
        for line in standalone.program().splitlines()
        if line[:4] in ("def ", "clas") or (line[:1].isupper() and "=" in line)
    ]
    assert len(set(names)) == len(names) > 60
