"""What a second thread is worth, over horizons: by the clock, and by what threads wait for.

The clock needs a machine with two free cores. The other figure needs none: it is counted on one
thread, in processor time, how much is done before and after the threads, and how much outside
compiled code, where Python lets one thread work at a time. No more than that stands in the way.
"""

import time
from collections.abc import Callable
from functools import partial
from typing import Any
from unittest.mock import patch

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import best_of, pricing
from globalbandits.environments import Environment
from globalbandits.simulation import simulate
from globalbandits.simulation.arena import Arena, Player
from globalbandits.simulation.draws import Tap

SHAPES = ((40, 50_000), (200, 10_000), (2_000, 1_000), (100_000, 24))
TARGET = ">= 1.7"


class Clock:
    """Processor time spent inside some functions."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        def timed(*arguments: Any, **named: Any) -> Any:
            begin = time.thread_time()
            try:
                return function(*arguments, **named)
            finally:
                self.seconds += time.thread_time() - begin

        return timed

    def inside(self, kind: type, *names: str) -> Any:
        """Let attributes that a class sets when an object is made be timed."""
        make = vars(kind)["__init__"]

        def init(made: Any, *arguments: Any, **named: Any) -> None:
            make(made, *arguments, **named)
            for name in names:
                setattr(made, name, self.around(getattr(made, name)))

        return patch.object(kind, "__init__", init)


def shares(call: Callable[[], object], repeats: int = 5) -> tuple[float, float]:
    """Of one thread's time: the share outside of threads, and the share outside of compiled code.

    Those of the quickest repeat.
    """
    found = []
    for _ in range(repeats):
        threads, compiled = Clock(), Clock()
        with (
            patch.object(Arena, "play", threads.around(Arena.play)),
            compiled.inside(Player, "_play", "_score"),
            compiled.inside(Tap, "_fill"),
        ):
            begin = time.process_time()
            call()
            whole = time.process_time() - begin
        found.append((whole, 1 - threads.seconds / whole, 1 - compiled.seconds / whole))
    _, alone, held = min(found)
    return alone, held


def run() -> list[Row]:
    """Both figures for every shape."""
    env = Environment(pricing(), theta=0.4)
    rows = []
    for horizon, runs in SHAPES:
        calls = [
            partial(simulate, env, [gb.WAGP(), gb.UCB1()], horizon, runs, checkpoints=1, threads=n)
            for n in (1, 2)
        ]
        calls[0]()
        one, two = best_of(calls, repeats=6, clock=time.perf_counter)
        alone, held = shares(calls[0])
        size = f"runs of {horizon:,}"
        rows += [
            Row(
                name=f"two threads ÷ one by the clock, {size}",
                value=one / two,
                unit="times",
                target=TARGET,
                note=f"{1e3 * one:.0f} and {1e3 * two:.0f} ms for {runs:,} runs of two policies",
            ),
            Row(
                name=f"two threads ÷ one at most, {size}",
                value=1 / max(alone + (1 - alone) / 2, held),
                unit="times",
                target=TARGET,
                note=f"{alone:.1%} outside of threads, {held:.1%} outside of compiled code",
            ),
        ]
    return rows
