"""Accounts: regret and pulls, from which arms were played and what they were worth.

Policies leave behind streaks, stretches of steps with one arm. Where blocks and checkpoints cut
a run makes no difference to a single bit. The regret of a run that was stopped stays as it is.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.simulation.seat import Runs

# Positions in Account.numbers: the next checkpoint, the arm played now and how often in a row.
NEXT, ARM, STREAK = range(3)


class Account(NamedTuple):
    """What is written down of one policy, a row for each run."""

    times: IntArray  # (n_times,) when
    numbers: IntArray  # (3,) of the run that is not finished
    settled: FloatArray  # (2,) regret and nominal regret before the present streak
    pulls: IntArray  # (n_rows, n_arms)
    last_suboptimal: IntArray  # (n_rows,)
    regret: FloatArray  # (n_rows, n_times)
    nominal_regret: FloatArray  # (n_rows, n_times)


def new_account(times: IntArray, n_rows: int, n_arms: int) -> Account:
    """Room for some runs."""
    return Account(
        times=times,
        numbers=np.zeros(3, np.int64),
        settled=np.zeros(2),
        pulls=np.zeros((n_rows, n_arms), np.int64),
        last_suboptimal=np.zeros(n_rows, np.int64),
        regret=np.zeros((n_rows, len(times))),
        nominal_regret=np.zeros((n_rows, len(times))),
    )


class FixedScores(NamedTuple):
    """What plays cost where means stay: one row for all runs, or one for each."""

    gaps: FloatArray  # (n_rows or 1, n_arms) by the means that pay
    nominal_gaps: FloatArray  # (n_rows or 1, n_arms) by the model's means
    negligible: float  # a gap up to this one is none


def score_fixed(
    scores: FixedScores, runs: Runs, account: Account, start: int, n_steps: int, n_rows: int
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs.

    A streak enters the sum as one product, however many calls it extends over.
    """
    times, numbers = account.times, account.numbers
    for row in range(n_rows):
        if start == 0:
            open_row(account, row)
        gaps = scores.gaps[min(row, scores.gaps.shape[0] - 1)]
        nominal_gaps = scores.nominal_gaps[min(row, scores.nominal_gaps.shape[0] - 1)]
        regret, nominal_regret = account.regret[row], account.nominal_regret[row]
        settled, nominal_settled = account.settled[0], account.settled[1]
        at_time, current, streak = numbers[NEXT], numbers[ARM], numbers[STREAK]
        n_streaks, end = runs.n_streaks[row], 0
        for number in range(row * n_steps, row * n_steps + n_streaks):
            arm = runs.arms[number]
            begin = end
            end = runs.n_played[row]
            if number + 1 < row * n_steps + n_streaks:
                end = runs.starts[number + 1]
            if arm != current:
                if current >= 0:
                    settled += streak * gaps[current]
                    nominal_settled += streak * nominal_gaps[current]
                current = arm
                streak = 0
            gap, nominal_gap = gaps[arm], nominal_gaps[arm]
            while at_time < times.shape[0] and times[at_time] <= start + end:
                so_far = streak + (times[at_time] - start - begin)
                regret[at_time] = settled + so_far * gap
                nominal_regret[at_time] = nominal_settled + so_far * nominal_gap
                at_time += 1
            streak += end - begin
            account.pulls[row, arm] += end - begin
            if gap > scores.negligible:
                account.last_suboptimal[row] = start + end
        if runs.stopped[row] > 0 and current >= 0:
            for later in range(at_time, times.shape[0]):
                regret[later] = settled + streak * gaps[current]
                nominal_regret[later] = nominal_settled + streak * nominal_gaps[current]
            at_time = times.shape[0]
        account.settled[0], account.settled[1] = settled, nominal_settled
        numbers[NEXT] = at_time
        numbers[ARM] = current
        numbers[STREAK] = streak


class MovingScores(NamedTuple):
    """What plays cost where means move: worth on the unit scale, a cell for each step."""

    best: FloatArray  # (n_cells,) of the best arm, by the means that pay
    nominal_best: FloatArray  # (n_cells,) the same, by the model's means
    worth: FloatArray  # (n_cells,) of the arm played, by the means that pay
    nominal_worth: FloatArray  # (n_cells,) the same, by the model's means
    negligible: float


def score_moving(
    scores: MovingScores, runs: Runs, account: Account, start: int, n_steps: int, n_rows: int
) -> None:
    """Score the steps start + 1 to start + n_steps of some runs, step by step."""
    times, numbers, settled = account.times, account.numbers, account.settled
    for row in range(n_rows):
        if start == 0:
            open_row(account, row)
        first_cell = row * n_steps
        at_time = numbers[NEXT]
        number = -1
        arm = 0
        for step in range(runs.n_played[row]):
            if number + 1 < runs.n_streaks[row] and runs.starts[first_cell + number + 1] == step:
                number += 1
                arm = runs.arms[first_cell + number]
            at = first_cell + step
            gap = max(scores.best[at] - scores.worth[at], 0.0)
            settled[0] += gap
            settled[1] += max(scores.nominal_best[at] - scores.nominal_worth[at], 0.0)
            account.pulls[row, arm] += 1
            if gap > scores.negligible:
                account.last_suboptimal[row] = start + step + 1
            if at_time < times.shape[0] and times[at_time] == start + step + 1:
                account.regret[row, at_time] = settled[0]
                account.nominal_regret[row, at_time] = settled[1]
                at_time += 1
        if runs.stopped[row] > 0:
            for later in range(at_time, times.shape[0]):
                account.regret[row, later] = settled[0]
                account.nominal_regret[row, later] = settled[1]
            at_time = times.shape[0]
        numbers[NEXT] = at_time


def open_row(account: Account, row: int) -> None:
    """Begin a run."""
    account.numbers[NEXT] = 0
    account.numbers[ARM] = -1
    account.numbers[STREAK] = 0
    account.settled[0] = 0.0
    account.settled[1] = 0.0
    account.last_suboptimal[row] = 0
    for arm in range(account.pulls.shape[1]):
        account.pulls[row, arm] = 0


Scores = Any  # FixedScores or MovingScores
