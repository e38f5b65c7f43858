"""The base of policies: a frozen spec, and rules over explicit state.

The engine (a live learner or the simulator) counts every reward in one `Statistics`. A policy
derives a `State` from the statistics, a NamedTuple of arrays. A policy file holds a `Setup` (the
model's tables and the policy's constants), the `State`, the plain functions of `Rules` in the
subset of Python that Numba compiles, and the spec class.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits import _registry
from globalbandits._registry import Specification, register
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel
from globalbandits.model.vector_model import VectorModel
from globalbandits.statistics import Statistics

__all__ = [
    "Policy",
    "Rules",
    "Setup",
    "State",
    "register",
    "registered",
    "require_masks",
    "require_no_contexts",
    "require_one_number",
    "stateless",
]

Setup = Any  # a NamedTuple whose first field is `tables`
State = Any  # a NamedTuple of arrays, changed in place
SelectAmong = Callable[[Setup, Statistics, State, IntArray, Any], int]  # see `Rules`


class NoState(NamedTuple):
    """The state of a policy that decides from the statistics alone."""


class Rules(NamedTuple):
    """The functions of one policy.

    Arguments start with (setup, stats, state). `select`, `select_among`, `update`, `estimate`,
    `numbers` and `rebuild` are compiled into the simulator's loop; a live learner calls the same
    functions.
    Rewards are on the unit scale.

    Attributes:
        init: ``init(setup) -> state``: the state before any reward. Plain Python, not compiled.
        select: ``select(setup, stats, state, rng) -> arm``. It must not change stats or state, and
            may call ``random()``, ``standard_normal()``, ``standard_exponential()`` and
            ``beta(a, b)`` of the generator.
        update: ``update(setup, stats, state, arm, reward)``: update the state. ``stats`` includes
            the reward already.
        estimate: ``estimate(setup, stats, state) -> theta``; nan if there is none.
        rebuild: ``rebuild(setup, stats, state)``: derive the whole state from the statistics,
            overwriting what it holds. A learner uses it to forget, merge, restart and be
            restored. None if the order of rewards matters: then a learner can neither forget nor
            be merged, and the whole state is saved. Fields that follow from decisions stay.
        kept: fields of the state that are saved because the statistics do not determine every
            bit of them, such as sums with rounding errors or numbers of the last fit. A restored
            state is rebuilt, then these fields are read. Without `resume` each of them must
            agree with the rebuilt one up to rounding.
        resume: ``resume(setup, stats, state) -> bool``: called with the kept fields in place (all
            fields if `rebuild` is None). It derives the other fields, and returns False if no
            learner with these statistics can have the kept ones. Plain Python, not compiled.
        decide: ``decide(setup, stats, state, arm)``: count a decision, for a policy whose limits
            count decisions and not only rewards. Without `rebuild` the learner then keeps the order
            of decisions and rewards, and forgets a reward by recomputing the state from the others.
        recommend: ``recommend(setup, stats, state, rng) -> arm``: the arm to recommend at the end
            of a run; the choice of `select` by default.
        numbers: ``numbers(setup, stats, state, means, deviations)``: write the estimates of a model
            with several unknown numbers, and their standard deviations, in the model's units.
            `estimate` then returns nan. None for one unknown number, which `estimate` returns.
        select_among: ``select_among(setup, stats, state, offered, rng) -> arm``: the choice if
            only some arms can be played now. ``offered`` holds their indices in increasing order,
            at least one. It is called only if some arm cannot be played. None for a policy that
            cannot rank arms; then a learner and the simulator refuse contexts and masks.
        pend: ``pend(setup, stats, state, arms, weights)``: replace the outcomes that are awaited.
            An awaited outcome of arm k with weight w has the likelihood ``1 - w m_k(theta)``. They
            are kept in the setup; `rebuild`, if there is one, is called next. Plain Python, not
            compiled. None for a policy that cannot use them.
    """

    init: Callable[[Setup], State]
    select: Callable[[Setup, Statistics, State, Any], int]
    update: Callable[[Setup, Statistics, State, int, float], None]
    estimate: Callable[[Setup, Statistics, State], float]
    rebuild: Callable[[Setup, Statistics, State], None] | None = None
    kept: tuple[str, ...] = ()
    resume: Callable[[Setup, Statistics, State], bool] | None = None
    numbers: Callable[[Setup, Statistics, State, FloatArray, FloatArray], None] | None = None
    decide: Callable[[Setup, Statistics, State, int], None] | None = None
    recommend: Callable[[Setup, Statistics, State, Any], int] | None = None
    select_among: SelectAmong | None = None
    pend: Callable[[Setup, Statistics, State, IntArray, FloatArray], None] | None = None


def read_numbers(
    rules: Rules, setup: Setup, stats: Statistics, state: State
) -> tuple[FloatArray, FloatArray]:
    """Return the estimates of several unknown numbers, and their standard deviations."""
    assert rules.numbers is not None
    means, deviations = np.zeros((2, setup.tables.n_parameters))
    rules.numbers(setup, stats, state, means, deviations)
    return means, deviations


def stateless(
    select: Callable[[Setup, Statistics, State, Any], int],
    estimate: Callable[[Setup, Statistics, State], float],
    select_among: SelectAmong | None = None,
) -> Rules:
    """Rules of a policy that decides from the statistics alone."""
    return Rules(
        _no_state,
        select,
        _update_nothing,
        estimate,
        _rebuild_nothing,
        select_among=select_among,
    )


def _no_state(setup: Setup) -> NoState:
    return NoState()


def _update_nothing(
    setup: Setup, stats: Statistics, state: NoState, arm: int, reward: float
) -> None:
    pass


def _rebuild_nothing(setup: Setup, stats: Statistics, state: NoState) -> None:
    pass


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy(Specification):
    """Base of all policy specs: frozen, comparable, hashable, printable.

    A subclass is registered with `register`, gives its `rules`, and builds its `setup`.
    """

    family: ClassVar[str] = "policy"
    rules: ClassVar[Rules]
    compiled: ClassVar[bool] = True  # False: the simulator calls the rules as plain Python
    # True for a policy that by design does not rank arms by what they are worth.
    ignores_value: ClassVar[bool] = False
    # How wrong curves may be where a learner says which arms can be best, as in
    # `Evidence.contenders`: above 0 for a policy that does not take the curves for exact.
    curve_errors: ClassVar[float] = 0.0
    # For a policy that counts decisions: whether it also counts those that show another arm than
    # its choice, such as the decisions of a control group.
    counts_control: ClassVar[bool] = True

    def setup(self, model: Any) -> Setup:
        """Constants and tables this policy needs for one model; raises if it cannot run.

        The model is a `RewardModel`, or a `VectorModel` for policies that take several numbers.
        """
        raise NotImplementedError

    def rules_of(self, setup: Setup) -> Rules:
        """The rules for one setup. Models with several unknown numbers may have their own."""
        return self.rules

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Why `select` would choose its arm now, for a reader."""
        return "the policy's rule"

    def limit(self, setup: Setup, stats: Statistics, state: State, rng: Any) -> str | None:
        """What moved the choice of `select` with this generator; None if nothing did."""
        return None

    def admissible(self, setup: Setup, stats: Statistics, state: State) -> list[int] | None:
        """The arms that the policy's limits allow now; None if it has no limits."""
        return None

    def no_arm(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Why `select` returned -1 instead of an arm, and what to do."""
        return "the policy chose none"

    def carry_over(
        self, setup: Setup, state: State, kept: Mapping[str, Any], rows: list[int | None]
    ) -> None:
        """Take over what a saved state of this policy holds about decisions, under other arms.

        Args:
            setup: the setup for the new model.
            state: the new state, rebuilt from the rewards.
            kept: the kept fields of the saved state.
            rows: the saved arm of each arm of the new model; None for a new arm.
        """

    def probabilities(
        self, setup: Setup, stats: Statistics, state: State, offered: IntArray | None = None
    ) -> FloatArray | None:
        """The probability of each arm to be chosen next, in closed form.

        None if there is none: a learner then follows the draws of the choice, or repeats them.

        Args:
            setup: the return value of `setup`.
            stats: counts and sums.
            state: the policy's state.
            offered: the arms that can be chosen, in increasing order; None for all.
        """
        return None

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """The policy's own numbers behind `reason`, by name."""
        return {}

    def posterior(self, setup: Setup, stats: Statistics, state: State) -> dict[str, list[float]]:
        """Columns of the posterior of the arms for `explain`, by name, one entry per arm."""
        return {}

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """The statistics that a decision uses; a policy with windows uses fewer rewards."""
        return stats

    @property
    def label(self) -> str:
        """A name for legends and tables: the kind, and the parameters that are not default."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})" if changed else type(self).__name__


def require_one_number(model: AnyModel, policy: str) -> None:
    """Raise a PolicyError for a model with several unknown numbers."""
    if isinstance(model, VectorModel):
        instead = "take Elastic or IDS, or model.fixed(...)"
        if model.n_parameters > 2:
            instead = (
                "take IDS, or IndependentGittins, which uses no curves, or fix all but one or two "
                "with model.fixed(...)"
            )
        raise PolicyError(
            f"model must have one unknown number for {policy}, got a VectorModel of "
            f"{', '.join(model.parameters)}: {instead}"
        )


def require_no_contexts(model: AnyModel, policy: str) -> None:
    """Raise a PolicyError for a model whose arms are the cells of several contexts."""
    n_contexts = model.tables.n_contexts
    rule = f"have no contexts for {policy}, whose limits are about one sequence of arms"
    require(n_contexts == 1, "model", rule, f"{n_contexts} contexts", PolicyError)


def require_masks(policy: Policy, rules: Rules) -> SelectAmong:
    """Return the rule that chooses among some arms; a PolicyError if the policy has none."""
    if rules.select_among is None:
        raise PolicyError(
            f"{policy.label} cannot choose among some of the arms: its rules have no select_among"
        )
    return rules.select_among


def describe(policy: Policy) -> dict[str, Any] | str:
    """The spec as a plain dict; its `repr` if it, or a policy inside it, is not registered."""
    try:
        return policy.to_dict()
    except PolicyError:
        return repr(policy)


def registered() -> dict[str, type[Policy]]:
    """All registered policies by kind."""
    return _registry.registered("policy")
