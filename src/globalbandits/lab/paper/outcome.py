"""What an experiment gives back: numbers, how they are laid out, and figures."""

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
    """A figure that is drawn when it is needed."""

    name: str  # of its file
    caption: str
    draw: "Callable[[], Figure]"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Grid:
    """Entries laid out as a table: a row per label, and the keys of its entries."""

    title: str
    corner: str  # what the row labels are
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    below: str = ""  # the chart it belongs to; without one it stands below all charts


@dataclasses.dataclass(frozen=True, kw_only=True)
class Outcome:
    """One experiment, done."""

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
        """The paper's tables as wholes."""
        return judge_jointly(self.spec.joint, self.entries)

    @property
    def key(self) -> str:
        """The experiment's key in ``results.json``."""
        number = self.spec.number
        return self.spec.name if number is None else f"experiment_{number}"

    @property
    def heading(self) -> str:
        """What stands above it."""
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
    """One entry for each number and statement: of several readings that with the best verdict.

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
    """How many numbers and statements got which verdict, each by its best reading.

    >>> count_verdicts([])[Verdict.REPRODUCED]
    0
    """
    counted = Counter(entry.verdict for entry in best_entries(outcomes))
    return {verdict: counted[verdict] for verdict in Verdict}
