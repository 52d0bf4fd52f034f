"""Which half is to blame? A subspace encoder learned from N tasks, a decoder of depth L.

python examples/blame.py
"""

import numpy as np

import twofold
from twofold import decoder, encoder, measures, tasks, theorems

LAW = {
    "dim": 16, "rank": 3, "prompt": 64, "noise": 0.2, "ridge": 1e-3, "target": "coefficients",
}  # fmt: skip


def learned(training):
    """Top_r of the covariance of estimated coefficients, and one preconditioner for all tasks."""
    beta = encoder.ridge.estimate(training.prompt)
    U = encoder.subspace.top(encoder.subspace.empty(LAW["dim"]).add(beta).S, LAW["rank"])
    return U, np.linalg.inv(np.mean(U.T @ training.H @ U, axis=0))


if __name__ == "__main__":
    held_out = tasks.regression.sample(seed=0, count=1000, **LAW)
    U_star = held_out.facts["loading"]
    print(f"{'tasks':>6}{'depth':>6}{'total':>11}{'floor':>11}{'decoder':>11}{'cross':>11}"
          f"{'sin2(U, U*)':>13}")  # fmt: skip
    for count, depth in ((8, 2), (8, 10), (1000, 2), (1000, 10)):
        U, P = learned(tasks.regression.sample(seed=1, count=count, **LAW))
        solver = decoder.richardson.Richardson(P, depth)
        model = twofold.EncoderDecoder(encoder.subspace.Subspace(U), solver)
        anatomy = twofold.take_apart(model, held_out)
        parts = "".join(f"{anatomy.mean[p]:>11.2e}" for p in ("total", "floor", "decoder", "cross"))
        print(f"{count:>6}{depth:>6}{parts}{measures.overlaps.sin2_norm(U, U_star):>13.1e}")

    proof = theorems.risk_decomposition.certify(anatomy)
    print(f"{proof.name}: {proof.counts}, rounding at most {proof.rounding.max():.0e}")
    for proof in twofold.certify(anatomy, delta=0.05, clip=1.0):
        if proof.kind == "confidence":
            print(f"{proof.name}: {proof.value[0]:.4f}, at most {proof.bound[0]:.4f}")
