"""`Hold`: another policy's choice, kept for many decisions.

A price that is set for a day, a budget of price changes, prices that only fall. Decisions are
events, as for `Limited`: the state counts them, and rewards do not change what is held.
"""

import copy
import dataclasses
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.policies.base import Policy, Rules, register
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.wrappers.inner_policy import (
    WrapperPolicy,
    as_policy,
    moved_twice,
    passed_on,
    resume_inside,
)
from globalbandits.statistics import Statistics

# Decisions between two choices of the inner policy if only a number of changes is given. In a shop
# that sells to 3 % of its visitors, fewer visitors give little information about a price.
DEFAULT_PERIOD = 500
# Larger than any number of decisions.
_NO_MAXIMUM = 2**62
# Keep products of periods far below the largest integer.
_MAX_DOUBLINGS = 20
MAX_PERIOD = 2**40


class Setup(NamedTuple):
    """The inner policy's setup, and what is held for how long."""

    tables: Any
    inner: Any
    every: int
    most_changes: int
    only_down: bool
    start: int  # the first arm; -1 for the inner policy's choice


class State(NamedTuple):
    """The inner policy's state; for each context the arm that is held and the decisions so far."""

    inner: Any
    arm: IntArray  # (n_contexts,) -1 before the first decision; with contexts a cell
    decided: IntArray  # (n_contexts,)
    changes: IntArray  # (n_contexts,)


@cache
def hold(inner: Rules) -> Rules:
    """Hold the choices of a policy's rules."""
    inner_select, inner_update = inner.select, inner.update
    inner_rebuild, inner_among = inner.rebuild, inner.select_among

    def init(setup: Setup) -> State:
        """No decision yet."""
        n_contexts = setup.tables.n_contexts
        return State(
            inner=inner.init(setup.inner),
            arm=np.full(n_contexts, -1, np.int64),
            decided=np.zeros(n_contexts, np.int64),
            changes=np.zeros(n_contexts, np.int64),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the arm that is held; when it may change, the inner policy's arm."""
        here = int(state.arm[0])
        if here < 0 and setup.start >= 0:
            return setup.start
        if not may_change(setup, state, 0):
            return here
        wanted = int(inner_select(setup.inner, stats, state.inner, rng))
        return here if setup.only_down and 0 <= here < wanted else wanted

    def select_among(
        setup: Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        """Choose as `select` does; if the arm that is held is not offered, change it."""
        context = context_of(setup, offered[0])
        here = int(state.arm[context])
        kept = here
        if here < 0 and setup.start >= 0:
            kept = context * (setup.tables.n_arms // setup.tables.n_contexts) + setup.start
        lower = -1
        for i in range(offered.shape[0]):
            if offered[i] <= here:
                lower = int(offered[i])
            if offered[i] == kept and (here < 0 or not may_change(setup, state, context)):
                return kept
        wanted = int(inner_among(setup.inner, stats, state.inner, offered, rng))  # type: ignore[misc]
        # Without a lower arm that is offered, a higher one must follow.
        return lower if setup.only_down and lower >= 0 and wanted > here else wanted

    def decide(setup: Setup, stats: Statistics, state: State, arm: int) -> None:
        """Count a decision, and a change if it is for another arm."""
        context = context_of(setup, arm)
        if state.arm[context] != arm:
            state.changes[context] += 1 if state.arm[context] >= 0 else 0
            state.arm[context] = arm
        state.decided[context] += 1

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the inner policy."""
        inner_update(setup.inner, stats, state.inner, arm, reward)

    def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
        """Rebuild the inner policy. Decisions do not follow from rewards, and stay."""
        inner_rebuild(setup.inner, stats, state.inner)  # type: ignore[misc]

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Check and complete a saved state."""
        return is_possible(setup, state) and resume_inside(inner, setup.inner, stats, state.inner)

    return Rules(
        init,
        select,
        update,
        rebuild=None if inner_rebuild is None else rebuild,
        kept=State._fields,
        resume=resume,
        decide=decide,
        select_among=None if inner_among is None else select_among,
        **passed_on(inner),
    )


def context_of(setup: Setup, arm: int) -> int:
    """Return the context of an arm, 0 for a model without contexts."""
    return int(arm * setup.tables.n_contexts // setup.tables.n_arms)


def may_change(setup: Setup, state: State, context: int) -> bool:
    """Whether the next decision in a context may be for another arm."""
    decided, changes = state.decided[context], state.changes[context]
    if decided == 0:
        return True
    if changes >= setup.most_changes or decided % setup.every != 0:
        return False
    if setup.most_changes == _NO_MAXIMUM:
        return True
    # A budget must last: the first choices rest on few rewards and are often wrong.
    return bool(decided >= setup.every << min(changes, _MAX_DOUBLINGS))


def is_possible(setup: Setup, state: State) -> bool:
    """Whether a learner can have these numbers."""
    for context in range(setup.tables.n_contexts):
        arm, decided, changes = (int(field[context]) for field in state[1:])
        if decided == 0:
            possible = arm == -1 and changes == 0
        else:
            inside = 0 <= arm < setup.tables.n_arms and context_of(setup, arm) == context
            possible = inside and 0 <= changes < decided
        if not possible:
            return False
    return True


_WAGP = WAGP()


@register("hold")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Hold(WrapperPolicy):
    """Play the choice of another policy and keep it for many decisions.

    A learner counts each `select` as a decision. Rewards are learned as they come, by the inner
    policy. A learner can forget and be merged if the inner policy can; the arm that is held stays.
    If that arm cannot be played (``select(allowed=...)``), the inner policy chooses another one,
    which counts as a change. With contexts, each one holds an arm of its own and counts its own
    decisions and changes.

    Args:
        inner: the policy whose choices are held; may be given by position. It must not count
            decisions itself.
        every: the number of decisions between two choices of the inner policy, such as the visitors
            of a day. The default is 500 with ``most_changes`` and 1 without.
        most_changes: how many times the arm may change; None for any. So that the budget lasts,
            change k comes after ``every * 2**(k - 1)`` decisions at the earliest.
        only_down: whether only lower arms may follow, as for markdowns. The model's arms must be
            numbers in increasing order.
        start: the index of the first arm, such as today's price. By default the inner policy's
            choice; with ``only_down`` the last arm.

    >>> from globalbandits.policies import WAGP
    >>> Hold(WAGP(), every=500, start=2).label
    'Hold(WAGP, every=500, start=2)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    every: int | None = None
    most_changes: int | None = None
    only_down: bool = False
    start: int | None = None

    counts_control: ClassVar[bool] = False
    wrap = staticmethod(hold)

    def __post_init__(self) -> None:
        """Check the parameters that do not depend on the model."""
        object.__setattr__(self, "inner", as_policy("inner", self.inner))
        down = self.only_down
        require(isinstance(down, bool), "only_down", "be True or False", down, PolicyError)
        for name, minimum in (("every", 1), ("most_changes", 0), ("start", 0)):
            value = getattr(self, name)
            if value is not None:
                number = as_integer(name, value, minimum, PolicyError, maximum=MAX_PERIOD)
                object.__setattr__(self, name, number)

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """True also if arms that are worth more may be out of reach."""
        return self.inner.ignores_value or self.only_down or self.most_changes is not None

    def setup(self, model: AnyModel) -> Setup:
        """Return the inner policy's setup, and the periods."""
        n_contexts = model.tables.n_contexts
        last, start = model.n_arms // n_contexts - 1, self.start
        rule = f"be at most {last}, the last arm"
        require(start is None or start <= last, "start", rule, start, PolicyError)
        if self.only_down:
            arms = list(model.arms)[: last + 1]
            if n_contexts > 1:
                arms = [arm for _, arm in arms]
            numbers = all(isinstance(arm, int | float | np.number) for arm in arms)
            rising = numbers and all(np.diff(np.array(arms, np.float64)) > 0.0)
            rule = "be numbers in increasing order for only_down"
            require(rising, "the model's arms", rule, arms, PolicyError)
            start = last if start is None else start
        inner = self.inner.setup(model)
        default = 1 if self.most_changes is None else DEFAULT_PERIOD
        return Setup(
            tables=inner.tables,
            inner=inner,
            every=default if self.every is None else self.every,
            most_changes=_NO_MAXIMUM if self.most_changes is None else self.most_changes,
            only_down=self.only_down,
            start=-1 if start is None else start,
        )

    def carry_over(
        self, setup: Any, state: Any, kept: Mapping[str, Any], rows: list[int | None]
    ) -> None:
        """Keep the arms that are held, and the counts, under a model with other arms."""
        columns = (np.ravel(kept[name]).tolist() for name in ("arm", "decided", "changes"))
        for arm, decided, changes in zip(*columns, strict=True):
            if arm in rows:
                here = rows.index(arm)
                context = context_of(setup, here)
                state.arm[context], state.decided[context] = here, decided
                state.changes[context] = changes

    def _may_follow(self, setup: Setup, state: State) -> list[int]:
        """Return the arms that the next decision may be for, if all can be played."""
        here = int(state.arm[0])
        if here < 0 and setup.start >= 0:
            return [setup.start]
        if not may_change(setup, state, 0):
            return [here]
        top = here if setup.only_down and here >= 0 else setup.tables.n_arms - 1
        return list(range(top + 1))

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Say why another arm than the inner policy's is played."""
        inside = self.inner.limit(setup.inner, stats, state.inner, copy.deepcopy(rng))
        wanted = int(self.inner.rules_of(setup.inner).select(setup.inner, stats, state.inner, rng))
        if wanted in self._may_follow(setup, state):
            return inside
        return moved_twice(inside, f"moved from arm {wanted}: {self._why(setup, state)}")

    def _why(self, setup: Setup, state: State) -> str:
        """Say why the arm does not change now."""
        here, decided, changes = int(state.arm[0]), int(state.decided[0]), int(state.changes[0])
        if here < 0:
            return f"the first decision is for arm {setup.start}"
        if changes >= setup.most_changes:
            return f"arm {here} is held, because all {changes} change(s) are used"
        if may_change(setup, state, 0):
            return f"only arms below arm {here} may follow"
        return (
            f"arm {here} is held until decision {self._next(setup, state)}, this is {decided + 1}"
        )

    def _next(self, setup: Setup, state: State) -> int:
        """Return the number of the next decision that may be for another arm."""
        every, decided, changes = setup.every, int(state.decided[0]), int(state.changes[0])
        earliest = decided
        if setup.most_changes < _NO_MAXIMUM:
            earliest = max(decided, every << min(changes, _MAX_DOUBLINGS))
        return -(-earliest // every) * every + 1

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the arm that is held, the decisions and changes so far, and the inner details.

        With contexts there is a number for each of them.
        """
        if setup.tables.n_contexts > 1:
            n_arms = setup.tables.n_arms // setup.tables.n_contexts
            arms = [None if arm < 0 else arm % n_arms for arm in state.arm.tolist()]
            counts = {"decisions": state.decided.tolist(), "changes": state.changes.tolist()}
            inside = self.inner.details(setup.inner, stats, state.inner)
            return {"held": arms} | counts | inside
        held: dict[str, Any] = {
            "held": None if state.arm[0] < 0 else int(state.arm[0]),
            "decisions": int(state.decided[0]),
            "changes": int(state.changes[0]),
        }
        if state.changes[0] < setup.most_changes:
            held["next_change"] = self._next(setup, state)
        return held | self.inner.details(setup.inner, stats, state.inner)
