"""The registry of specifications, such as policies, noises and delays, by family and kind.

A specification is a frozen dataclass. Registration gives it a kind, the short text that names
it in dicts, spec files, saved states and messages of the service.
"""

import dataclasses
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

from globalbandits._validation import require, require_known
from globalbandits.errors import GlobalBanditsError, PolicyError, ScenarioError


class Family(NamedTuple):
    """Specifications that can take each other's place."""

    key: str  # of a dict: its value is the kind, the other keys are parameters
    allows_name: bool  # whether a kind alone, without a dict, is a specification
    error: type[GlobalBanditsError]
    classes: dict[str, "type[Specification]"]  # by kind


_FAMILIES = {
    "policy": Family("policy", False, PolicyError, {}),
    "escalation": Family("kind", True, PolicyError, {}),
    "noise": Family("kind", True, ScenarioError, {}),
    "drift": Family("kind", True, ScenarioError, {}),
    "bias": Family("kind", True, ScenarioError, {}),
    "delay": Family("kind", True, ScenarioError, {}),
}


class Specification:
    """A base class for frozen dataclasses that can be written as plain dicts and read back."""

    family: ClassVar[str]
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The specification as a plain dict: its kind, then its parameters by name."""
        family = _FAMILIES[self.family]
        kind = getattr(self, "kind", None)
        rule = "be registered to be written down"
        require(kind is not None, self.family, rule, self, family.error)
        plain = {family.key: kind}
        for name in parameters_of(type(self)):
            value = getattr(self, name)
            plain[name] = value.to_dict() if isinstance(value, Specification) else value
        return plain

    @classmethod
    def from_dict(cls, spec: str | Mapping[str, Any]) -> Self:
        """The specification that a plain dict describes; the inverse of `to_dict`.

        A noise, a drift, a bias or a delay may also be given by its kind alone.

        >>> from globalbandits.environments import Noise
        >>> Noise.from_dict("beta")
        BetaNoise()
        """
        family, what = _FAMILIES[cls.family], f"a {cls.family} spec"
        given = {family.key: spec} if family.allows_name and isinstance(spec, str) else spec
        is_dict = isinstance(given, Mapping) and family.key in given
        rule = f"be a dict with the key {family.key!r}"
        rule += ", or a name" if family.allows_name else ""
        require(is_dict, what, rule, spec, family.error)
        assert isinstance(given, Mapping)
        parameters = dict(given)
        kind = parameters.pop(family.key)
        known = family.classes
        found: Any = known[require_known(cls.family, kind, sorted(known), family.error)]
        required = parameters_of(found)
        for name in parameters:
            require_known(f"parameter of {kind}", name, sorted(required), family.error)
        for name, is_required in required.items():
            rule = f"have the parameter {name!r} of {kind}"
            require(name in parameters or not is_required, what, rule, parameters, family.error)
        made: Self = found(**parameters)
        return made


_S = TypeVar("_S", bound=type[Specification])


def register(kind: str) -> Callable[[_S], _S]:
    """Class decorator: let a policy, noise, drift, bias or delay be named by ``kind``."""

    def add(added: _S) -> _S:
        family = _FAMILIES[added.family]
        owner = family.classes.get(kind, added)
        # A module that is loaded again defines its classes again.
        same = (owner.__module__, owner.__qualname__) == (added.__module__, added.__qualname__)
        if not same:
            taken = f"got {kind!r}, which is {owner.__name__}"
            raise family.error(f"{added.family} kind must be new, {taken}")
        added.kind = kind
        family.classes[kind] = added
        return added

    return add


def registered(family: str) -> dict[str, Any]:
    """The registered classes of a family by kind."""
    return dict(_FAMILIES[family].classes)


def load_package(name: str, path: Iterable[str], families: Iterable[str]) -> dict[str, Any]:
    """Import every module of a package; the classes it registers in these families, by name.

    So a new policy or noise is found by its registration, and no list has to name it.
    """
    for module in pkgutil.walk_packages(path, f"{name}."):
        importlib.import_module(module.name)
    return {
        found.__name__: found
        for family in families
        for found in _FAMILIES[family].classes.values()
        if found.__module__.startswith(f"{name}.")
    }


def parameters_of(specification: type[Specification]) -> dict[str, bool]:
    """The parameters of a class by name, and whether each must be given."""
    fields = dataclasses.fields(specification)  # type: ignore[arg-type]
    missing = dataclasses.MISSING
    return {
        field.name: field.default is missing and field.default_factory is missing
        for field in fields
        if field.init
    }
