"""Pick solver and depth for a law of systems by predicted risk and by the time a step takes here.

python examples/choose_solver.py
"""

import numpy as np

from twofold import Law, choose, decoder, tasks

law = Law(np.geomspace(1.0, 0.03, 32), prompt=256, ridge=1e-2)
P = np.eye(32)
interval = choose.interval(law, P)
P = P * 2 / sum(interval)  # centred at 1, as Richardson likes it

if __name__ == "__main__":
    drawn = tasks.samplers.draw(law, 500, seed=0)
    latency = choose.latencies(drawn.H, drawn.d, P, interval=choose.interval(law, P), repeats=3)
    options = choose.table(law, P, depth=40, latency=latency)
    print("micro-seconds per task to start, and per step, on this machine, now")
    for method, (start, step) in latency.items():
        print(f"  {method:11}{1e6 * start:8.1f}{1e6 * step:8.1f}")
    print(f"{'risk wanted':>12}  {'solver':11}{'steps':>6}{'predicted':>11}{'fresh tasks':>13}")
    fresh = tasks.samplers.draw(law, 2000, seed=1)
    for wanted in (1e-1, 1e-2, 1e-4, 1e-6):
        best = choose.best(options, risk=wanted)
        fixed = best.method in ("heavy_ball", "chebyshev")
        path = decoder.solve(
            fresh.H, fresh.d, P=P, method=best.method, depth=best.depth,
            interval=choose.interval(law, P) if fixed else None,
        )  # fmt: skip
        seen = np.mean((path[-1] - fresh.truth) ** 2)
        print(f"{wanted:12g}  {best.method:11}{best.depth:6}{best.risk:11.1e}{seen:13.1e}")
