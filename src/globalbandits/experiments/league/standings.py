"""Who did how well: means with intervals, ranks, and paired differences to the best."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits import pages
from globalbandits._types import FloatArray
from globalbandits.experiments.league.scenarios import Scenario
from globalbandits.experiments.verdicts import Z95

_NEGLIGIBLE = 0.5  # a regret, in rewards


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
        """Whether the best policy's lead is within its own 95 % interval."""
        return self.rank == 1 or self.behind <= Z95 * self.behind_sem


@dataclasses.dataclass(frozen=True, kw_only=True)
class Standings:
    """The league, played: ``cells[scenario key][policy label]``, where the policy could play."""

    scenarios: tuple[Scenario, ...]
    policies: tuple[str, ...]
    cells: Mapping[str, Mapping[str, Cell]]
    absent: Mapping[str, Mapping[str, str]]  # why a policy did not play a scenario
    seed: int
    seconds: float

    def relative(self) -> FloatArray:
        """log10 of regret over the scenario's best: (n_policies, n_scenarios), nan if absent.

        A best regret below half a reward counts as half a reward: less is nobody's concern.
        """
        table = np.full((len(self.policies), len(self.scenarios)), np.nan)
        for column, scenario in enumerate(self.scenarios):
            row_of = self.cells[scenario.key]
            best = max(min(cell.regret for cell in row_of.values()), _NEGLIGIBLE)
            for row, label in enumerate(self.policies):
                if label in row_of:
                    table[row, column] = math.log10(max(row_of[label].regret, best) / best)
        return table

    def order(self) -> tuple[str, ...]:
        """Policies by their mean relative regret, best first; who misses scenarios is last."""
        table = self.relative()
        complete = ~np.isnan(table).any(axis=1)
        score = np.where(complete, np.nan_to_num(table).mean(axis=1), np.inf)
        missed = np.sum(np.isnan(table), axis=1)
        return tuple(self.policies[row] for row in np.lexsort((missed, score)))

    def __str__(self) -> str:
        """Who won, in one sentence."""
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
        """All numbers as plain values, for a file."""
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
    """The cells of one scenario from each policy's final regrets, run by run.

    >>> cells = rank({"a": np.array([1.0, 2.0]), "b": np.array([2.0, 4.0])}, {"a": 1., "b": 1.})
    >>> cells["b"].rank, cells["b"].behind, cells["a"].regret
    (2, 1.5, 1.5)
    """
    order: Sequence[str] = sorted(regrets, key=lambda label: float(regrets[label].mean()))
    best = regrets[order[0]]
    cells = {}
    for place, label in enumerate(order, start=1):
        final = regrets[label]
        root = math.sqrt(final.size)
        cells[label] = Cell(
            regret=float(final.mean()),
            sem=float(final.std(ddof=1)) / root,
            rank=place,
            behind=float((final - best).mean()),
            behind_sem=float((final - best).std(ddof=1)) / root,
            nanoseconds=nanoseconds[label],
            runs=int(final.size),
        )
    return {label: cells[label] for label in regrets}
