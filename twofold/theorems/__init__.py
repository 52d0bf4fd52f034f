"""One statement per file: docstring, value, bound, and ``certify`` returning a Certificate."""

from __future__ import annotations

from twofold.theorems import balance as balance
from twofold.theorems import bernstein as bernstein
from twofold.theorems import betting as betting
from twofold.theorems import capital as capital
from twofold.theorems import covariance_rate as covariance_rate
from twofold.theorems import davis_kahan as davis_kahan
from twofold.theorems import decoder_bound as decoder_bound
from twofold.theorems import encoded_floor as encoded_floor
from twofold.theorems import encoder_rate as encoder_rate
from twofold.theorems import excess_risk as excess_risk
from twofold.theorems import factor_two as factor_two
from twofold.theorems import finite_task as finite_task
from twofold.theorems import global_matrix as global_matrix
from twofold.theorems import heldout as heldout
from twofold.theorems import information_identity as information_identity
from twofold.theorems import local_contraction as local_contraction
from twofold.theorems import moment_ratio as moment_ratio
from twofold.theorems import mp_window as mp_window
from twofold.theorems import nonclosure as nonclosure
from twofold.theorems import obstruction as obstruction
from twofold.theorems import operator_residual as operator_residual
from twofold.theorems import paired as paired
from twofold.theorems import posterior_sides as posterior_sides
from twofold.theorems import power as power
from twofold.theorems import primal_dual as primal_dual
from twofold.theorems import prompt_size as prompt_size
from twofold.theorems import reconstruction as reconstruction
from twofold.theorems import resolvent as resolvent
from twofold.theorems import richardson as richardson
from twofold.theorems import ridge_bias as ridge_bias
from twofold.theorems import risk_decomposition as risk_decomposition
from twofold.theorems import self_bounding as self_bounding
from twofold.theorems import subspace_floor as subspace_floor
from twofold.theorems import table_loss as table_loss
from twofold.theorems import tail as tail
from twofold.theorems import trace_risk as trace_risk
from twofold.theorems import tracking as tracking
from twofold.theorems import weak_bias as weak_bias
