"""Davis-Kahan in its true forms, and the false one that is often printed.

python examples/davis_kahan.py
"""

import numpy as np

from twofold import measures, theorems


def counterexample():
    """Two dimensions, one top eigenvector, the estimate turned away from it by 40 degrees."""
    sigma = np.diag([1.0, 0.0])
    angle = np.deg2rad(40.0)
    # The smallest perturbation that turns the top eigenvector so far: sin 2 Theta = 2 |E| / gap.
    half = np.sin(2 * angle) / 2
    E = half * np.array([[-np.sin(2 * angle), np.cos(2 * angle)],
                         [np.cos(2 * angle), np.sin(2 * angle)]])  # fmt: skip
    return sigma, sigma + E


def sample_covariances():
    """100 sample covariances of 200 Gaussian vectors with three strong directions of eight."""
    sigma = np.diag([4.0, 3.0, 2.0, 0.5, 0.4, 0.3, 0.2, 0.1])
    X = np.random.default_rng(0).standard_normal((100, 200, 8)) * np.sqrt(np.diag(sigma))
    return sigma, np.swapaxes(X, 1, 2) @ X / 200


if __name__ == "__main__":
    sigma, estimate = counterexample()
    U, V = (np.linalg.eigh(S)[1][:, -1:] for S in (sigma, estimate))
    sine = float(np.sqrt(measures.overlaps.sin2_norm(U, V)))
    size = np.linalg.norm(estimate - sigma, 2)
    false = float(theorems.davis_kahan.seed_bound(size, 1.0))
    print(f"2 x 2: sin Theta = {sine:.4f}, |E| / gap = {false:.4f}: "
          f"{'refuted' if sine > false else 'not refuted'}")  # fmt: skip
    for proof in theorems.davis_kahan.certify(sigma, estimate[None], 1):
        said = f"{proof.bound[0]:.4f}" if proof.verdict[0] != "silent" else proof.reason[0]
        print(f"  {proof.name:<28}{proof.verdict[0]}: {said}")

    sigma, estimates = sample_covariances()
    print(f"{len(estimates)} sample covariances, the three strong directions of eight:")
    for proof in theorems.davis_kahan.certify(sigma, estimates, 3):
        sharp = np.nanmedian(proof.tightness)
        print(f"  {proof.name:<28}{proof.counts} tightness {sharp:.2f}")
