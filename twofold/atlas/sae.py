"""Sparse autoencoders of other tools, read: SAELens and sparsify folders. Pickles are refused.

Their own feed-forward encoder is here as well, so that what it misses can be measured.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from twofold.rigor import inputs
from twofold.store import files, tensors


@dataclass(frozen=True, eq=False)
class SAE:
    """W_enc (p,K), W_dec (K,p), the biases; ``threshold`` of a JumpReLU, ``k`` of a top-k."""

    W_enc: Float[np.ndarray, "p K"]
    W_dec: Float[np.ndarray, "K p"]
    b_enc: Float[np.ndarray, " K"]
    b_dec: Float[np.ndarray, " p"]
    threshold: Float[np.ndarray, " K"] | None = None
    k: int | None = None
    centred: bool = True

    def encode(self, rows: Any) -> Float[np.ndarray, "N K"]:
        """The feed-forward codes: ReLU, JumpReLU or top-k of (x - b_dec) W_enc + b_enc."""
        X = inputs.real("rows", rows, shape=(None, len(self.b_dec)))
        pre = (X - self.b_dec if self.centred else X) @ self.W_enc + self.b_enc
        codes = np.maximum(pre, 0.0)
        if self.threshold is not None:
            codes = np.where(pre > self.threshold, codes, 0.0)
        if self.k is not None and self.k < codes.shape[1]:
            order = np.argsort(-codes, axis=1, kind="stable")[:, : self.k]
            kept = np.zeros_like(codes)
            np.put_along_axis(kept, order, np.take_along_axis(codes, order, axis=1), axis=1)
            codes = kept
        return codes

    def decode(self, codes: Any) -> Float[np.ndarray, "N p"]:
        """Codes W_dec + b_dec."""
        return np.asarray(codes) @ self.W_dec + self.b_dec


def load(folder: Path) -> SAE:
    """A folder of SAELens (cfg.json, sae_weights.safetensors) or sparsify (sae.safetensors)."""
    folder = Path(folder)
    for name, reader in (("sae_weights.safetensors", _saelens), ("sae.safetensors", _sparsify)):
        if (folder / name).exists():
            cfg = files.read_json(folder / "cfg.json")
            if not isinstance(cfg, dict):
                raise ValueError(f"{folder / 'cfg.json'}: expected an object of settings")
            try:
                return _checked(reader(tensors.read(folder / name), cfg), folder)
            except KeyError as error:
                raise ValueError(f"{folder / name}: array {error} is missing") from error
    pickles = [p.name for p in folder.glob("*.pt")] if folder.is_dir() else []
    hint = (
        f"; {pickles[0]} is a pickle, which may run code when it is read: convert it with "
        "safetensors.torch.save_file(torch.load(path, weights_only=True), 'sae.safetensors')"
    ) if pickles else ""  # fmt: skip
    raise ValueError(f"{folder}: no sae_weights.safetensors and no sae.safetensors{hint}")


def save(model: SAE, folder: Path) -> None:
    """Write the layout of SAELens."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays = {name: getattr(model, name) for name in ("W_enc", "W_dec", "b_enc", "b_dec")}
    kind = "standard"
    if model.threshold is not None:
        arrays["threshold"], kind = model.threshold, "jumprelu"
    if model.k is not None:
        kind = "topk"
    tensors.write(folder / "sae_weights.safetensors", arrays)
    files.write_json(folder / "cfg.json", {
        "architecture": kind, "d_in": len(model.b_dec), "d_sae": len(model.b_enc),
        "apply_b_dec_to_input": model.centred, **({"k": model.k} if model.k else {}),
    })  # fmt: skip


def _saelens(arrays: Mapping[str, np.ndarray], cfg: Mapping[str, Any]) -> SAE:
    kind = cfg.get("architecture", "standard")
    if kind not in ("standard", "jumprelu", "topk"):
        raise ValueError(f"cfg.json: architecture {kind!r:.40} is none of standard, jumprelu, topk")
    threshold = arrays["threshold"] if kind == "jumprelu" else None
    k = inputs.whole("cfg.json: k", cfg.get("k"), low=1) if kind == "topk" else None
    return SAE(arrays["W_enc"], arrays["W_dec"], arrays["b_enc"], arrays["b_dec"], threshold, k,
               bool(cfg.get("apply_b_dec_to_input", True)))  # fmt: skip


def _sparsify(arrays: Mapping[str, np.ndarray], cfg: Mapping[str, Any]) -> SAE:
    k = inputs.whole("cfg.json: k", cfg.get("k"), low=1)
    return SAE(arrays["encoder.weight"].T, arrays["W_dec"], arrays["encoder.bias"],
               arrays["b_dec"], None, k)  # fmt: skip


def _checked(model: SAE, folder: Path) -> SAE:
    """Every array finite and of the shape that W_dec asks for."""
    try:
        W = inputs.real("W_dec", model.W_dec, ndim=2)
        K, p = W.shape
        threshold = model.threshold
        return SAE(
            inputs.real("W_enc", model.W_enc, shape=(p, K)), W,
            inputs.real("b_enc", model.b_enc, shape=(K,)),
            inputs.real("b_dec", model.b_dec, shape=(p,)),
            None if threshold is None else inputs.real("threshold", threshold, shape=(K,)),
            model.k, model.centred,
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"{folder}: {error}") from error
