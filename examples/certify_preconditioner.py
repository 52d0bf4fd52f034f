"""Certify a frozen preconditioner: how much does depth L leave, on each of these systems?

Put your own arrays in place of P, H (N, K, K) and d (N, K).
python examples/certify_preconditioner.py
"""

import numpy as np

from twofold import measures, rigor, tasks, theorems

DEPTH = 16


def batch():
    """Sampled prompts and the best single matrix for their law."""
    drawn = tasks.regression.sample(
        seed=0, dim=32, prompt=256, condition=30.0, ridge=1e-3, count=500
    )
    return tasks.moments.of(drawn.facts["law"]).full().oracle, drawn.H, drawn.d


def line(proof):
    """Name, verdicts and how sharp the bound is."""
    tight = np.nanmedian(proof.tightness)
    return f"  {proof.name:<22}{str(proof.counts):<48}tightness {tight:.1e}"


if __name__ == "__main__":
    P, H, d = batch()
    rho, power = rigor.contraction_upper(P, H), rigor.power_upper(P, H, DEPTH)
    radius = measures.spectra.sample_contraction(P, H).radius
    print(f"|I - PH|      proved, mean {rho.mean():.3f}, worst {rho.max():.3f}")
    print(f"radius        measured, mean {radius.mean():.3f}, worst {radius.max():.3f}")
    print(f"rho^{DEPTH}        worst {np.max(rho**DEPTH):.1e}")
    print(f"|(I - PH)^{DEPTH}| proved, worst {power.max():.1e}")

    print(f"after {DEPTH} steps, on {len(d)} systems:")
    print(line(theorems.richardson.certify(P, H, d, DEPTH)))
    print(line(theorems.power.certify(P, H, d, DEPTH)))

    x, radius = rigor.solve(H, d)
    size = np.linalg.norm(x, axis=1)
    print(f"the exact solutions are known to {np.max(radius / size):.0e} of their size")
    risk, slack = theorems.trace_risk.risk(P, H, DEPTH)
    print(f"risk for x ~ N(0, I): mean {risk.mean():.2e}, rounding below {slack.max():.0e}")
