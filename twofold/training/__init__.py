"""Outer time s: how the parts move while they are trained, predicted exactly and observed."""
