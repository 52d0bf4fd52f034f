"""One certificate of each kind that is redone, with its inputs: random, attained and hard ones."""

from dataclasses import replace

import numpy as np
import pytest

from twofold.certificate import fingerprint
from twofold.decoder.attention import Attention
from twofold.encoder.weak_form import WeakForm
from twofold.measures.squared_error import split
from twofold.rigor.pencil import pencil_bounds
from twofold.tasks import families, pde
from twofold.tasks.affine import Dense
from twofold.theorems import (
    balance,
    davis_kahan,
    decoder_bound,
    encoded_floor,
    encoder_rate,
    energy_bound,
    excess_risk,
    factor_two,
    global_matrix,
    information_identity,
    local_contraction,
    nonclosure,
    obstruction,
    polynomial_identity,
    power,
    primal_dual,
    reconstruction,
    resolvent,
    richardson,
    ridge_bias,
    risk_decomposition,
    semi_iteration,
    subspace_floor,
    trace_risk,
    tracking,
    weak_bias,
    wick_risk,
)
from twofold.training import trajectory

FORMS = ("separation", "population gap", "residual")


def symmetric(A):
    return (A + np.swapaxes(A, -1, -2)) / 2


def definite(rng, N, K, condition=10.0):
    Q = np.linalg.qr(rng.standard_normal((N, K, K)))[0]
    return symmetric((Q * np.geomspace(1, 1 / condition, K)) @ np.swapaxes(Q, 1, 2))


def iteration(rng, flavour, N=6, K=5, depth=6):
    H, d = definite(rng, N, K), rng.standard_normal((N, K))
    P = 0.9 * np.eye(K) + 0.1 * rng.standard_normal((K, K))
    if flavour == "attained":
        H, P = np.broadcast_to(0.7 * np.eye(K), H.shape).copy(), 0.3 * np.eye(K)
    if flavour == "hard":
        H, d = 1e60 * definite(rng, N, K, 1e8), 1e-60 * d
        P = np.array([*np.linalg.inv(H[: N // 2]), *rng.standard_normal((N - N // 2, K, K)) / 1e60])
    return {"P": P, "H": H, "d": d, "depth": np.int64(depth)}


def anatomy(rng, flavour, N=8, K=4):
    truth = rng.standard_normal((N, K)) * 10.0 ** rng.uniform(-3, 3, (N, 1))
    best = truth * (1 + 0.1 * rng.standard_normal((N, K)))
    answer = best + 0.1 * rng.standard_normal((N, K)) * truth
    S = None if flavour == "hard" else definite(rng, 1, K)[0]
    if flavour == "attained":
        truth, best, answer = np.zeros((N, K)), np.ones((N, K)), np.full((N, K), 2.0)
    return answer, best, truth, S, 1 / K


class Split:
    """As much of an anatomy as its theorems read."""

    def __init__(self, answer, best, truth, metric, scale):
        self.answer, self.best, self.truth, self.metric = answer, best, truth, metric
        self.scale, self.parts = scale, split(answer, best, truth, metric, scale)
        self.applies, self.reason = np.ones(len(truth), bool), ("",) * len(truth)

    def __len__(self):
        return len(self.truth)


def split_case(rule):
    def make(rng, flavour):
        answer, best, truth, S, scale = anatomy(rng, flavour)
        metric = np.zeros(0) if S is None else S
        given = {"answer": answer, "best": best, "truth": truth, "metric": metric}
        return rule.certify(Split(answer, best, truth, S, scale)), given | {"scale": scale}

    return make


def iterated_case(prove):
    def make(rng, flavour):
        given = iteration(rng, flavour)
        return prove(**given), given

    return make


def batch_case(prove):
    def make(rng, flavour):
        given = iteration(rng, flavour)
        sigma = np.eye(5) if flavour == "attained" else definite(rng, 1, 5)[0]
        proof = prove(**given, sigma=sigma)
        given |= {"sigma": sigma}
        return replace(proof, source=fingerprint(*given.values())), given

    return make


def trace_case(rng, flavour):
    given = {k: v for k, v in iteration(rng, flavour).items() if k != "d"}
    prior = definite(rng, 1, 5)[0] if flavour == "random" else np.linspace(0.1, 1, 5)
    return trace_risk.certify(**given, prior=prior), given | {"prior": prior}


def tracking_case(rng, flavour, N=5, S=6, m=3, r=4):
    E0, D = rng.standard_normal((N, m, r)), rng.standard_normal((N, S, m, r))
    C = symmetric(rng.standard_normal((N, S, r, r)))
    if flavour == "attained":
        D = 0 * D
    if flavour == "hard":
        E0, C, D = 1e40 * E0, 10 * C[:, :1], 1e-40 * D[:, :1]
    return tracking.certify(E0, C, D, eta=0.3), {"eta": 0.3, "E0": E0, "C": C, "D": D}


def excess_case(rng, flavour, N=6, m=3, K=4):
    C, star = definite(rng, N, K), rng.standard_normal((N, m, K))
    P = star + 10.0 ** (-6 if flavour == "hard" else 0) * rng.standard_normal((N, m, K))
    given = {"P": P, "P_star": star, "C": C, "B": star @ C}
    return excess_risk.certify(*given.values()), given


def subspace_case(rng, flavour, N=6, K=7, r=3):
    U = np.linalg.qr(rng.standard_normal((N, K, r)))[0]
    star = np.linalg.qr(rng.standard_normal((K, r)))[0]
    X, Z = definite(rng, 1, K)[0], definite(rng, 1, r)[0]
    if flavour == "attained":
        X, Z = 2 * np.eye(K), 3 * np.eye(r)
    if flavour == "hard":
        U = np.broadcast_to(star, U.shape) + 1e-9 * U
    return subspace_floor.certify(U, star, X, Z), {
        "U": U, "U_star": star, "sigma_x": X, "sigma_z": Z}  # fmt: skip


def pair_case(rng, flavour):
    x, y = rng.uniform(0, 2.2, (2, 30))
    if flavour == "hard":
        x, y = x * 1e-50, y * 1e50
    return nonclosure.certify(x, y), {"x": x, "y": y}


def ridge_case(rng, flavour, N=6, r=4):
    H, z = definite(rng, N, r, 1e7 if flavour == "hard" else 10.0), rng.standard_normal((N, r))
    return ridge_bias.certify(H, z, 0.1), {"H": H, "z": z, "ridge": 0.1}


def resolvent_case(which):
    def make(rng, flavour, N=5, K=4):
        H = definite(rng, 1, K, 1e5 if flavour == "hard" else 10.0)[0]
        D = symmetric(rng.standard_normal((N, K, K)))
        D *= 0.4 * np.linalg.eigvalsh(H)[0] / np.linalg.norm(D, 2, axis=(1, 2))[:, None, None]
        if flavour == "attained":
            H, D = np.diag([4.0, 3, 2, 1]), np.zeros((N, K, K))
            D[:, 3, 3] = -np.linspace(0.1, 0.9, N)
        given = {"H_M": H + D, "H_inf": H}
        return resolvent.certify(**given)[which], given

    return make


def rate_case(rng, flavour, K=4, r=3):
    steps = np.array([0, 1, 2, 5, 30, 1000, 10**6])
    C = 0.7 * np.eye(r) if flavour == "attained" else definite(rng, 1, r)[0]
    eta = 1.9 if flavour == "hard" else 0.5
    G, B = rng.standard_normal((2, K, r))
    path = trajectory.encoder(G, C, B, eta=eta, steps=steps)
    return encoder_rate.certify(path), {
        "s": path.s, "modes": path.modes, "values": path.basis.values, "eta": eta}  # fmt: skip


def angle_case(form):
    def make(rng, flavour, N=4, K=6, r=2):
        values = np.array([3.0, 2, 0.5, 0.4, 0.3, 0.3])
        Q = np.linalg.qr(rng.standard_normal((K, K)))[0]
        sigma = symmetric((Q * values) @ Q.T)
        estimate = sigma + 0.1 * symmetric(rng.standard_normal((N, K, K)))
        if flavour == "hard":
            estimate = sigma + 1e-7 * symmetric(rng.standard_normal((N, K, K)))
        if flavour == "attained":
            angle, r = np.linspace(0.1, 0.7, N), 1
            sigma = np.diag([1.0, -1.0])
            c, s = np.cos(2 * angle), np.sin(2 * angle)
            estimate = np.array([[c * c, c * s], [c * s, s * s - 1]]).transpose(2, 0, 1)
            estimate = np.array([[c, s], [s, -c]]).transpose(2, 0, 1).copy()
        given = {"sigma": sigma, "estimate": estimate, "rank": np.int64(r)}
        return davis_kahan.certify(sigma, estimate, r)[FORMS.index(form)], given

    return make


def reordered_case(which):
    def make(rng, flavour, N=5, K=4):
        H, prior = definite(rng, N, K), definite(rng, 1, K)[0]
        P = np.linalg.inv(H) + 0.1 * rng.standard_normal((N, K, K))
        if flavour == "attained":
            H, prior = np.broadcast_to(np.diag([4.0, 3, 2, 1]), (N, K, K)).copy(), np.eye(1)
            P = np.linalg.inv(H)
        if flavour == "hard":
            P, H = 1e-40 * P, 1e40 * H
        given = {"P": P, "H": H, "order": np.arange(K)[::-1].copy(), "prior": prior}
        made = obstruction.certify(P, H, given["order"], None if prior.size == 1 else prior)
        return made[which], given

    return make


def log_case(rng, flavour, S=3):
    given = iteration(rng, "random" if flavour == "hard" else flavour)
    if flavour == "hard":
        given |= {"H": 1e40 * given["H"], "P": 1e-40 * given["P"], "d": 1e20 * given["d"]}
    P = given["P"] * np.linspace(0.5, 1, S)[:, None, None]
    given = {"P": P, "H": given["H"], "d": given["d"], "depth": given["depth"]}
    return reconstruction.certify(**given), given


def interval_case(form, rule=semi_iteration):
    def make(rng, flavour, N=6, K=4, depth=6):
        P, H = definite(rng, 1, K)[0], definite(rng, N, K, 1e4 if flavour == "hard" else 10.0)
        d = rng.standard_normal((N, K))
        if flavour == "attained":
            P, H, d[:] = np.eye(K), np.broadcast_to(np.diag([4.0, 3, 2, 1]), H.shape).copy(), 0
            d[:, 3] = np.arange(1, N + 1)
        interval = np.stack(pencil_bounds(P, H), axis=1)
        given = {"P": P, "H": H, "d": d, "interval": interval, "depth": np.int64(depth)}
        return rule.certify(P, H, d, depth, form, interval), given

    return make


def energy_case(rng, flavour, N=6, K=4):
    P, H = definite(rng, 1, K)[0], definite(rng, N, K, 1e4 if flavour == "hard" else 10.0)
    d, x = rng.standard_normal((2, N, K))
    if flavour == "attained":
        P, H = np.eye(K), np.broadcast_to(np.diag([4.0, 3, 2, 1]), H.shape).copy()
        d, x = np.zeros((N, K)), np.zeros((N, K))
        x[:, 3] = np.arange(1, N + 1)
    given = {"P": P, "H": H, "d": d, "x": x, "least": pencil_bounds(P, H)[0]}
    return energy_bound.certify(**given), given


def posterior_case(rng, flavour, N=6, M=5, R=4, Q=3):
    Phi, y = rng.standard_normal((N, M, R)), rng.standard_normal((N, M))
    given = {"Phi": Phi, "y": y, "Phi_q": rng.standard_normal((N, Q, R)),
             "prior": rng.uniform(0.1, 1, R), "noise": np.float64(0.1)}  # fmt: skip
    if flavour == "attained":
        given |= {"Phi": np.broadcast_to(np.eye(M)[:, :R], (N, M, R)), "prior": np.ones(R)}
        given |= {"noise": np.float64(1.0)}
    if flavour == "hard":
        given |= {"Phi": 1e40 * Phi, "prior": np.geomspace(1, 1e-12, R), "y": 1e30 * y}
        given |= {"noise": np.float64(1e36)}
    given = {name: np.array(x) for name, x in given.items()}
    return primal_dual.certify(**given), given


def balance_case(rng, flavour, N=5, m=3, K=4):
    q, k = rng.standard_normal((2, N, m, K))
    G = rng.standard_normal((N, K, K))
    if flavour == "attained":
        k = q.copy()
    if flavour == "hard":
        q, k, G = 1e40 * q, 1e-40 * k, 1e30 * G
    given = {"query": q, "key": k, "G": G, "eta": 0.1}
    return balance.certify(**given), given


def prompts(rng, flavour, N=5):
    """Pairs of a dense family, the encoder and the latents."""
    family = families.gaussian(seed=3, dim=5, latent=3)
    if flavour == "attained":
        family = Dense(np.array([2 * np.eye(5), np.eye(5)]))
    tasks = pde.sample(family, seed=int(rng.integers(99)), count=N, pairs=2)
    probes = rng.standard_normal((3, 5)) if flavour == "hard" else None
    ridge = {"attained": 1.0, "random": 1e-3, "hard": 1e-7}[flavour]
    return tasks, WeakForm(family, probes, ridge, gram=flavour == "hard")


def weak_case(rng, flavour):
    tasks, encoder = prompts(rng, flavour)
    probes = np.zeros((0, 0)) if encoder.probes is None else encoder.probes
    return weak_bias.certify(encoder, tasks.prompt, tasks.latent), {
        "A": encoder.operators.A, "u": tasks.u, "f": tasks.f, "probes": probes,
        "z": tasks.latent, "ridge": encoder.ridge, "metric": encoder.metric,
    }  # fmt: skip


def floor_case(rng, flavour):
    tasks, encoder = prompts(rng, flavour)
    A, f = encoder.operators.dense(tasks.latent), tasks.query
    A_enc = encoder(tasks.prompt).dense()
    if flavour == "attained":
        A = np.broadcast_to(2 * np.eye(5), A.shape).copy()
        A_enc = A - 0.25 * np.eye(5)
    given = {"A_enc": A_enc, "A": A, "f": f}
    return encoded_floor.certify(**given), given


def attention_model(rng, K=4):
    kind = ("linear", "softmax")[rng.integers(2)]  # seed 0 has the softmax
    q, k = 0.3 * rng.standard_normal((2, 2, 2, K + 1))
    v, o = 0.4 * rng.standard_normal((2, 2, K))
    return Attention(q, k, v, o, np.full(K, 0.9), kind, depth=3)


def attention_case(which):
    def make(rng, flavour, N=5, K=4):
        model = attention_model(rng)
        H, d = definite(rng, N, K, 1.5), 0.02 * rng.standard_normal((N, K))
        if flavour == "attained":
            H = np.broadcast_to(np.eye(K), H.shape).copy()
            model = Attention(*np.zeros((2, 1, 1, K + 1)), *np.zeros((2, 1, K)), np.full(K, 0.5),
                              depth=3)  # fmt: skip
        if flavour == "hard":
            H, blind = 1e20 * H, model.at_amplitude(0.0)
            model = Attention(blind.query, blind.key, blind.value, 1e-20 * blind.output,
                              1e-20 * blind.diagonal, blind.kind, depth=3)  # fmt: skip
        given = {**model.scores.arrays(), "H": H, "d": d, "depth": np.int64(3)}
        return local_contraction.certify(model, H, d)[which], given

    return make


def code_case(form):
    def make(rng, flavour, N=5, S=6, Y=3):
        p_x, p = rng.dirichlet(np.ones(S), N), rng.dirichlet(np.ones(Y), (N, S))
        finer = np.array([0, 0, 1, 2, 2, 3])
        q = rng.dirichlet(np.ones(Y), (N, 4))
        if flavour == "attained":
            p = np.full((S, Y), 1 / 4)
            q = p[:4]
        if flavour == "hard":
            p, q = p**20, q**6
            p[:, 0, 0] = 0
        given = {"p_x": p_x, "p": p, "encoder": finer, "decoder": q}
        if form < 3:
            return information_identity.certify(*given.values())[form], given
        given = {"p_x": p_x, "p": p, "finer": finer, "coarser": finer // 2}
        return information_identity.certify_layers(*given.values())[0], given

    return make


def matrix_case(rng, flavour, N=5, K=4):
    model = attention_model(rng)
    r, other = rng.standard_normal((2, N, K))
    if flavour == "hard":
        r, other = 1e-6 * r, 0 * other
    P = np.eye(K)
    if flavour == "attained":
        J = model.jacobian(np.array([r[0], other[0]]))
        P, r, other = J.mean(axis=0), np.repeat(r[:1], N, 0), np.repeat(other[:1], N, 0)
    given = {**model.scores.arrays(), "r": r, "other": other, "P": P}
    return global_matrix.decide(model, r, other, P)[1], given


def wick_case(rng, flavour, N=4, K=3):
    p, sigma, prior = rng.uniform(-0.5, 1.5, (N, K)), rng.uniform(0.1, 1, K), rng.uniform(0.1, 2, K)
    law = {"prompt": 5, "ridge": 0.1, "depth": 2}
    if flavour == "attained":
        p, law = 0 * p, law | {"ridge": 0.0, "depth": 1}
    if flavour == "hard":
        p, sigma = 1e3 * p, 1e-6 * sigma
    proof = wick_risk.certify(p, sigma=sigma, prior=prior, **law)
    return proof, {"p": p, "sigma": sigma, "prior": prior, "law": np.array(list(law.values()))}


CASES = {
    "Local contraction": attention_case(0),
    "Local contraction, Jacobian": attention_case(1),
    "No one matrix": matrix_case,
    "Wick risk": wick_case,
    "Balance": balance_case,
    "weak-form bias": weak_case,
    "encoded floor": floor_case,
    "Information identity, risk": code_case(0),
    "Information identity, chain": code_case(1),
    "Information identity, projection": code_case(2),
    "Information identity, layers": code_case(3),
    "Overlap log": log_case,
    "Spectral obstruction, risk": reordered_case(0),
    "Spectral obstruction, gradient": reordered_case(1),
    "Scaled Richardson envelope": interval_case("scaled"),
    "Heavy ball envelope": interval_case("heavy_ball"),
    "Chebyshev envelope": interval_case("chebyshev"),
    "Scaled Richardson identity": interval_case("scaled", polynomial_identity),
    "Heavy ball identity": interval_case("heavy_ball", polynomial_identity),
    "Chebyshev identity": interval_case("chebyshev", polynomial_identity),
    "Energy bound": energy_case,
    "primal-dual": posterior_case,
    "Richardson identity": iterated_case(richardson.certify_identity),
    "Richardson rate": iterated_case(richardson.certify),
    "Power bound": iterated_case(power.certify),
    "Decoder bound": batch_case(decoder_bound.certify),
    "Decoder bound, power": batch_case(decoder_bound.certify_power),
    "Trace risk": trace_case,
    "tracking": tracking_case,
    "excess_risk": excess_case,
    "risk decomposition": split_case(risk_decomposition),
    "factor two": split_case(factor_two),
    "subspace floor": subspace_case,
    "nonclosure": pair_case,
    "ridge bias": ridge_case,
    "resolvent expansion": resolvent_case(0),
    "resolvent bound": resolvent_case(1),
    "encoder_rate": rate_case,
    **{f"Davis-Kahan, {form}": angle_case(form) for form in FORMS},
}


def made(name, flavour="random", seed=0):
    """(the record that the package writes, the inputs it was made from)."""
    proof, given = CASES[name](np.random.default_rng(seed), flavour)
    arrays = {k: np.asarray(v if np.ndim(v) or k in ("depth", "rank") else float(v))
              for k, v in given.items()}  # fmt: skip
    return proof.to_json(), arrays


@pytest.fixture
def make():
    return made
