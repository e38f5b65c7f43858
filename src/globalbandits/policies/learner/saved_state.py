"""A learner's saved state: encoding it as a plain dict for JSON, and decoding and checking it.

The dict holds the statistics, the fields of the policy's state that do not follow from them, the
evidence, the generator and the learner's lineage. Everything else is recomputed from these.
"""

import secrets
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from globalbandits._plain_data import check_keys, decode_tuple, encode_tuple, plain
from globalbandits._random import Stream, generator
from globalbandits._rewards import as_pending
from globalbandits._types import FloatArray
from globalbandits._validation import as_seed, require, show
from globalbandits.errors import PolicyError, RewardError, StateError
from globalbandits.model import RewardModel
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.policies.wrappers.inner_policy import check_kept, derive
from globalbandits.statistics import Statistics, count, no_statistics

FORMAT = "globalbandits.learner"
VERSION = 2
KEYS = (
    "format",
    "version",
    "policy",
    "model",
    "generator",
    "lineage",
    "statistics",
    "kept",
    "evidence",
)
OPTIONAL_KEYS = ("record", "withdrawn", "pending")

# Largest difference of a reward from one in the record, on the unit scale.
_SAME_UNIT = 1e-12

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def check_header(state: Any) -> None:
    """Raise a StateError unless this is a learner's state in the current format version."""
    kind = state.get("format") if isinstance(state, Mapping) else None
    if kind != FORMAT:
        raise StateError(f"state must be a dict with format {FORMAT!r}, got {show(kind)}")
    version = state.get("version")
    if version != VERSION or type(version) is not int:
        raise StateError(
            f"state must have version {VERSION}, got {show(version)}: "
            "states of other versions cannot be read; update a new learner with its rewards"
        )
    check_keys("state", state, (*KEYS, *(key for key in OPTIONAL_KEYS if key in state)))


def kept_fields(rules: Rules, state: State) -> tuple[str, ...]:
    """Return the names of the fields to save: all of them if the order of rewards matters."""
    return tuple(state._fields) if rules.rebuild is None else rules.kept


def encode_kept(rules: Rules, state: State) -> dict[str, Any]:
    """Encode the fields of a policy's state that do not follow from the statistics."""
    return {name: encode_tuple(getattr(state, name)) for name in kept_fields(rules, state)}


def decode_kept(rules: Rules, setup: Setup, stats: Statistics, saved: Any) -> State:
    """Derive the policy's state from the statistics and the kept fields.

    Raises:
        StateError: if the kept fields cannot be those of a learner with these statistics.
    """
    derived = derive(rules, setup, stats)
    names = kept_fields(rules, derived)
    check_keys("kept", saved, names)
    fields = {
        name: decode_tuple(f"kept.{name}", saved[name], getattr(derived, name)) for name in names
    }
    state = derived._replace(**fields)
    check_kept(rules, setup, stats, state, derived)
    return state


def decode_pending(saved: Any, n_arms: int) -> list[tuple[int, float]]:
    """Decode the outcomes that a learner awaits."""
    pairs = isinstance(saved, list) and all(
        isinstance(pair, list) and len(pair) == 2 for pair in saved
    )
    if not pairs:
        raise StateError(f"pending must be pairs of an arm and a weight, got {show(saved)}")
    try:
        return as_pending([pair[0] for pair in saved], [pair[1] for pair in saved], n_arms)
    except RewardError as error:
        raise StateError(f"pending must be outcomes that are awaited: {error}") from None


class Record:
    """The decisions and rewards of a learner in their order.

    Only for a policy that counts decisions: its state depends on the order.
    """

    def __init__(self) -> None:
        self._arms: list[int] = []
        self._rewards: list[float | None] = []  # on the unit scale; None for a decision
        self._names: list[str | None] = []  # of the rewards' decisions

    def add(self, arm: int, reward: float | None, name: str | None = None) -> None:
        """Add a reward, or a decision if the reward is None."""
        self._arms.append(arm)
        self._rewards.append(reward)
        self._names.append(name)

    @property
    def n_decisions(self) -> int:
        """The number of decisions."""
        return self._rewards.count(None)

    def find(self, arm: int, reward: float, number: int | None, name: str | None = None) -> int:
        """Return the place of a reward: the last such one, or that of a number or a name."""
        if name is not None and name in self._names:
            # The last one: an earlier reward of the decision was forgotten before.
            place = len(self._names) - 1 - self._names[::-1].index(name)
            unit = self._rewards[place]
            fits = (
                self._arms[place] == arm and unit is not None and abs(unit - reward) <= _SAME_UNIT
            )
            rule = f"be the reward of decision {name!r}"
            require(fits, "reward", rule, reward, RewardError)
            return place
        places = [place for place, unit in enumerate(self._rewards) if unit is not None]
        if number is not None:
            rule = f"be from 1 to {len(places)}, the number of rewards"
            known = 1 <= number <= len(places)
            require(known, "number", rule, number, RewardError)
            places = [places[number - 1]]
        for place in reversed(places):
            unit = self._rewards[place]
            if self._arms[place] == arm and unit is not None and abs(unit - reward) <= _SAME_UNIT:
                return place
        where = "" if number is None else f" as number {number}"
        raise RewardError(f"reward must be one that arm {arm} has had{where}, got {reward!r}")

    def remove(self, place: int) -> None:
        """Remove the reward at a place."""
        del self._arms[place], self._rewards[place], self._names[place]

    def replay(self, rules: Rules, setup: Setup, stats: Statistics, state: State) -> None:
        """Count all decisions and rewards in empty statistics and a new state."""
        assert rules.decide is not None
        for arm, reward in zip(self._arms, self._rewards, strict=True):
            if reward is None:
                rules.decide(setup, stats, state, arm)
            else:
                count(stats, arm, reward)
                rules.update(setup, stats, state, arm, reward)

    def moved(self, rows: list[int | None]) -> "Record":
        """Return the record with the arms of a new model, from the rows that `match_arms` found."""
        places = {row: arm for arm, row in enumerate(rows) if row is not None}
        lost = sorted(set(self._arms) - places.keys())
        if lost:
            raise StateError(f"model must keep the arms that were played, got one without {lost}")
        record = Record()
        record._arms = [places[arm] for arm in self._arms]
        record._rewards = list(self._rewards)
        record._names = list(self._names)
        return record

    def encode(self) -> dict[str, Any]:
        """Encode the record as plain lists."""
        names = {"names": list(self._names)} if any(self._names) else {}
        return {"arms": list(self._arms), "rewards": list(self._rewards)} | names

    @classmethod
    def decode(cls, saved: Any, stats: Statistics) -> "Record":
        """Decode a record, and check that it leads to these statistics."""
        keys = ("arms", "rewards")
        has_names = isinstance(saved, Mapping) and "names" in saved
        check_keys("record", saved, (*keys, "names") if has_names else keys)
        arms, rewards = saved["arms"], saved["rewards"]
        lists = isinstance(arms, list) and isinstance(rewards, list) and len(arms) == len(rewards)
        names = saved["names"] if has_names and lists else [None] * (len(arms) if lists else 0)
        lists = lists and isinstance(names, list) and len(names) == len(arms)
        lists = lists and all(name is None or isinstance(name, str) for name in names)
        if not lists or not all(_is_entry(*entry) for entry in zip(arms, rewards, strict=True)):
            raise StateError(f"record must have arms and rewards of one length, got {show(saved)}")
        record, total = cls(), no_statistics(len(stats.counts))
        for arm, reward, name in zip(arms, rewards, names, strict=True):
            if arm >= len(stats.counts):
                raise StateError(f"record must have arms of the model, got {arm}")
            if reward is not None:
                count(total, arm, float(reward))
            record.add(arm, None if reward is None else float(reward), name)
        if not np.array_equal(total.counts, stats.counts) or not np.allclose(
            total.sums, stats.sums
        ):
            raise StateError("record must lead to the statistics, got another one")
        return record


def _is_entry(arm: Any, reward: Any) -> bool:
    if type(arm) is not int or arm < 0:
        return False
    return reward is None or (type(reward) in (int, float) and 0.0 <= reward <= 1.0)


def as_generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """Return the given generator, or a new one from a seed or from fresh entropy."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return generator(Stream.LEARNER, as_seed(seed, PolicyError))


def encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    """Encode the state of a generator as plain numbers and lists."""
    encoded: dict[str, Any] = plain(rng.bit_generator.state)
    return encoded


def decode_generator(saved: Any) -> np.random.Generator:
    """Return a generator that continues where the saved one stopped."""
    kind = saved.get("bit_generator") if isinstance(saved, Mapping) else None
    if not isinstance(kind, str) or kind not in _BIT_GENERATORS:
        known = ", ".join(_BIT_GENERATORS)
        raise StateError(f"generator must be the state of one of {known}, got {show(saved)}")
    bits = getattr(np.random, kind)()
    try:
        # NumPy raises many kinds of errors here, for example for huge integers or deep nesting.
        bits.state = saved
        same = plain(bits.state) == saved
    except Exception as error:
        raise StateError(
            f"generator must be a state of {kind}, got {show(saved)}: {show(error)}"
        ) from None
    if not same:
        raise StateError(f"generator must be a state of {kind}, got {show(saved)}")
    return np.random.Generator(bits)


def decode_policy(saved: Any) -> Policy:
    """Decode the policy of a saved state."""
    if not isinstance(saved, Mapping):
        raise StateError(f"policy must be a dict, got {show(saved)}")
    try:
        return Policy.from_dict(saved)
    except (PolicyError, TypeError, OverflowError, RecursionError) as error:
        raise StateError(f"policy must be a known spec, got {show(saved)}: {show(error)}") from None


# The lineage of a learner says where its rewards come from, so that a merge counts shared rewards
# once.
#
# Saving, forking and merging give a learner a *mark*: a random name for all rewards it has so far.
# A learner that was restored, forked or merged into another remembers its *base*: the mark it
# started from, and the rewards it had then. Two learners can be merged if the base of one is a
# mark of the other, and neither has any mark that the other has added since. The rewards at the
# base are then counted once. Learners without a common origin are simply added. In all other cases
# the shared rewards cannot be determined, and the merge raises a StateError.

_MARK_BYTES = 8
# Older marks are dropped. Origins are always kept.
_MAX_MARKS = 256


class Seen(NamedTuple):
    """The additive part of a learner's knowledge."""

    stats: Statistics
    histogram: FloatArray  # (n_arms, n_bins + 1)


class Base(NamedTuple):
    """The rewards of a learner when it was restored, forked or last merged into another."""

    marks: frozenset[str]  # all marks at that time
    mark: str  # the latest of them
    seen: Seen


class Lineage:
    """The marks of one learner, and its base."""

    def __init__(
        self, origins: frozenset[str], marks: tuple[str, ...], base: Base | None, version: int
    ) -> None:
        self._origins = origins  # of all learners whose rewards are in this one
        self._marks = marks  # oldest first
        self._base = base
        self._marked = version  # the learner's version at the last mark

    @classmethod
    def new(cls) -> "Lineage":
        """Return the lineage of a new learner."""
        return cls(frozenset([_new_mark()]), (), None, -1)

    def mark(self, version: int) -> str:
        """Return the mark of this version of the learner; add one if the version is new."""
        if not self._marks or version != self._marked:
            self._marks = (*self._marks, _new_mark())[-_MAX_MARKS:]
            self._marked = version
        return self._marks[-1]

    def rebase(self, seen: Seen, version: int) -> None:
        """Make the present the base: the rewards so far are now part of another learner."""
        mark = self.mark(version)
        self._base = Base(frozenset(self._marks), mark, seen)

    def common_past(self, other: "Lineage") -> Seen | None:
        """Return what both learners share when ``other`` is merged into this one, or None.

        Raises:
            StateError: if it cannot be determined.
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
            "got two that share rewards, and it is unknown which"
        )

    def join(self, other: "Lineage") -> None:
        """Add the marks of a learner that is being merged into this one."""
        self._origins |= other._origins
        mine = set(self._marks)
        added = tuple(mark for mark in other._marks if mark not in mine)
        self._marks = (*added, *self._marks)[-_MAX_MARKS:]

    def encode(self, version: int) -> dict[str, Any]:
        """Encode the lineage as plain lists, with a mark for this version."""
        self.mark(version)
        return {"origins": sorted(self._origins), "marks": list(self._marks)}

    @classmethod
    def decode(cls, saved: Any, seen: Seen) -> "Lineage":
        """Decode the lineage of a restored learner, whose version is 0."""
        check_keys("lineage", saved, ("origins", "marks"))
        origins = frozenset(_as_marks("lineage.origins", saved["origins"]))
        marks = _as_marks("lineage.marks", saved["marks"])
        return cls(origins, marks, Base(frozenset(marks), marks[-1], seen), 0)


def _new_mark() -> str:
    return secrets.token_hex(_MARK_BYTES)


def _as_marks(name: str, saved: Any) -> tuple[str, ...]:
    good = isinstance(saved, list) and len(saved) > 0
    if not good or not all(
        isinstance(mark, str) and len(mark) == 2 * _MARK_BYTES for mark in saved
    ):
        raise StateError(
            f"{name} must be a list of texts of {2 * _MARK_BYTES} characters, got {show(saved)}"
        )
    return tuple(saved)


# The model of a saved state: the arms' values, and samples of the curves that describe rewards.
#
# The worth of decisions is not saved, and curves are compared with a tolerance. So a state still
# fits its model after a change of cost or target, or if a formula is written in another way.


def encode_model(model: RewardModel) -> dict[str, Any]:
    """Encode the arms' values and samples of the curves as plain data."""
    return {"arms": [_plain_value(arm) for arm in model.arms], "observed": model.observed_samples()}


def check_same(model: RewardModel, saved: Any) -> None:
    """Raise a StateError unless the saved model has the same arms and curves."""
    arms = saved_arms(saved)
    mine = [_plain_value(arm) for arm in model.arms]
    if arms != mine:
        raise StateError(f"state must be of a model with the arms {show(mine)}, got {show(arms)}")
    if not model.same_observed(saved["observed"]):
        raise StateError(
            "state must be of a model with the same curves, domain and reward range, "
            f"got another one with the arms {show(arms)}"
        )


def match_arms(model: RewardModel, saved: Any, stats: Statistics) -> list[int | None]:
    """Return the saved arm with the same value for each arm of a model; None for a new arm.

    Args:
        model: the new model.
        saved: what `encode_model` returned.
        stats: the statistics of the saved model's arms.

    Raises:
        StateError: if the curves of a common arm differ, or an arm with rewards would be lost.
    """
    arms = saved_arms(saved)
    mine = [_plain_value(arm) for arm in model.arms]
    rows = [arms.index(arm) if arm in arms else None for arm in mine]
    lost = [arm for row, arm in enumerate(arms) if row not in rows and stats.counts[row] > 0]
    if lost:
        raise StateError(
            f"model must keep the arms that have rewards, got one without {show(lost)}"
        )
    if not model.same_observed(saved["observed"], rows):
        raise StateError(
            "model must have the same domain and reward range and the same curves for the arms "
            f"{show([arm for arm, row in zip(mine, rows, strict=True) if row is not None])}, "
            "got another one; the default ranges of a family depend on its arms, so give the "
            "ranges of the saved model"
        )
    return rows


def move(stats: Statistics, rows: list[int | None]) -> Statistics:
    """Return the statistics of the arms of a new model, from the rows that `match_arms` found."""
    moved = no_statistics(len(rows))
    for arm, row in enumerate(rows):
        if row is not None:
            moved.counts[arm] = stats.counts[row]
            moved.sums[arm] = stats.sums[row]
            moved.squares[arm] = stats.squares[row]
    moved.total[0] = stats.total[0]
    return moved


def decode_withdrawn(state: "Mapping[str, Any]", *, n_arms: int, rebase: bool) -> frozenset[int]:
    """Return the arms that are no longer played, by index; there must be others.

    Args:
        state: the saved state; without the key there are none.
        n_arms: number of arms of the model.
        rebase: whether the model may have other arms than the saved one.
    """
    given = state.get("withdrawn", [])
    indices = isinstance(given, list) and all(type(arm) is int for arm in given)
    valid = indices and all(0 <= arm < n_arms for arm in given) and len(set(given)) < n_arms
    if not valid and not (rebase and indices):
        raise StateError(f"withdrawn must be indices of some of the arms, got {show(given)}")
    return frozenset(arm for arm in given if arm < n_arms)


def saved_arms(saved: Any) -> list[Any]:
    """Return the arms of a saved model."""
    check_keys("model", saved, ("arms", "observed"))
    arms, observed = saved["arms"], saved["observed"]
    if not isinstance(arms, list) or not isinstance(observed, Mapping):
        raise StateError(f"model must have a list of arms and their samples, got {show(saved)}")
    return arms


def _plain_value(arm: Any) -> Any:
    """Return an arm's value as JSON can hold it; other objects are replaced by their repr."""
    if isinstance(arm, (bool, str)):
        return arm
    try:
        return float(arm)
    except (TypeError, ValueError, OverflowError):
        return repr(arm)
