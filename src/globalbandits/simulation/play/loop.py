"""The play loop: one policy plays many runs.

`play_loop` makes the loop from the rules of a policy. The loop adds each reward to the statistics
before it calls the policy's update rule. Rewards come from a routine of the world. Scores are
computed later from the arms that were played. So the loop depends neither on noise nor on drift,
and it is compiled once per policy. If rewards may become known late, another variant of the loop
keeps them in `LateRewards` until then.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from globalbandits._types import FloatArray, IntArray
from globalbandits.compiling.routine import call_routine
from globalbandits.evidence.histogram import Histogram, add
from globalbandits.evidence.stop_rules import NO_STOP, TOO_HIGH, Stop, reason_to_stop
from globalbandits.policies.base import Rules, Setup, State
from globalbandits.simulation.play.drawn_offers import NO_OFFERS, Offers, list_offered
from globalbandits.statistics import Statistics, count

UInt64Array = NDArray[np.uint64]

MAX_REWARDS_PER_DRAW = 16


class RunBuffers(NamedTuple):
    """Input and output of runs, apart from the policy. Each run has one row.

    A row has one cell for each step of the call. A streak is a sequence of steps with the same
    arm. The streaks of a row are stored in its first cells.
    """

    initial_words: UInt64Array  # statistics, state and histogram before a run, as one block
    words: UInt64Array  # the current content of this block
    rng_states: UInt64Array  # (n_rows, 4) the policy's generator at the start of each run
    rng_words: UInt64Array  # (4,) the memory of the generator's state
    rng_buffered: UInt64Array  # (1,)
    draw_rewards: Any  # the routine that draws the next rewards of an arm
    draw_data: Any  # the data of the routine
    rewards: FloatArray  # (MAX_REWARDS_PER_DRAW,) output of the routine
    max_ahead: int  # maximum number of rewards per call of the routine
    times: IntArray  # (n_times,) the checkpoints
    estimates: FloatArray  # (n_rows, n_times), or with a last axis for several unknown numbers
    deviations: FloatArray  # (n_parameters,) scratch array of the rule `numbers`
    histograms: FloatArray  # (n_rows, n_times, n_arms, n_bins + 1); no times without evidence
    streak_arms: IntArray  # (n_cells,)
    streak_starts: IntArray  # (n_cells,) the first step of each streak in this call
    n_streaks: IntArray  # (n_rows,)
    n_played: IntArray  # (n_rows,) steps played in this call
    choices: IntArray  # (n_rows,) the arm the policy would play after the last step; -1 for none
    stop_times: IntArray  # (n_rows,) steps before the run was stopped; 0 if it was not
    stop_reasons: IntArray  # (n_rows,) as in `evidence.stop_rules`
    next_time: IntArray  # (1,) index of the next checkpoint
    invalid_arm: IntArray  # (1,) an invalid arm that the policy selected; 0 if none


class LateRewards(NamedTuple):
    """Rewards that are not known yet, by the step in which they become known.

    A reward is stored at the place of its step, and in the queue of the step in which it becomes
    known; both modulo the number of places, which exceeds the longest time a reward waits.
    """

    draw_delays: Any  # the routine that draws the delay of a reward; 0 without delays
    draw_data: Any  # the data of the routine
    delays: IntArray  # (1,) output of the routine; a negative delay means never
    has_delays: bool
    batch: int
    deadline: int  # steps after which a missing reward counts as 0; 0 for none
    horizon: int
    arms: IntArray  # (n_places,)
    rewards: FloatArray  # (n_places,)
    following: IntArray  # (n_places,) the next reward in the same queue
    first: IntArray  # (n_places,) the oldest reward of a queue
    last: IntArray  # (n_places,)
    lengths: IntArray  # (n_places,) rewards in a queue


def late_rewards(horizon: int, batch: int, longest: int, deadline: int | None) -> LateRewards:
    """Empty memory for rewards that wait for at most ``longest`` steps and the end of a batch."""
    longest = longest if deadline is None else max(longest, deadline)
    n_places = min(horizon, longest + batch) + 1
    return LateRewards(
        draw_delays=0,
        draw_data=0,
        delays=np.zeros(1, np.int64),
        has_delays=False,
        batch=batch,
        deadline=deadline or 0,
        horizon=horizon,
        arms=np.zeros(n_places, np.int64),
        rewards=np.zeros(n_places),
        following=np.zeros(n_places, np.int64),
        first=np.zeros(n_places, np.int64),
        last=np.zeros(n_places, np.int64),
        lengths=np.zeros(n_places, np.int64),
    )


def postpone(late: LateRewards, step: int, arm: int, reward: float, delay: int) -> None:
    """Store the reward of a step until it becomes known; drop it if that is after the horizon."""
    if late.deadline > 0 and not (reward > 0.0 and 0 <= delay <= late.deadline):
        reward, delay = 0.0, late.deadline
    due = step + delay
    if delay < 0 or due > late.horizon:
        return
    # The end of the batch, or the end of the run in its last batch.
    due = min((due + late.batch - 1) // late.batch * late.batch, late.horizon)
    n_places = late.lengths.shape[0]
    place, queue = step % n_places, due % n_places
    late.arms[place] = arm
    late.rewards[place] = reward
    if late.lengths[queue] == 0:
        late.first[queue] = place
    else:
        late.following[late.last[queue]] = place
    late.last[queue] = place
    late.lengths[queue] += 1


def take_known(late: LateRewards, step: int) -> int:
    """Take the oldest reward out of the queue of a step and return its place."""
    queue = step % late.lengths.shape[0]
    place = late.first[queue]
    late.first[queue] = late.following[place]
    late.lengths[queue] -= 1
    return int(place)


class PolicyMemory(NamedTuple):
    """The memory that `play` reads and writes."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    histogram: Histogram
    runs: RunBuffers
    late: LateRewards
    stop: Stop = NO_STOP
    offers: Offers = NO_OFFERS


Play = Callable[[PolicyMemory, int, int, int, bool], None]  # see `play` below


@cache
def play_loop(
    rules: Rules,
    keeps_histograms: bool,
    may_stop: bool = False,
    is_late: bool = False,
    has_offers: bool = False,
) -> Play:
    """The function that plays runs of one policy.

    Args:
        rules: the rules of the policy.
        keeps_histograms: whether to record histograms of the rewards.
        may_stop: whether the stopping rule may end runs early.
        is_late: whether rewards may become known after the next decision.
        has_offers: whether some arms cannot be played at some steps.
    """
    select, update, estimate = rules.select, rules.update, rules.estimate
    counts_decisions, decide = rules.decide is not None, rules.decide or count_nothing
    own_recommendation, recommend = rules.recommend is not None, rules.recommend or choose_nothing
    has_numbers, numbers = rules.numbers is not None, rules.numbers
    select_among = rules.select_among if has_offers else None

    def play(memory: PolicyMemory, start: int, n_steps: int, n_rows: int, is_last: bool) -> None:
        """Play steps start + 1 to start + n_steps of some runs.

        Each function of the policy is called in as few places as possible, which keeps the
        compiled code small.

        Args:
            memory: the policy and its buffers.
            start: number of steps played before this call.
            n_steps: number of steps of this call.
            n_rows: number of runs.
            is_last: whether the runs end here. The policy then also selects its next choice.
        """
        setup, stats, state, rng = memory.setup, memory.stats, memory.state, memory.rng
        runs, late, offers = memory.runs, memory.late, memory.offers
        rewards, times = runs.rewards, runs.times
        n_arms = stats.counts.shape[0]
        n_choices = n_steps + 1 if is_last or may_stop else n_steps
        for row in range(n_rows):
            at_time = 0
            if start == 0:
                reset_run(runs, row)
                if is_late:
                    late.lengths[:] = 0
            else:
                at_time = runs.next_time[0]
            if may_stop:
                if start == 0:
                    runs.stop_times[row] = 0
                    runs.stop_reasons[row] = 0
                elif runs.stop_times[row] > 0:
                    runs.n_streaks[row] = 0
                    runs.n_played[row] = 0
                    continue
            n_played = n_steps
            checkpoint_step = times[at_time] - start if at_time < times.shape[0] else -1
            first_cell = row * n_steps
            n_streaks = 0
            current_arm = -1
            drawn_from = 0
            drawn_to = 0
            n_ahead = 1
            for step in range(n_choices):
                if may_stop and step == n_steps and not is_last and runs.stop_reasons[row] == 0:
                    break
                is_final = step == n_steps or (may_stop and runs.stop_reasons[row] > 0)
                n_offered = n_arms
                if has_offers and not is_final:
                    n_offered = list_offered(offers, first_cell + step)
                if own_recommendation and is_final:
                    arm = int(recommend(setup, stats, state, rng))
                elif has_offers and n_offered < n_arms:
                    offered = offers.offered[:n_offered]
                    arm = int(select_among(setup, stats, state, offered, rng))  # type: ignore[misc]
                else:
                    arm = int(select(setup, stats, state, rng))
                if arm != current_arm or arm < 0:
                    if not 0 <= arm < n_arms:
                        runs.invalid_arm[0] = arm
                        return
                    if may_stop and runs.stop_reasons[row] > 0:
                        current_arm = arm
                    elif step < n_steps:
                        runs.streak_arms[first_cell + n_streaks] = arm
                        runs.streak_starts[first_cell + n_streaks] = step
                        n_streaks += 1
                        current_arm = arm
                        drawn_to = step
                        n_ahead = 1
                if may_stop and runs.stop_reasons[row] > 0:
                    runs.choices[row] = -1 if runs.stop_reasons[row] == TOO_HIGH else arm
                    n_played = step
                    break
                if step == drawn_to:
                    if step == n_steps:
                        runs.choices[row] = arm
                        break
                    # Most steps repeat the arm of the previous step. The longer the streak, the
                    # more rewards of this arm are drawn in one call.
                    n_drawn = min(n_ahead, n_steps - step)
                    call_routine(
                        runs.draw_rewards, runs.draw_data, row, arm, first_cell + step, n_drawn
                    )
                    drawn_from = step
                    drawn_to = step + n_drawn
                    n_ahead = min(2 * n_ahead, runs.max_ahead)
                reward = rewards[step - drawn_from]
                if counts_decisions:
                    decide(setup, stats, state, arm)
                n_known, known_arm = 1, arm
                if is_late:
                    late.delays[0] = 0
                    if late.has_delays:
                        call_routine(
                            late.draw_delays, late.draw_data, row, arm, first_cell + step, 1
                        )
                    postpone(late, start + step + 1, arm, reward, late.delays[0])
                    n_known = late.lengths[(start + step + 1) % late.lengths.shape[0]]
                for _ in range(n_known):
                    if is_late:
                        place = take_known(late, start + step + 1)
                        known_arm, reward = late.arms[place], late.rewards[place]
                    count(stats, known_arm, reward)
                    if keeps_histograms:
                        add(memory.histogram, known_arm, reward, 1.0)
                    update(setup, stats, state, known_arm, reward)
                n_reached = 1 if step + 1 == checkpoint_step else 0
                if may_stop:
                    runs.stop_reasons[row] = reason_to_stop(memory.stop, stats)
                    if runs.stop_reasons[row] > 0:
                        # Nothing changes from here to the horizon.
                        runs.stop_times[row] = start + step + 1
                        n_reached = times.shape[0] - at_time
                if n_reached > 0:
                    runs.estimates[row, at_time] = estimate(setup, stats, state)
                    if has_numbers and stats.total[0] > 0:
                        numbers(  # type: ignore[misc]
                            setup, stats, state, runs.estimates[row, at_time], runs.deviations
                        )
                    for later in range(at_time, at_time + n_reached):
                        runs.estimates[row, later] = runs.estimates[row, at_time]
                        if keeps_histograms:
                            copy_histogram(runs.histograms, row, later, memory.histogram.counts)
                    at_time += n_reached
                    checkpoint_step = times[at_time] - start if at_time < times.shape[0] else -1
            runs.n_streaks[row] = n_streaks
            runs.n_played[row] = n_played
            runs.next_time[0] = at_time

    return play


def count_nothing(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
    """Take the place of `Rules.decide` in a loop that does not call it."""


def choose_nothing(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Take the place of `Rules.recommend` in a loop that does not call it.

    The rule `select` in its place would have two callers, and so would not be inlined.
    """
    return -1


def reset_run(runs: RunBuffers, row: int) -> None:
    """Reset the statistics, the policy's state and the generator for the start of a run."""
    for word in range(runs.initial_words.shape[0]):
        runs.words[word] = runs.initial_words[word]
    for word in range(runs.rng_words.shape[0]):
        runs.rng_words[word] = runs.rng_states[row, word]
    runs.rng_buffered[0] = 0


def copy_histogram(histograms: FloatArray, row: int, at_time: int, counts: FloatArray) -> None:
    """Store the histogram of a run at a checkpoint."""
    for arm in range(counts.shape[0]):
        for knot in range(counts.shape[1]):
            histograms[row, at_time, arm, knot] = counts[arm, knot]
