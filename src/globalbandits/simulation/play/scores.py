"""Scores: regret and pulls of a policy, computed from the arms that it played.

The play loop records streaks, which are sequences of steps with the same arm. The scores have the
same bits for every division of a run into blocks and checkpoints. The regret of a stopped run is
constant after the stop.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.simulation.play.loop import RunBuffers

# Positions in ScoreBuffers.cursor.
NEXT_TIME, CURRENT_ARM, STREAK_LENGTH = range(3)


class ScoreBuffers(NamedTuple):
    """The scores of one policy, with one row per run."""

    times: IntArray  # (n_times,) the checkpoints
    cursor: IntArray  # (3,) next checkpoint, current arm and length of its streak
    settled: FloatArray  # (2,) regret and nominal regret before the current streak
    pulls: IntArray  # (n_rows, n_arms)
    last_suboptimal: IntArray  # (n_rows,)
    regret: FloatArray  # (n_rows, n_times)
    nominal_regret: FloatArray  # (n_rows, n_times)
    context_regret: FloatArray  # (n_rows, n_times, n_contexts); no contexts if there are none
    context_settled: FloatArray  # (n_contexts,) regret so far


def empty_scores(times: IntArray, n_rows: int, n_arms: int, n_contexts: int = 0) -> ScoreBuffers:
    """Score buffers of zeros for some runs."""
    return ScoreBuffers(
        times=times,
        cursor=np.zeros(3, np.int64),
        settled=np.zeros(2),
        pulls=np.zeros((n_rows, n_arms), np.int64),
        last_suboptimal=np.zeros(n_rows, np.int64),
        regret=np.zeros((n_rows, len(times))),
        nominal_regret=np.zeros((n_rows, len(times))),
        context_regret=np.zeros((n_rows, len(times), n_contexts)),
        context_settled=np.zeros(n_contexts),
    )


class ArmGaps(NamedTuple):
    """Cost of a decision for each arm if means are constant; one row per run, or one for all."""

    gaps: FloatArray  # (n_rows or 1, n_arms) by the true means
    nominal_gaps: FloatArray  # (n_rows or 1, n_arms) by the model's means
    tolerance: float  # a gap up to this counts as zero


def score_fixed(
    arm_gaps: ArmGaps, runs: RunBuffers, scores: ScoreBuffers, start: int, n_steps: int, n_rows: int
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs.

    A streak enters the sum as one product, even if it extends over several calls.
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
    """Worth of decisions if means, or the arms that can be played, change; one cell per step."""

    contexts: IntArray  # (n_cells,) read only if there are contexts
    best: FloatArray  # (n_cells,) of the best arm that can be played, by the true means
    nominal_best: FloatArray  # (n_cells,) the same, by the model's means
    by_step: bool  # whether means change from step to step
    # If they do, the worth of the arm played at each step.
    worth: FloatArray  # (n_cells,) by the true means
    nominal_worth: FloatArray  # (n_cells,) by the model's means
    # If not, minus the worth of all arms; one row per run, or one for all.
    gaps: FloatArray  # (n_rows or 1, n_arms) by the true means
    nominal_gaps: FloatArray  # (n_rows or 1, n_arms) by the model's means
    tolerance: float


def score_steps(
    worths: StepWorths,
    runs: RunBuffers,
    scores: ScoreBuffers,
    start: int,
    n_steps: int,
    n_rows: int,
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs, in all and by context."""
    times, cursor, settled = scores.times, scores.cursor, scores.settled
    n_contexts = scores.context_settled.shape[0]
    for row in range(n_rows):
        if start == 0:
            reset_scores(scores, row)
        gaps = worths.gaps[min(row, worths.gaps.shape[0] - 1)]
        nominal_gaps = worths.nominal_gaps[min(row, worths.nominal_gaps.shape[0] - 1)]
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
            if worths.by_step:
                loss = worths.best[cell] - worths.worth[cell]
                nominal_loss = worths.nominal_best[cell] - worths.nominal_worth[cell]
            else:
                loss = worths.best[cell] + gaps[arm]
                nominal_loss = worths.nominal_best[cell] + nominal_gaps[arm]
            loss = max(loss, 0.0)
            settled[0] += loss
            settled[1] += max(nominal_loss, 0.0)
            if n_contexts > 0:
                scores.context_settled[worths.contexts[cell]] += loss
            scores.pulls[row, arm] += 1
            if loss > worths.tolerance:
                scores.last_suboptimal[row] = start + step + 1
            if at_time < times.shape[0] and times[at_time] == start + step + 1:
                record_regrets(scores, row, at_time)
                at_time += 1
        if runs.stop_times[row] > 0:
            for later in range(at_time, times.shape[0]):
                record_regrets(scores, row, later)
            at_time = times.shape[0]
        cursor[NEXT_TIME] = at_time


def record_regrets(scores: ScoreBuffers, row: int, at_time: int) -> None:
    """Store the regret so far at a checkpoint."""
    scores.regret[row, at_time] = scores.settled[0]
    scores.nominal_regret[row, at_time] = scores.settled[1]
    for context in range(scores.context_settled.shape[0]):
        scores.context_regret[row, at_time, context] = scores.context_settled[context]


def reset_scores(scores: ScoreBuffers, row: int) -> None:
    """Reset the scores for the start of a run."""
    scores.cursor[NEXT_TIME] = 0
    scores.cursor[CURRENT_ARM] = -1
    scores.cursor[STREAK_LENGTH] = 0
    scores.settled[0] = 0.0
    scores.settled[1] = 0.0
    scores.last_suboptimal[row] = 0
    for arm in range(scores.pulls.shape[1]):
        scores.pulls[row, arm] = 0
    for context in range(scores.context_settled.shape[0]):
        scores.context_settled[context] = 0.0
