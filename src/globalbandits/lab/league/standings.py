"""Standings of the league: mean regrets, ranks, and paired differences to the best policy."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits import pages
from globalbandits._means import Z95, mean_and_error
from globalbandits._types import FloatArray
from globalbandits.lab.league.scenarios import Scenario

NEGLIGIBLE_REGRET = 0.5  # in rewards


@dataclasses.dataclass(frozen=True, kw_only=True)
class Cell:
    """One policy on one scenario."""

    regret: float  # mean over runs of the regret at the horizon
    sem: float
    rank: int  # 1 is the smallest mean
    behind: float  # paired difference to the best policy of the scenario
    behind_sem: float
    nanoseconds: float  # time per step
    runs: int

    @property
    def is_level(self) -> bool:
        """Whether the 95 % interval of the difference to the best policy contains 0."""
        return self.rank == 1 or self.behind <= Z95 * self.behind_sem


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standings:
    """The result of a league: ``cells[scenario key][policy label]`` if the policy could play."""

    scenarios: tuple[Scenario, ...]
    policies: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Cell]]
    absent: Mapping[str, Mapping[str, str]]  # reason why a policy did not play a scenario
    seed: int
    seconds: float

    def relative(self) -> FloatArray:
        """Return log10 of regret over the best one: (n_policies, n_scenarios), nan if absent.

        A best regret below half a reward counts as half a reward.
        """
        table = np.full((len(self.policies), len(self.scenarios)), np.nan)
        for column, scenario in enumerate(self.scenarios):
            row_of = self.cells[scenario.key]
            best = max(min(cell.regret for cell in row_of.values()), NEGLIGIBLE_REGRET)
            for row, label in enumerate(self.policies):
                if label in row_of:
                    table[row, column] = math.log10(max(row_of[label].regret, best) / best)
        return table

    def order(self) -> tuple[str, ...]:
        """Return policies by mean relative regret, best first; those that miss scenarios last."""
        table = self.relative()
        complete = ~np.isnan(table).any(axis=1)
        score = np.where(complete, np.nan_to_num(table).mean(axis=1), np.inf)
        missed = np.sum(np.isnan(table), axis=1)
        return tuple(self.policies[row] for row in np.lexsort((missed, score)))

    def __str__(self) -> str:
        """Return the winner in one sentence."""
        rows = zip(self.policies, self.relative(), strict=True)
        logs = {label: row[~np.isnan(row)] for label, row in rows}
        first, *others = [label for label in self.order() if logs[label].size > 0]
        number = logs[first].size
        over = "one scenario" if number == 1 else f"{number} scenarios (geometric mean)"
        ratio = 10.0 ** logs[first].mean()
        text = f"{first} won: its regret is {ratio:.2f} times the best one's over {over}"
        if others and logs[others[0]].size == number:
            text += f"; next is {others[0]} with {10.0 ** logs[others[0]].mean():.2f} times"
        return f"{text}."

    def _repr_html_(self) -> str:
        rows = []
        for label in self.order():
            cells = [self.cells[scenario.key].get(label) for scenario in self.scenarios]
            rows.append(
                [
                    label,
                    *(
                        "-" if cell is None else f"{cell.regret:.4g} ± {cell.sem:.2g}"
                        for cell in cells
                    ),
                ]
            )
        header = ["policy", *(scenario.title for scenario in self.scenarios)]
        return pages.paragraph(self, strong=True) + pages.table(header, rows)

    def to_dict(self) -> dict[str, Any]:
        """Return all numbers as values that JSON can hold."""
        return {
            "seed": self.seed,
            "seconds": self.seconds,
            "scenarios": {
                scenario.key: {
                    "title": scenario.title,
                    "text": scenario.text,
                    "horizon": scenario.horizon,
                    "environment": scenario.environment.to_dict(),
                    "policies": {
                        label: dataclasses.asdict(cell)
                        for label, cell in self.cells[scenario.key].items()
                    },
                    "absent": dict(self.absent[scenario.key]),
                }
                for scenario in self.scenarios
            },
        }


def rank(regrets: Mapping[str, FloatArray], nanoseconds: Mapping[str, float]) -> dict[str, Cell]:
    """Return the cells of one scenario from each policy's final regrets, run by run.

    >>> cells = rank({"a": np.array([1.0, 2.0]), "b": np.array([2.0, 4.0])}, {"a": 1., "b": 1.})
    >>> cells["b"].rank, cells["b"].behind, cells["a"].regret
    (2, 1.5, 1.5)
    """
    order: Sequence[str] = sorted(regrets, key=lambda label: float(regrets[label].mean()))
    best = regrets[order[0]]
    cells = {}
    for place, label in enumerate(order, start=1):
        final = regrets[label]
        regret, sem = mean_and_error(final)
        behind, behind_sem = mean_and_error(final - best)
        cells[label] = Cell(
            regret=float(regret),
            sem=float(sem),
            rank=place,
            behind=float(behind),
            behind_sem=float(behind_sem),
            nanoseconds=nanoseconds[label],
            runs=int(final.size),
        )
    return {label: cells[label] for label in regrets}
