"""What an encoder loses: exact where it can be, certified where it can be, else an estimate."""

from __future__ import annotations

from twofold.information import exact as exact
from twofold.information import layers as layers
from twofold.information import probes as probes
from twofold.information.gap import decompose as decompose
from twofold.information.neighbours import ksg as ksg
from twofold.information.neighbours import ross as ross
from twofold.information.records import Decomposition as Decomposition
from twofold.information.records import Value as Value

__all__ = ["Decomposition", "Value", "decompose", "exact", "ksg", "layers", "probes", "ross"]
