"""What a second thread is worth, over horizons: by the clock, and by what threads wait for.

The clock needs a machine with two free cores. What it gives is seen in the same turns: a plain
compiled loop of random numbers, which shares nothing with anybody, on one thread and on two. The
other figure needs no free core: it is counted on one thread, in processor time, how much is done
before and after the threads, and how much outside compiled code, where Python lets one thread work
at a time. No more than that stands in the way.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

import globalbandits as gb
from benchmarks import Row
from benchmarks.simulation import best_of, pricing
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Environment
from globalbandits.simulation import simulate
from globalbandits.simulation.play.arena import (
    Arena,
    PolicyPlayer,
)
from globalbandits.simulation.play.worlds import UniformStream

SHAPES = ((40, 50_000), (200, 10_000), (2_000, 1_000), (100_000, 48))
TARGET = ">= 1.7"
N_NUMBERS = 2**26  # of the plain loop: about as long as the simulations take


class Numbers(NamedTuple):
    """What one thread of the plain loop works with."""

    rng: np.random.Generator
    total: FloatArray  # (1,)


def add_numbers(numbers: Numbers, n: int) -> None:
    """The plain loop."""
    total = 0.0
    for _ in range(n):
        total += numbers.rng.random()
    numbers.total[0] = total


def plain_loops() -> list[Callable[[], object]]:
    """The same amount of plain work on one thread, and on two."""
    engine = Engine()
    loops = [
        engine.bind(add_numbers, "the plain loop", (Numbers(rng, np.zeros(1)),), 0)
        for rng in map(np.random.default_rng, range(2))
    ]

    def on_two() -> None:
        with ThreadPoolExecutor(len(loops)) as pool:
            for done in [pool.submit(loop, N_NUMBERS // len(loops)) for loop in loops]:
                done.result()

    return [partial(loops[0], N_NUMBERS), on_two]


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
            compiled.inside(PolicyPlayer, "_play", "_score"),
            compiled.inside(UniformStream, "_fill"),
        ):
            begin = time.process_time()
            call()
            whole = time.process_time() - begin
        found.append((whole, 1 - threads.seconds / whole, 1 - compiled.seconds / whole))
    _, alone, held = min(found)
    return alone, held


def run() -> list[Row]:
    """All figures for every shape."""
    env = Environment(pricing(), theta=0.4)
    plain = plain_loops()
    rows = []
    for horizon, runs in SHAPES:
        calls: list[Callable[[], object]] = [
            partial(simulate, env, [gb.WAGP(), gb.UCB1()], horizon, runs, checkpoints=1, threads=n)
            for n in (1, 2)
        ]
        calls[0]()
        one, two, plain_one, plain_two = best_of(calls + plain, repeats=20, clock=time.perf_counter)
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
                name=f"the same ÷ that of a plain loop, {size}",
                value=(one / two) / (plain_one / plain_two),
                unit="",
                target=None,
                note=f"a loop of random numbers in the same turns: {plain_one / plain_two:.2f}",
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
