"""Several noisy maxes at once: who surely wins each of them, in floats.

What floats leave in doubt is drawn by `noisy_max`, race by race, with the words that were tossed
here.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from postri.mechanisms.coins import Words
from postri.mechanisms.noisy_max import (
    BOOST_BITS,
    LOWEST,
    NOISE_MARGIN,
    NOISES,
    SCORE_MARGIN,
    Noise,
)
from postri.mechanisms.uniforms import Floats, least_surprise, most_surprise
from postri.window import Indexes

IN_DOUBT = -1


@dataclass(frozen=True)
class Races:
    """The runs of several races, those of one race after those of another, and where each begins.

    `Runs` of noisy_max.py says what the arrays are.
    """

    scores: Indexes
    boosts: Indexes
    known: NDArray[np.bool_]
    sizes: Floats
    starts: Indexes

    def clear_winners(self, words: Words, *, rate: Fraction, noise: Noise) -> Indexes:
        """For each race the run that wins it, counted from the race's first; IN_DOUBT where floats
        cannot tell, or where a run of unknown score may win.

        There is a word for each run, its first coins.
        """
        lengths = np.diff(self.starts, append=len(words))
        scaled = self.scores * float(rate) + self.boosts * 2.0**-BOOST_BITS
        margins = NOISE_MARGIN + SCORE_MARGIN * np.abs(scaled)
        tops = scaled + margins + NOISES[noise](least_surprise(words) / self.sizes)
        best = np.maximum.reduceat(tops, self.starts)
        # Of leaders that tie any will do: then more than one run may win.
        places = np.flatnonzero(tops == best.repeat(lengths))
        leaders = np.empty_like(self.starts)
        leaders[self.starts.searchsorted(places, side="right") - 1] = places
        heats = most_surprise(words[leaders]) / self.sizes[leaders]
        bottoms = scaled[leaders] - margins[leaders] + NOISES[noise](heats)
        floors = np.maximum(bottoms, LOWEST)
        contenders = np.add.reduceat(tops >= floors.repeat(lengths), self.starts, dtype=np.int64)
        clear = self.known[leaders] & (contenders == 1)
        return np.where(clear, leaders - self.starts, IN_DOUBT)
