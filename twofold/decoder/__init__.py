"""Decoders: from a system H x = d to an answer, by a fixed number of matrix-vector products."""
