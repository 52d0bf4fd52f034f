"""An upper bound on your held-out risk, from nothing but the losses.

python examples/held_out_bound.py [losses.npy]
"""

import sys

import numpy as np

from twofold import theorems

CLIP, DELTA = 1.0, 0.05  # the clip is fixed before the losses are seen, in their unit


def bounds(losses):
    """Three bounds, each at the same delta, and what no valid method undercuts."""
    n = len(losses)
    return {
        "empirical Bernstein": theorems.bernstein.upper(losses, clip=CLIP, delta=DELTA),
        "betting": theorems.betting.upper(losses, clip=CLIP, delta=DELTA),
        "betting, best of 10 checkpoints": theorems.betting.upper(
            losses, clip=CLIP, delta=DELTA, family=10
        ),
        "floor of any method": theorems.betting.floor(n, clip=CLIP, delta=DELTA),
    }


if __name__ == "__main__":
    if len(sys.argv) > 1:
        losses = np.load(sys.argv[1])
    else:
        losses = np.random.default_rng(0).exponential(0.05, 512)
    print(f"{len(losses)} losses, mean {losses.mean():.4f}; with probability {1 - DELTA:g}:")
    for name, bound in bounds(losses).items():
        print(f"  {name:<32}{bound:.4f}")

    # All of these bound the mean of min(loss, clip). What the clip hides costs a delta of its own.
    tail = theorems.tail.upper(losses, clip=CLIP, delta=DELTA)
    print(f"  P(loss > {CLIP:g}) is at most{'':<11}{tail:.4f}")

    # Watching a growing sample: a bound for every t at once, so stop whenever you like.
    path = theorems.betting.running(losses, clip=CLIP, delta=DELTA)
    below = np.flatnonzero(path < 0.1)
    print(f"below 0.1 from loss {below[0] + 1} on" if len(below) else "never below 0.1")
