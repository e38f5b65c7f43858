"""Scores: regret and pulls, from the arms that were played and what they were worth.

Policies leave behind streaks, sequences of steps with the same arm. Where blocks and checkpoints
cut a run does not change a single bit. The regret of a run that was stopped stays as it is.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.simulation.play.loop import RunBuffers

# Positions in ScoreBuffers.cursor.
NEXT_TIME, CURRENT_ARM, STREAK_LENGTH = range(3)


class ScoreBuffers(NamedTuple):
    """The scores of one policy, a row for each run."""

    times: IntArray  # (n_times,) the checkpoints
    cursor: IntArray  # (3,) next checkpoint, current arm and length of its streak
    settled: FloatArray  # (2,) regret and nominal regret before the current streak
    pulls: IntArray  # (n_rows, n_arms)
    last_suboptimal: IntArray  # (n_rows,)
    regret: FloatArray  # (n_rows, n_times)
    nominal_regret: FloatArray  # (n_rows, n_times)


def empty_scores(times: IntArray, n_rows: int, n_arms: int) -> ScoreBuffers:
    """Buffers for some runs."""
    return ScoreBuffers(
        times=times,
        cursor=np.zeros(3, np.int64),
        settled=np.zeros(2),
        pulls=np.zeros((n_rows, n_arms), np.int64),
        last_suboptimal=np.zeros(n_rows, np.int64),
        regret=np.zeros((n_rows, len(times))),
        nominal_regret=np.zeros((n_rows, len(times))),
    )


class ArmGaps(NamedTuple):
    """What a play of each arm costs where means stay: one row for all runs, or one for each."""

    gaps: FloatArray  # (n_rows or 1, n_arms) by the true means
    nominal_gaps: FloatArray  # (n_rows or 1, n_arms) by the model's means
    tolerance: float  # a gap up to this counts as zero


def score_fixed(
    arm_gaps: ArmGaps, runs: RunBuffers, scores: ScoreBuffers, start: int, n_steps: int, n_rows: int
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs.

    A streak enters the sum as one product, however many calls it extends over.
    """
    times, cursor = scores.times, scores.cursor
    for row in range(n_rows):
        if start == 0:
            reset_scores(scores, row)
        gaps = arm_gaps.gaps[min(row, arm_gaps.gaps.shape[0] - 1)]
        nominal_gaps = arm_gaps.nominal_gaps[min(row, arm_gaps.nominal_gaps.shape[0] - 1)]
        regret, nominal_regret = scores.regret[row], scores.nominal_regret[row]
        settled, nominal_settled = scores.settled[0], scores.settled[1]
        at_time, current_arm, length = cursor[NEXT_TIME], cursor[CURRENT_ARM], cursor[STREAK_LENGTH]
        n_streaks, end = runs.n_streaks[row], 0
        for streak in range(row * n_steps, row * n_steps + n_streaks):
            arm = runs.streak_arms[streak]
            begin = end
            end = runs.n_played[row]
            if streak + 1 < row * n_steps + n_streaks:
                end = runs.streak_starts[streak + 1]
            if arm != current_arm:
                if current_arm >= 0:
                    settled += length * gaps[current_arm]
                    nominal_settled += length * nominal_gaps[current_arm]
                current_arm = arm
                length = 0
            gap, nominal_gap = gaps[arm], nominal_gaps[arm]
            while at_time < times.shape[0] and times[at_time] <= start + end:
                length_by_then = length + (times[at_time] - start - begin)
                regret[at_time] = settled + length_by_then * gap
                nominal_regret[at_time] = nominal_settled + length_by_then * nominal_gap
                at_time += 1
            length += end - begin
            scores.pulls[row, arm] += end - begin
            if gap > arm_gaps.tolerance:
                scores.last_suboptimal[row] = start + end
        if runs.stop_times[row] > 0 and current_arm >= 0:
            for later in range(at_time, times.shape[0]):
                regret[later] = settled + length * gaps[current_arm]
                nominal_regret[later] = nominal_settled + length * nominal_gaps[current_arm]
            at_time = times.shape[0]
        scores.settled[0], scores.settled[1] = settled, nominal_settled
        cursor[NEXT_TIME] = at_time
        cursor[CURRENT_ARM] = current_arm
        cursor[STREAK_LENGTH] = length


class StepWorths(NamedTuple):
    """What plays are worth where means change from step to step, a cell for each step."""

    best: FloatArray  # (n_cells,) of the best arm, by the true means
    nominal_best: FloatArray  # (n_cells,) the same, by the model's means
    worth: FloatArray  # (n_cells,) of the arm played, by the true means
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    tolerance: float


def score_steps(
    worths: StepWorths,
    runs: RunBuffers,
    scores: ScoreBuffers,
    start: int,
    n_steps: int,
    n_rows: int,
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs, step by step."""
    times, cursor, settled = scores.times, scores.cursor, scores.settled
    for row in range(n_rows):
        if start == 0:
            reset_scores(scores, row)
        first_cell = row * n_steps
        at_time = cursor[NEXT_TIME]
        streak = -1
        arm = 0
        for step in range(runs.n_played[row]):
            next_cell = first_cell + streak + 1
            if streak + 1 < runs.n_streaks[row] and runs.streak_starts[next_cell] == step:
                streak += 1
                arm = runs.streak_arms[next_cell]
            cell = first_cell + step
            gap = max(worths.best[cell] - worths.worth[cell], 0.0)
            settled[0] += gap
            settled[1] += max(worths.nominal_best[cell] - worths.nominal_worth[cell], 0.0)
            scores.pulls[row, arm] += 1
            if gap > worths.tolerance:
                scores.last_suboptimal[row] = start + step + 1
            if at_time < times.shape[0] and times[at_time] == start + step + 1:
                scores.regret[row, at_time] = settled[0]
                scores.nominal_regret[row, at_time] = settled[1]
                at_time += 1
        if runs.stop_times[row] > 0:
            for later in range(at_time, times.shape[0]):
                scores.regret[row, later] = settled[0]
                scores.nominal_regret[row, later] = settled[1]
            at_time = times.shape[0]
        cursor[NEXT_TIME] = at_time


def reset_scores(scores: ScoreBuffers, row: int) -> None:
    """Start a run."""
    scores.cursor[NEXT_TIME] = 0
    scores.cursor[CURRENT_ARM] = -1
    scores.cursor[STREAK_LENGTH] = 0
    scores.settled[0] = 0.0
    scores.settled[1] = 0.0
    scores.last_suboptimal[row] = 0
    for arm in range(scores.pulls.shape[1]):
        scores.pulls[row, arm] = 0
