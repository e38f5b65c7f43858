"""What policies around another policy share: a base class, and the check of a saved state."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require, show
from globalbandits.errors import PolicyError, StateError
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.statistics import Statistics

# Tolerances for kept numbers against those derived from the statistics.
_RTOL, _ATOL = 1e-6, 1e-9


def as_policy(name: str, value: Any) -> Policy:
    """Return a policy without limits of its own, which may be given as its dict."""
    policy = Policy.from_dict(value) if isinstance(value, Mapping) else value
    require(isinstance(policy, Policy), name, "be a policy", value, PolicyError)
    found: Policy = policy
    rule = "be a policy without limits (put Limited outside, so that its limits hold)"
    require(found.rules.decide is None, name, rule, found, PolicyError)
    return found


def label_around(policy: Any) -> str:
    """Return a label with the inner policy and the parameters that are not default."""
    changed = [
        f"{field.name}={value.label if isinstance(value, Policy) else repr(value)}"
        for field in dataclasses.fields(policy)
        if (value := getattr(policy, field.name)) != field.default and field.name != "inner"
    ]
    return f"{type(policy).__name__}({', '.join([policy.inner.label, *changed])})"


class WrapperPolicy(Policy):
    """Base of policies with an `inner` policy. Setup and state have a field `inner` too."""

    inner: Policy
    # Returns the rules of the wrapper from those of the inner policy.
    wrap: ClassVar[Callable[[Rules], Rules]]

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The inner policy's rules, wrapped."""
        return type(self).wrap(self.inner.rules)

    def rules_of(self, setup: Any) -> Rules:
        """The inner policy's rules for this setup, wrapped."""
        return type(self).wrap(self.inner.rules_of(setup.inner))

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether the inner policy's rules are compiled."""
        return self.inner.compiled

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """What the inner policy declares."""
        return self.inner.ignores_value

    @property
    def curve_errors(self) -> float:  # type: ignore[override]
        """What the inner policy assumes."""
        return self.inner.curve_errors

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Return the inner policy's reason. `limit` says what moved its choice."""
        return self.inner.reason(setup.inner, stats, state.inner)

    def no_arm(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Return why the inner policy chose no arm."""
        return self.inner.no_arm(setup.inner, stats, state.inner)

    def posterior(self, setup: Setup, stats: Statistics, state: State) -> dict[str, list[float]]:
        """Return the inner policy's columns of the posterior."""
        return self.inner.posterior(setup.inner, stats, state.inner)

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """Return the statistics that the inner policy uses."""
        return self.inner.observed(stats, state.inner)

    @property
    def label(self) -> str:
        """The inner policy's label, and the parameters that are not default."""
        return label_around(self)


def moved_twice(inside: str | None, outside: str) -> str:
    """Join the reasons of an inner wrapper, if any, and of an outer one.

    >>> moved_twice(None, "moved up"), moved_twice("moved up", "moved down")
    ('moved up', 'moved up; then moved down')
    """
    return outside if inside is None else f"{inside}; then {outside}"


def passed_on(inner: Rules) -> dict[str, Any]:
    """Return the rules of a wrapper that are those of the inner policy, by name."""
    inner_estimate, inner_numbers, inner_pend = inner.estimate, inner.numbers, inner.pend

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        """The inner policy's estimate."""
        return inner_estimate(setup.inner, stats, state.inner)

    def numbers(
        setup: Setup, stats: Statistics, state: State, means: FloatArray, deviations: FloatArray
    ) -> None:
        """Write the inner policy's estimates of several numbers."""
        inner_numbers(setup.inner, stats, state.inner, means, deviations)  # type: ignore[misc]

    def pend(
        setup: Setup, stats: Statistics, state: State, arms: IntArray, weights: FloatArray
    ) -> None:
        """Replace the outcomes that the inner policy awaits, and let it learn from them."""
        assert inner_pend is not None
        inner_pend(setup.inner, stats, state.inner, arms, weights)
        if inner.rebuild is not None:
            inner.rebuild(setup.inner, stats, state.inner)

    return {
        "estimate": estimate,
        "numbers": None if inner_numbers is None else numbers,
        "pend": None if inner_pend is None else pend,
    }


def resume_inside(rules: Rules, setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether an inner policy with these statistics can have this saved state.

    Only the kept fields are used as saved. The others are recomputed from the statistics.
    """
    derived = derive(rules, setup, stats)
    if rules.rebuild is not None:
        for name in derived._fields:
            if name not in rules.kept:
                copy_into(getattr(state, name), getattr(derived, name))
    try:
        check_kept(rules, setup, stats, state, derived)
    except StateError:
        return False
    return True


def derive(rules: Rules, setup: Setup, stats: Statistics) -> State:
    """Return the state that follows from the statistics, or the initial one if order matters."""
    state = rules.init(setup)
    if rules.rebuild is not None:
        rules.rebuild(setup, stats, state)
    return state


def check_kept(rules: Rules, setup: Setup, stats: Statistics, state: State, derived: State) -> None:
    """Check that a learner with these statistics can have these kept fields.

    Args:
        rules: the rules of the policy.
        setup: the setup of the policy.
        stats: the statistics, which have been checked.
        state: the state with its kept fields in place. `Rules.resume` completes it.
        derived: the result of `derive`, for comparison.

    Raises:
        StateError: if a field differs from the derived one by more than rounding, or if `resume`
            returns False.
    """
    if rules.resume is None:
        for name in rules.kept if rules.rebuild is not None else ():
            check_close(f"kept.{name}", getattr(state, name), getattr(derived, name))
        return
    try:
        with np.errstate(all="ignore"):
            possible = rules.resume(setup, stats, state)
    except (ArithmeticError, ValueError, IndexError):
        # Fields that break the arithmetic of `resume` were not written by a learner.
        possible = False
    if not possible:
        raise StateError("kept must be fields that these statistics can lead to, got others")


def copy_into(target: Any, source: Any) -> None:
    """Copy the numbers of an array, or of a NamedTuple of arrays, into another one."""
    if isinstance(target, np.ndarray):
        target[...] = source
    else:
        for mine, theirs in zip(target, source, strict=True):
            copy_into(mine, theirs)


def check_close(name: str, saved: Any, derived: Any) -> None:
    """Raise a StateError for arrays, or NamedTuples of them, that differ by more than rounding."""
    if hasattr(derived, "_fields"):
        for field in derived._fields:
            check_close(f"{name}.{field}", getattr(saved, field), getattr(derived, field))
    elif not np.allclose(saved, derived, rtol=_RTOL, atol=_ATOL, equal_nan=True):
        raise StateError(
            f"{name} must follow from the statistics, got {show(saved.tolist())} "
            f"for {show(derived.tolist())}"
        )
