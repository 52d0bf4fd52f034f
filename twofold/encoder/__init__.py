"""Prompt to system: what the first half of the model hands to the second."""

from __future__ import annotations

from twofold.encoder import dense as dense
from twofold.encoder import dictionary as dictionary
from twofold.encoder import gaussian_process as gaussian_process
from twofold.encoder import operator as operator
from twofold.encoder import ridge as ridge
from twofold.encoder import subspace as subspace
from twofold.encoder import weak_form as weak_form
