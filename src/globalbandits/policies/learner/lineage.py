"""Where a learner's rewards come from, so that a merge counts a common past once.

A learner that is saved, forked or merged leaves a *mark*: a random name for all it has seen up
to then. A learner that was restored or forked remembers what it had seen at its *base*, the
mark it started from; so does one that was merged into another. Two learners can be added if
one's base is a mark of the other and neither holds anything the other has gained since: then
what was seen at the base is counted once. Learners without any common origin are added whole.
Whatever else is asked cannot be known, and is refused.
"""

import secrets
from typing import Any, NamedTuple

from globalbandits._encoding import check_keys
from globalbandits._types import FloatArray
from globalbandits._validation import show
from globalbandits.errors import StateError
from globalbandits.statistics import Statistics

_N_BYTES = 8  # of a mark
_MOST_MARKS = 256  # older ones are dropped, but never the origins


class Seen(NamedTuple):
    """All that adds up in a learner."""

    stats: Statistics
    histogram: FloatArray  # (n_arms, n_bins + 1)


class Base(NamedTuple):
    """What a learner had seen when it was restored, forked or last merged into another."""

    marks: frozenset[str]  # its own among them
    mark: str
    seen: Seen


class Lineage:
    """The marks of one learner, and its base."""

    def __init__(
        self, origins: frozenset[str], marks: tuple[str, ...], base: Base | None, version: int
    ) -> None:
        self._origins = origins  # of all learners whose rewards are in this one
        self._marks = marks  # the latest last
        self._base = base
        self._marked = version  # the learner's version at the last mark

    @classmethod
    def new(cls) -> "Lineage":
        """The lineage of a learner that starts with nothing."""
        return cls(frozenset([_new_mark()]), (), None, -1)

    def mark(self, version: int) -> str:
        """A mark of the present; ``version`` tells whether anything has changed since the last."""
        if not self._marks or version != self._marked:
            self._marks = (*self._marks, _new_mark())[-_MOST_MARKS:]
            self._marked = version
        return self._marks[-1]

    def rebase(self, seen: Seen, version: int) -> None:
        """What has been seen so far is in another learner now: the next merge starts here."""
        mark = self.mark(version)
        self._base = Base(frozenset(self._marks), mark, seen)

    def common_past(self, other: "Lineage") -> Seen | None:
        """What is in both learners, when ``other`` is merged into this one; None for nothing.

        Raises:
            StateError: if it cannot be known.
        """
        if not self._origins & other._origins:
            return None
        for one, two in ((other, self), (self, other)):
            base = one._base
            if base is not None and base.mark in two._marks:
                ones, twos = set(one._marks), set(two._marks)
                if not (ones - base.marks) & twos and not (twos - base.marks) & ones:
                    return base.seen
        raise StateError(
            "learners to merge must share no more than a state that one of them started from, "
            "got two that share rewards in a way that cannot be told apart"
        )

    def join(self, other: "Lineage") -> None:
        """Take over the marks of a learner that is being merged into this one."""
        self._origins |= other._origins
        mine = set(self._marks)
        added = tuple(mark for mark in other._marks if mark not in mine)
        self._marks = (*added, *self._marks)[-_MOST_MARKS:]

    def encode(self, version: int) -> dict[str, Any]:
        """The lineage as plain lists, with a mark of the present."""
        self.mark(version)
        return {"origins": sorted(self._origins), "marks": list(self._marks)}

    @classmethod
    def decode(cls, saved: Any, seen: Seen) -> "Lineage":
        """The lineage of a learner of version 0, restored with this much seen."""
        check_keys("lineage", saved, ("origins", "marks"))
        origins = frozenset(_as_marks("lineage.origins", saved["origins"]))
        marks = _as_marks("lineage.marks", saved["marks"])
        return cls(origins, marks, Base(frozenset(marks), marks[-1], seen), 0)


def _new_mark() -> str:
    return secrets.token_hex(_N_BYTES)


def _as_marks(name: str, saved: Any) -> tuple[str, ...]:
    good = isinstance(saved, list) and len(saved) > 0
    if not good or not all(isinstance(mark, str) and len(mark) == 2 * _N_BYTES for mark in saved):
        raise StateError(
            f"{name} must be a list of texts of {2 * _N_BYTES} characters, got {show(saved)}"
        )
    return tuple(saved)
