"""Which keys are kept, and their noisy numbers of rows: exact draws of a law whose chances are
whole numbers of parts.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from postri.keeping import WORD, KeepingLaw
from postri.mechanisms.coins import Coins
from postri.mechanisms.uniforms import Uniform

Numbers = NDArray[np.int64]


def kept_keys(law: KeepingLaw, rows: Numbers, coins: Coins) -> tuple[NDArray[np.intp], Numbers]:
    """The places of the keys that are kept, of keys with so many rows each, and for these the noisy
    numbers of rows.

    Each key has a uniform number of `law.bits` bits of its own. Its first 64 tell how many chances
    of the table lie below it, but for one time in 2^64 and chance: then the other bits do.
    """
    draw = coins.draw()
    name = ("kept keys",)
    words = draw.words(name, len(rows))
    # The first word of each chance but the last, which is the whole.
    firsts = np.array([parts >> (law.bits - WORD) for parts in law.table[1:-1]], np.uint64)
    # A chance lies below the uniform number for sure if its first word does.
    below = np.searchsorted(firsts, words)
    is_open = firsts[np.minimum(below, len(firsts) - 1)] == words
    drawn = below.astype(np.int64) + 1
    for place in np.flatnonzero(is_open).tolist():
        uniform = Uniform(draw, (*name, place), int(words[place]))
        while uniform.bits < law.bits:
            uniform.refine()
        drawn[place] = sum(parts <= uniform.numerator for parts in law.table[1:-1]) + 1
    places = np.flatnonzero(drawn <= rows)
    return places, law.threshold + rows[places] - drawn[places]
