"""What every policy is: a frozen spec, and rules over explicit state.

The engine (a live learner or the simulator) counts every reward in one `Statistics`. A policy
only derives: its `State` is a NamedTuple of arrays that follow from the statistics. A policy
file holds a `Setup` (the model's tables and the policy's constants), the `State`, the plain
functions of `Rules` in the subset of Python that Numba compiles, and the spec class.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeVar

from globalbandits._validation import require, require_known
from globalbandits.errors import PolicyError
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

__all__ = ["Policy", "Rules", "Setup", "State", "register", "registered", "stateless"]

Setup = Any  # a NamedTuple whose first field is `tables`
State = Any  # a NamedTuple of arrays, changed in place


class NoState(NamedTuple):
    """The state of a policy that derives nothing: the statistics are all it needs."""


class Rules(NamedTuple):
    """The functions of one policy.

    The order of arguments is always (setup, stats, state, ...). `select`, `update`, `estimate`
    and `rebuild` are compiled into the simulator's loop, and a live learner calls the same
    functions. Rewards are on the unit scale.

    Attributes:
        init: ``init(setup) -> state``: the state before any reward. Plain Python, not compiled.
        select: ``select(setup, stats, state, rng) -> arm``. Must not change stats or state; of
            the generator it may use ``random()``, ``standard_normal()`` and ``beta(a, b)``.
        update: ``update(setup, stats, state, arm, reward)``: bring the state up to date. The
            engine has counted the reward already, so ``stats`` includes it.
        estimate: ``estimate(setup, stats, state) -> theta``; nan where there is none.
        rebuild: ``rebuild(setup, stats, state)``: derive the whole state from the statistics,
            whatever the state holds. It lets a learner forget (count minus one, rebuild), merge
            (add, rebuild), restart and be restored. None where the order of rewards matters;
            then there is no forgetting and no merging, and the whole state is saved.
        kept: fields of the state to be saved because the statistics alone do not give every
            bit of them back, such as sums that gather rounding or numbers of the last fit. On
            restoring, the state is rebuilt, then these fields are read; unless there is a
            `resume`, each must agree with the rebuilt one up to rounding.
        resume: ``resume(setup, stats, state) -> bool``: called with all kept fields in place
            (all fields where `rebuild` is None); derives the others, and returns False if
            no learner with these statistics can have them. Plain Python, not compiled.
    """

    init: Callable[[Setup], State]
    select: Callable[[Setup, Statistics, State, Any], int]
    update: Callable[[Setup, Statistics, State, int, float], None]
    estimate: Callable[[Setup, Statistics, State], float]
    rebuild: Callable[[Setup, Statistics, State], None] | None = None
    kept: tuple[str, ...] = ()
    resume: Callable[[Setup, Statistics, State], bool] | None = None


def stateless(
    select: Callable[[Setup, Statistics, State, Any], int],
    estimate: Callable[[Setup, Statistics, State], float],
) -> Rules:
    """Rules of a policy that decides from the statistics alone."""
    return Rules(_no_state, select, _update_nothing, estimate, _rebuild_nothing)


def _no_state(setup: Setup) -> NoState:
    return NoState()


def _update_nothing(
    setup: Setup, stats: Statistics, state: NoState, arm: int, reward: float
) -> None:
    pass


def _rebuild_nothing(setup: Setup, stats: Statistics, state: NoState) -> None:
    pass


@dataclasses.dataclass(frozen=True, kw_only=True)
class Policy:
    """Base of all policy specs: frozen, comparable, hashable, printable.

    A subclass is registered with `register`, gives its `rules`, and builds its `setup`.
    """

    kind: ClassVar[str]
    rules: ClassVar[Rules]
    compiled: ClassVar[bool] = True  # False: the simulator calls the rules as they are
    # True for a policy that by design does not rank arms by what they are worth.
    ignores_value: ClassVar[bool] = False

    def setup(self, model: "RewardModel") -> Setup:
        """Constants and tables this policy needs for one model; raises if it cannot run."""
        raise NotImplementedError

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Why the arm that `select` would return now is chosen, for a person."""
        return "the policy's rule"

    def limit(self, setup: Setup, stats: Statistics, state: State, rng: Any) -> str | None:
        """What moved the choice that `select` makes with this generator; None if nothing did."""
        return None

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Numbers of this policy's own that stand behind `reason`, by name."""
        return {}

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """The statistics a decision rests on; a policy with windows uses fewer rewards."""
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

    def to_dict(self) -> dict[str, Any]:
        """The spec as a plain dict: {"policy": kind, parameter: value, ...}."""
        kind = getattr(self, "kind", None)
        require(kind is not None, "policy", "be registered to be written down", self, PolicyError)
        return {"policy": kind} | {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }

    @staticmethod
    def from_dict(spec: Mapping[str, Any]) -> "Policy":
        """The policy a plain dict describes; the inverse of `to_dict`."""
        if not isinstance(spec, Mapping) or "policy" not in spec:
            raise PolicyError(f"a policy spec must be a dict with the key 'policy', got {spec!r}")
        kind = require_known("policy", spec["policy"], sorted(_REGISTRY), PolicyError)
        policy = _REGISTRY[kind]
        parameters = {key: value for key, value in spec.items() if key != "policy"}
        known_names = {field.name for field in dataclasses.fields(policy)}
        for name in parameters:
            require_known(f"parameter of {kind}", name, sorted(known_names), PolicyError)
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


def describe(policy: Policy) -> dict[str, Any] | str:
    """The spec as a plain dict; a text where it, or a policy inside it, is not registered."""
    try:
        return policy.to_dict()
    except PolicyError:
        return repr(policy)


def registered() -> dict[str, type[Policy]]:
    """All registered policies by kind."""
    return dict(_REGISTRY)
