"""Your own model, taken apart: any two functions will do, from NumPy, torch, JAX or scikit-learn.

python examples/own_model.py report.html
"""

import sys

import numpy as np

import twofold

law = {"dim": 16, "rank": 3, "prompt": 64, "noise": 0.2, "ridge": 1e-3, "target": "coefficients"}
tasks = twofold.tasks.regression.sample(seed=0, count=512, **law)
others = twofold.tasks.regression.sample(seed=1, count=512, **law)

# 1. An encoder that says what is to be solved, and a decoder of your own that solves it roughly.
encoder = twofold.encoder.ridge.Ridge()


def gradient_descent(system):
    """Ten plain steps; whatever is left after them is the decoder's fault, not the encoder's."""
    x = np.zeros_like(system.d)
    for _ in range(10):
        x = x + 0.9 * (system.d - system.matvec(x))
    return x


# 2. A black box: the code is what passes between the halves, nothing says what is to be solved.
#    What the code still knew is then judged by a reference, fitted on other tasks.
def code(prompt):
    """Half of what the prompt says."""
    return prompt["d"][:, :8]


def fitted(read, seen):
    """Least squares from code to truth on the tasks ``seen``."""
    weights = np.linalg.lstsq(read(seen.prompt), seen.truth, rcond=None)[0]
    return lambda code: code @ weights


def half(c):
    """A careless decoder: it takes half the code for the first coefficients."""
    return np.pad(0.5 * c, ((0, 0), (0, 8)))


if __name__ == "__main__":
    solver = twofold.take_apart(twofold.EncoderDecoder(encoder, gradient_descent), tasks)
    best = fitted(code, others)
    best.__name__ = "least squares on 512 other tasks"
    black_box = twofold.take_apart(twofold.EncoderDecoder(code, half), tasks, reference=best)
    for anatomy in (solver, black_box):
        proofs = twofold.certify(anatomy, delta=0.05)
        print(anatomy, *(f"  {p.name}: {p.counts}" for p in proofs), sep="\n", end="\n\n")
    if len(sys.argv) > 1:
        print(twofold.write_report(solver, twofold.certify(solver), sys.argv[1]))
