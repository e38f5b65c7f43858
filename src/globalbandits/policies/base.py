"""What every policy is: a frozen spec, and rules over explicit state.

A policy file has one skeleton: a `Setup` (the model's tables and the policy's constants), a
`State` (a NamedTuple of arrays), and the plain functions `init`, `select` and `update` in the
subset of Python that Numba compiles. The spec class at the end of the file ties them together.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from globalbandits.errors import PolicyError

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

Setup = Any  # a NamedTuple whose first field is `tables`
State = Any  # a NamedTuple of arrays, changed in place


class Rules(NamedTuple):
    """The functions of one policy; all but `init` are compiled into the simulator's loop.

    The order of arguments is always (setup, state, ...). Rewards are on the unit scale.
    """

    init: Callable[[Setup], State]
    select: Callable[[Setup, State, Any], int]  # (setup, state, rng) -> arm; state unchanged
    update: Callable[[Setup, State, int, float], None]  # (setup, state, arm, reward)
    estimate: Callable[[Setup, State], float]  # parameter estimate, nan where there is none
    forget: Callable[[Setup, State, int, float], None] | None = None  # the inverse of update
    additive: tuple[str, ...] = ()  # fields of the state that add up over learners
    refresh: Callable[[Setup, State], None] | None = None  # rebuild the other fields from those


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy:
    """Base of all policy specs: frozen, comparable, hashable, printable.

    A subclass is registered with `register`, gives its `rules`, and builds its `setup`.
    """

    kind: ClassVar[str]
    rules: ClassVar[Rules]

    def setup(self, model: "RewardModel") -> Setup:
        """Constants and tables this policy needs for one model; raises if it cannot run."""
        raise NotImplementedError

    def reason(self, setup: Setup, state: State) -> str:
        """Why the arm that `select` would return now is chosen, for a person."""
        return "the policy's rule"

    def details(self, setup: Setup, state: State) -> dict[str, Any]:
        """Numbers of this policy's own that stand behind `reason`, by name."""
        return {}

    @property
    def label(self) -> str:
        """A name for legends and tables: the kind, and the parameters that are not default."""
        changed = [
            f"{field.name}={getattr(self, field.name)!r}"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != field.default
        ]
        return f"{type(self).__name__}({', '.join(changed)})" if changed else type(self).__name__

    def to_dict(self) -> dict[str, Any]:
        """The spec as a plain dict: {"policy": kind, parameter: value, ...}."""
        return {"policy": self.kind} | {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }

    @staticmethod
    def from_dict(spec: Mapping[str, Any]) -> "Policy":
        """The policy a plain dict describes; the inverse of `to_dict`."""
        if "policy" not in spec:
            raise PolicyError(f"a policy spec must have the key 'policy', got {dict(spec)!r}")
        kind = spec["policy"]
        if kind not in _REGISTRY:
            known = ", ".join(sorted(_REGISTRY))
            raise PolicyError(f"policy must be one of {known}, got {kind!r}")
        policy = _REGISTRY[kind]
        parameters = {key: value for key, value in spec.items() if key != "policy"}
        known_names = {field.name for field in dataclasses.fields(policy)}
        for name in parameters:
            if name not in known_names:
                allowed = ", ".join(sorted(known_names)) or "none"
                raise PolicyError(f"parameter of {kind} must be one of {allowed}, got {name!r}")
        return policy(**parameters)


_REGISTRY: dict[str, type[Policy]] = {}
_P = TypeVar("_P", bound=type[Policy])


def register(kind: str) -> Callable[[_P], _P]:
    """Class decorator: let a policy be named by ``kind`` in dicts and spec files."""

    def add(policy: _P) -> _P:
        owner = _REGISTRY.get(kind)
        if owner is not None and (owner.__module__, owner.__qualname__) != (
            policy.__module__,
            policy.__qualname__,
        ):
            raise PolicyError(f"policy kind must be new, got {kind!r}, which is {owner.__name__}")
        policy.kind = kind
        _REGISTRY[kind] = policy
        return policy

    return add


def registered() -> dict[str, type[Policy]]:
    """All registered policies by kind."""
    return dict(_REGISTRY)
