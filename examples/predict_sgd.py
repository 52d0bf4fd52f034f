"""Predict an SGD run before running it: the risk at every outer time, and the band around it.

python examples/predict_sgd.py
"""

import numpy as np

from twofold import measures, tasks, training

ETA, BATCH, TIMES = 0.6, 512, [1, 10, 100, 400]

law = tasks.regression.regression_law(dim=16, prompt=128, condition=10.0, ridge=1e-3)
known = tasks.moments.of(law).full()


def predicted():
    """Population path and SGD band: closed forms of the law, nothing is sampled."""
    path = training.trajectory.decoder(np.zeros((16, 16)), known.C, known.B, eta=ETA, steps=TIMES)
    return path, training.band.decoder(path, tasks.moments.gradient_noise(law), batch=BATCH)


def observed():
    """The run itself: a fresh batch at each step, the risk of each state by the exact formula."""
    learner = training.online.DecoderSGD(law, eta=ETA, batch=BATCH, seed=0)
    return [state["P"] for state in training.online.states(learner, learner.start(), TIMES)]


if __name__ == "__main__":
    path, band = predicted()
    low, high = band.edges
    print(f"floor of the best single matrix: {known.floor:.5f}")
    print(f"{'s':>5}{'population':>13}{'band':>22}{'this run':>12}{'|P - P*|/|P*|':>16}")
    for i, P in enumerate(observed()):
        inside = f"{known.floor + low[i]:.5f} .. {known.floor + high[i]:.5f}"
        risk, error = known.risk(P), measures.overlaps.relative_distance(P, known.oracle)
        print(
            f"{TIMES[i]:>5}{known.floor + path.excess[i]:>13.5f}{inside:>22}{risk:>12.5f}"
            f"{float(error):>16.4f}"
        )
    print(f"the population path is proved to {path.error_bar.max():.0e}; the band, two deviations,")
    print("is an estimate and about a fifth too narrow in the first transient")
    slow = 1 - ETA * path.basis.values[path.basis.values > 0].min()
    print(f"slowest mode: a factor {slow:.3f} per step")
