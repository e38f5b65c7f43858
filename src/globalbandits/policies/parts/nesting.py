"""A policy that works inside another one: its spec, its label, and its state restored."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from globalbandits._validation import require
from globalbandits.errors import PolicyError
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.statistics import Statistics

_RTOL, _ATOL = 1e-6, 1e-9  # how far kept numbers may be from those derived afresh


def as_policy(name: str, value: Any) -> Policy:
    """A policy, which may be given as its dict."""
    policy = Policy.from_dict(value) if isinstance(value, Mapping) else value
    require(isinstance(policy, Policy), name, "be a policy", value, PolicyError)
    found: Policy = policy
    return found


def label_around(policy: Any) -> str:
    """The label of a policy around its `inner` one, and its parameters that are not default."""
    changed = [
        f"{field.name}={value.label if isinstance(value, Policy) else repr(value)}"
        for field in dataclasses.fields(policy)
        if (value := getattr(policy, field.name)) != field.default and field.name != "inner"
    ]
    return f"{type(policy).__name__}({', '.join([policy.inner.label, *changed])})"


class Around(Policy):
    """What a policy around an `inner` one takes from it, whose state holds it as `inner` too."""

    inner: Policy

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether the inner policy's rules can be."""
        return self.inner.compiled

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """What the inner policy declares."""
        return self.inner.ignores_value

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """The inner policy's reason; `limit` says when it did not decide."""
        return self.inner.reason(setup.inner, stats, state.inner)

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """What the inner policy decides by."""
        return self.inner.observed(stats, state.inner)

    @property
    def label(self) -> str:
        """The inner policy's label, and the parameters that are not default."""
        return label_around(self)


def moved_twice(inside: str | None, outside: str) -> str:
    """What moved a choice inside, if anything did, and then outside.

    >>> moved_twice(None, "moved up"), moved_twice("moved up", "moved down")
    ('moved up', 'moved up; then moved down')
    """
    return outside if inside is None else f"{inside}; then {outside}"


def resume_inside(rules: Rules, setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a saved state can be that of a policy with these statistics.

    All that follows from the statistics is derived again, so that only the kept fields are
    used as they were saved.
    """
    if rules.rebuild is not None:
        derived = rules.init(setup)
        rules.rebuild(setup, stats, derived)
        for name in derived._fields:
            saved, fresh = getattr(state, name), getattr(derived, name)
            if name not in rules.kept:
                copy_into(saved, fresh)
            elif rules.resume is None and not are_close(saved, fresh):
                return False
    return rules.resume is None or rules.resume(setup, stats, state)


def copy_into(target: Any, source: Any) -> None:
    """Copy the numbers of an array, or of a NamedTuple of arrays, into another one."""
    if isinstance(target, np.ndarray):
        target[...] = source
    else:
        for mine, theirs in zip(target, source, strict=True):
            copy_into(mine, theirs)


def are_close(one: Any, two: Any) -> bool:
    """Whether arrays, or NamedTuples of arrays, agree up to rounding.

    >>> are_close(np.array([1.0, np.nan]), np.array([1.0 + 1e-12, np.nan]))
    True
    """
    if isinstance(one, np.ndarray):
        return bool(np.allclose(one, two, rtol=_RTOL, atol=_ATOL, equal_nan=True))
    return all(are_close(mine, theirs) for mine, theirs in zip(one, two, strict=True))
