"""Outer training predicted without sampling: the seeds' open problem, for Gaussian prompts."""

from __future__ import annotations

from twofold.training.closure import case as case
from twofold.training.closure import corrected as corrected
from twofold.training.closure import engines as engines
from twofold.training.closure import equivalent as equivalent
from twofold.training.closure import error_law as error_law
from twofold.training.closure import exact as exact
from twofold.training.closure import joint as joint
from twofold.training.closure import joint_path as joint_path
from twofold.training.closure import observed as observed
from twofold.training.closure import pool as pool
from twofold.training.closure.descent import Diagonal as Diagonal
from twofold.training.closure.descent import Path as Path
from twofold.training.closure.descent import compared as compared
from twofold.training.closure.descent import modes as modes
from twofold.training.closure.descent import path as path
from twofold.training.closure.engines import gradient as gradient
from twofold.training.closure.engines import risk as risk
