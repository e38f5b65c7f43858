"""Offers: the arms that can be played at each step, drawn once for all policies."""

from typing import NamedTuple

import numpy as np

from globalbandits._random import Source, States, Stream
from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.environments.offers import OfferLaw, as_available_arms


class Offers(NamedTuple):
    """What can be played at the steps of a block. A step has one cell, as in `RunBuffers`.

    An arm of the loop is an arm in a context: ``context * n_arms + arm``.
    """

    contexts: IntArray  # (n_cells,) the context of each step
    available: BoolArray  # (n_cells, n_arms) whether an arm can be played; one row if all can
    offered: IntArray  # (n_arms,) output of `list_offered`


NO_OFFERS = Offers(np.zeros(0, np.int64), np.zeros((0, 0), np.bool_), np.zeros(0, np.int64))


def list_offered(offers: Offers, cell: int) -> int:
    """List the arms that can be played at a step in ``offered``, and return their number."""
    n_arms = offers.available.shape[1]
    row = min(cell, offers.available.shape[0] - 1)
    first = offers.contexts[cell] * n_arms
    n_offered = 0
    for arm in range(n_arms):
        if offers.available[row, arm]:
            offers.offered[n_offered] = first + arm
            n_offered += 1
    return n_offered


class OfferStream:
    """Draws the offers of runs. They do not depend on how runs are divided into blocks."""

    def __init__(self, law: OfferLaw, states: States, n_cells: int) -> None:
        self._law = law
        self._states = states
        self._source = Source()
        self._starts = np.zeros((1, 4), np.uint64)
        self.offers = Offers(
            contexts=np.zeros(n_cells, np.int64),
            available=np.ones((1 if law.always_all else n_cells, law.n_arms), np.bool_),
            offered=np.zeros(law.n_arms, np.int64),
        )

    def begin(self, first_run: int, n_rows: int) -> None:
        """Set the streams to the start of some runs."""
        self._starts = self._states.of(Stream.OFFER, first_run, n_rows)
        self._source.set(self._starts[0])

    def draw(self, start: int, n_steps: int, n_rows: int) -> None:
        """Draw the next steps of one run, or the first steps of several runs."""
        for row in range(n_rows):
            if n_rows > 1:
                self._source.set(self._starts[row])
            uniforms = self._source.rng.random((n_steps, self._law.n_uniforms))
            self._fill(start, slice(row * n_steps, (row + 1) * n_steps), uniforms)

    def _fill(self, start: int, cells: slice, uniforms: FloatArray) -> None:
        law, offers = self._law, self.offers
        times = np.arange(start, start + len(uniforms))
        if law.schedule.size:
            offers.contexts[cells] = law.schedule[times % law.schedule.size]
        elif law.chances.size > 1:
            edges = np.cumsum(law.chances)[:-1]
            offers.contexts[cells] = np.searchsorted(edges, uniforms[:, 0], side="right")
            uniforms = uniforms[:, 1:]
        if law.available.size:
            chances = law.available[offers.contexts[cells]]
            found = uniforms < chances
            # Some arm must be left: the one that was nearest to being available.
            none = np.flatnonzero(~found.any(axis=1))
            if none.size:
                with np.errstate(divide="ignore"):
                    ratios = np.where(chances[none] > 0.0, uniforms[none] / chances[none], np.inf)
                found[none, ratios.argmin(axis=1)] = True
            offers.available[cells] = found
        elif law.rows.size:
            offers.available[cells] = law.rows[times % len(law.rows)]
        elif law.function is not None:
            rows = [
                as_available_arms(law.function(time), law.n_arms, time)
                for time in (times + 1).tolist()
            ]
            offers.available[cells] = np.stack(rows)

    def cells_of(self, n_steps: int, n_rows: int) -> tuple[IntArray, BoolArray]:
        """The context of every step of a block, and the available arms: (n,) and (n or 1, K)."""
        n = n_steps * n_rows
        return self.offers.contexts[:n], self.offers.available[: min(n, len(self.offers.available))]


def best_offered(
    worths: FloatArray, rows: IntArray, contexts: IntArray, available: BoolArray
) -> FloatArray:
    """Return the largest worth among the offered arms of every step.

    Args:
        worths: (n_rows, n_contexts * n_arms) worth of all cells.
        rows: (n,) the row of every step.
        contexts: (n,) the context of every step.
        available: (n or 1, n_arms) the available arms of every step.
    """
    n_arms = available.shape[1]
    shaped = worths.reshape(len(worths), -1, n_arms)
    if len(available) == 1 and bool(available.all()):
        return np.asarray(shaped.max(axis=2)[rows, contexts])
    here = shaped[rows, contexts]
    return np.asarray(np.where(available, here, -np.inf).max(axis=1))
