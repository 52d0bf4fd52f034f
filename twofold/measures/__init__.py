"""What is read off a matrix or a system: spectra, overlaps, limiting laws, difficulty."""

from __future__ import annotations

from twofold.measures import attention_kernel as attention_kernel
from twofold.measures import cells as cells
from twofold.measures import coercivity as coercivity
from twofold.measures import difficulty as difficulty
from twofold.measures import discrete as discrete
from twofold.measures import enclosures as enclosures
from twofold.measures import encoded as encoded
from twofold.measures import marchenko_pastur as marchenko_pastur
from twofold.measures import overlap_state as overlap_state
from twofold.measures import overlaps as overlaps
from twofold.measures import projection as projection
from twofold.measures import sparse_residual as sparse_residual
from twofold.measures import spectra as spectra
from twofold.measures import squared_error as squared_error
