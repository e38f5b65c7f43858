"""The outcome of an experiment: its numbers, tables and figures."""

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from globalbandits.lab.paper.experiment_spec import Spec
from globalbandits.lab.paper.verdicts import Entry, Joint, Verdict, judge_jointly

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, kw_only=True)
class Chart:
    """A figure that is drawn on demand."""

    name: str  # of its file
    caption: str
    draw: "Callable[[], Figure]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of entries: each row has a label and the keys of its entries."""

    title: str
    corner: str  # heading of the row labels
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    below: str = ""  # name of the chart that it follows; by default it follows all charts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """The results of one experiment."""

    spec: Spec
    horizon: int
    runs: int
    seconds: float
    entries: Mapping[str, Entry]
    grids: tuple[Grid, ...]
    charts: tuple[Chart, ...]
    notes: tuple[str, ...] = ()

    @property
    def joint(self) -> tuple[Joint, ...]:
        """The joint tests of the paper's tables."""
        return judge_jointly(self.spec.joint, self.entries)

    @property
    def key(self) -> str:
        """The experiment's key in ``results.json``."""
        number = self.spec.number
        return self.spec.name if number is None else f"experiment_{number}"

    @property
    def heading(self) -> str:
        """The title in reports."""
        number = self.spec.number
        return self.spec.title if number is None else f"Experiment {number}: {self.spec.title}"

    @property
    def statements(self) -> tuple[Entry, ...]:
        """The entries that judge a statement of the paper."""
        return tuple(entry for entry in self.entries.values() if entry.statement)


_BEST_FIRST = (
    Verdict.REPRODUCED,
    Verdict.TOO_NOISY,
    Verdict.NOT_REPRODUCED,
    Verdict.NOT_IDENTIFIED,
    Verdict.NOT_STATED,
)


def best_entries(outcomes: Iterable[Outcome]) -> list[Entry]:
    """Return one entry for each number and statement: the reading with the best verdict.

    Best is reproduced, then too noisy to tell, then not reproduced.
    """
    best: dict[tuple[str, str], Entry] = {}
    for outcome in outcomes:
        for key, entry in outcome.entries.items():
            name = outcome.key, entry.number or key
            rivals = (best.get(name, entry), entry)
            best[name] = min(rivals, key=lambda one: _BEST_FIRST.index(one.verdict))
    return list(best.values())


def count_verdicts(outcomes: Iterable[Outcome]) -> dict[Verdict, int]:
    """Return the number of entries with each verdict, after `best_entries`.

    >>> count_verdicts([])[Verdict.REPRODUCED]
    0
    """
    counted = Counter(entry.verdict for entry in best_entries(outcomes))
    return {verdict: counted[verdict] for verdict in Verdict}
