"""One policy at work in many runs, as one function.

`play_loop` makes this function from a policy's rules. It counts rewards before the policy
learns them. It knows neither noise nor drift: rewards come through a routine, and which arms were
played is all that is kept for scoring. So it is compiled once per policy.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._types import FloatArray, IntArray
from globalbandits.compiling.engine import call_routine
from globalbandits.evidence.histogram import Histogram, add
from globalbandits.evidence.stopping import NO_STOP, TOO_HIGH, Stop, reason_to_stop
from globalbandits.policies.base import Rules, Setup, State
from globalbandits.statistics import Statistics, count

UInt64Array = NDArray[np.uint64]

AHEAD = 16  # rewards drawn at once, at most


class Runs(NamedTuple):
    """What runs need beside the policy, and what they leave behind, a row for each run.

    Rows have as many cells as the call has steps. A streak is a stretch of steps with one arm;
    a row's streaks stand in its first cells.
    """

    fresh: UInt64Array  # statistics, state and histogram before a run, as one piece of memory
    current: UInt64Array  # where they are now
    streams: UInt64Array  # (n_rows, 4) first states of the policy's generator
    memory: UInt64Array  # (4,) where the generator has its state
    buffered: UInt64Array  # (1,)
    pay: Any  # the routine that draws rewards of an arm, from a step on
    world: Any  # its data
    rewards: FloatArray  # (AHEAD,) where it puts them
    ahead: int  # how many are drawn at once, at most
    times: IntArray  # (n_times,) when to record
    estimates: FloatArray  # (n_rows, n_times)
    copies: FloatArray  # (n_rows, n_times, n_arms, n_bins + 1); no times without evidence
    arms: IntArray  # (n_cells,) the arm of each streak
    starts: IntArray  # (n_cells,) its first step in this call
    n_streaks: IntArray  # (n_rows,)
    n_played: IntArray  # (n_rows,) steps played in this call
    choices: IntArray  # (n_rows,) the arm the policy would play after the last step; -1 for none
    stopped: IntArray  # (n_rows,) after how many steps a run was stopped; 0 if it was not
    why: IntArray  # (n_rows,) the reason, as in `evidence.stopping`
    next_time: IntArray  # (1,) position of the next time to record
    wrong_arm: IntArray  # (1,) an arm that does not exist; 0 if there was none


class Seat(NamedTuple):
    """A policy with its memory: all that `play` reads and writes."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    histogram: Histogram
    runs: Runs
    stop: Stop = NO_STOP


Play = Callable[[Seat, int, int, int, bool], None]  # (seat, start, n_steps, n_rows, is_last)


@cache
def play_loop(rules: Rules, watched: bool, stops: bool = False) -> Play:
    """The function that plays runs of one policy.

    Args:
        rules: the policy's.
        watched: whether histograms of the rewards are kept.
        stops: whether runs may end early, by the seat's stopping rule.
    """
    select, update, estimate = rules.select, rules.update, rules.estimate

    def play(seat: Seat, start: int, n_steps: int, n_rows: int, is_last: bool) -> None:
        """Play steps start + 1 to start + n_steps of some runs.

        Each of the policy's functions is called in one place, which keeps compiled code small.

        Args:
            seat: the policy.
            start: steps that these runs have behind them.
            n_steps: steps of this call.
            n_rows: number of runs.
            is_last: whether runs end here; then the policy says what it would play next.
        """
        setup, stats, state, rng, runs = seat.setup, seat.stats, seat.state, seat.rng, seat.runs
        rewards, times = runs.rewards, runs.times
        n_arms = stats.counts.shape[0]
        n_choices = n_steps + 1 if is_last or stops else n_steps
        for row in range(n_rows):
            at_time = 0
            if start == 0:
                begin(runs, row)
            else:
                at_time = runs.next_time[0]
            if stops:
                if start == 0:
                    runs.stopped[row] = 0
                    runs.why[row] = 0
                elif runs.stopped[row] > 0:
                    runs.n_streaks[row] = 0
                    runs.n_played[row] = 0
                    continue
            n_played = n_steps
            due = times[at_time] - start if at_time < times.shape[0] else -1
            first_cell = row * n_steps
            n_streaks = 0
            current = -1
            drawn_from = 0
            drawn_to = 0
            ahead = 1
            for step in range(n_choices):
                if stops and step == n_steps and not is_last and runs.why[row] == 0:
                    break
                arm = int(select(setup, stats, state, rng))
                if arm != current or arm < 0:
                    if not 0 <= arm < n_arms:
                        runs.wrong_arm[0] = arm
                        return
                    if stops and runs.why[row] > 0:
                        current = arm
                    elif step < n_steps:
                        runs.arms[first_cell + n_streaks] = arm
                        runs.starts[first_cell + n_streaks] = step
                        n_streaks += 1
                        current = arm
                        drawn_to = step
                        ahead = 1
                if stops and runs.why[row] > 0:
                    runs.choices[row] = -1 if runs.why[row] == TOO_HIGH else arm
                    n_played = step
                    break
                if step == drawn_to:
                    if step == n_steps:
                        runs.choices[row] = arm
                        break
                    # Most steps play the arm of the step before: the longer it has been
                    # played, the more of its next rewards are drawn in one go.
                    n_drawn = min(ahead, n_steps - step)
                    call_routine(runs.pay, runs.world, row, arm, first_cell + step, n_drawn)
                    drawn_from = step
                    drawn_to = step + n_drawn
                    ahead = min(2 * ahead, runs.ahead)
                reward = rewards[step - drawn_from]
                count(stats, arm, reward)
                if watched:
                    add(seat.histogram, arm, reward, 1.0)
                update(setup, stats, state, arm, reward)
                if step + 1 == due:
                    runs.estimates[row, at_time] = estimate(setup, stats, state)
                    if watched:
                        keep_copy(runs.copies, row, at_time, seat.histogram.counts)
                    at_time += 1
                    due = times[at_time] - start if at_time < times.shape[0] else -1
                if stops:
                    runs.why[row] = reason_to_stop(seat.stop, stats)
                    if runs.why[row] > 0:
                        # What is known stays as it is until the horizon.
                        runs.stopped[row] = start + step + 1
                        known = estimate(setup, stats, state)
                        for later in range(at_time, times.shape[0]):
                            runs.estimates[row, later] = known
                            if watched:
                                keep_copy(runs.copies, row, later, seat.histogram.counts)
                        at_time = times.shape[0]
                        due = -1
            runs.n_streaks[row] = n_streaks
            runs.n_played[row] = n_played
            runs.next_time[0] = at_time

    return play


def begin(runs: Runs, row: int) -> None:
    """Forget the run before; random numbers from the start of the run's stream."""
    for word in range(runs.fresh.shape[0]):
        runs.current[word] = runs.fresh[word]
    for word in range(runs.memory.shape[0]):
        runs.memory[word] = runs.streams[row, word]
    runs.buffered[0] = 0


def keep_copy(copies: FloatArray, row: int, at_time: int, counts: FloatArray) -> None:
    """Put the histogram into one place of the copies."""
    for arm in range(counts.shape[0]):
        for knot in range(counts.shape[1]):
            copies[row, at_time, arm, knot] = counts[arm, knot]
