"""What is learned: families theta -> P, differentiated by JAX, loaded at the first derivative.

Theta, P and all that comes out are NumPy arrays of float64.
"""

from __future__ import annotations

from twofold.learned import attention as attention
from twofold.learned import audit as audit
from twofold.learned import family as family
from twofold.learned import flexformer as flexformer
from twofold.learned import free as free
from twofold.learned import function as function
from twofold.learned import mlp as mlp
from twofold.learned import ntk as ntk
from twofold.learned import softmax_spd as softmax_spd
