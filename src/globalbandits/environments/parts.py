"""What the pieces of an environment have in common: they are frozen and have a name."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from globalbandits._validation import as_float, as_positive, require, require_known
from globalbandits.errors import ScenarioError

LARGEST = 1e100  # a shift, a step or a swing; beyond it sums over a horizon would be no numbers


@dataclasses.dataclass(frozen=True)
class Part:
    """A noise, a drift or a bias: frozen, comparable, printable, and nameable in spec files."""

    family: ClassVar[str]
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The spec as a plain dict: {"kind": kind, parameter: value, ...}."""
        return {"kind": self.kind} | {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }

    @classmethod
    def from_dict(cls, spec: "str | Mapping[str, Any]") -> Any:
        """The part a plain dict describes, or a name alone; the inverse of `to_dict`.

        >>> from globalbandits.environments import Noise
        >>> Noise.from_dict("beta")
        BetaNoise()
        """
        of = f"a {cls.family} spec"
        is_spec = isinstance(spec, (str, Mapping))
        require(is_spec, of, "be a name or a dict", spec, ScenarioError)
        given = {"kind": spec} if isinstance(spec, str) else dict(spec)
        require("kind" in given, of, "have the key 'kind'", given, ScenarioError)
        kind = given.pop("kind")
        known = _REGISTRY[cls.family]
        part = known[require_known(cls.family, kind, known, ScenarioError)]
        fields = {field.name: field for field in dataclasses.fields(part)}
        for name in given:
            require_known(f"parameter of {kind}", name, sorted(fields), ScenarioError)
        for name, field in fields.items():
            there = name in given or field.default is not dataclasses.MISSING
            require(there, of, f"have the parameter {name!r} of {kind}", given, ScenarioError)
        return part(**given)


_REGISTRY: dict[str, dict[str, type[Part]]] = {"noise": {}, "drift": {}, "bias": {}}
_P = TypeVar("_P", bound=type[Part])


def as_size(name: str, value: object) -> float:
    """Return value as a float from -1e100 to 1e100."""
    size = as_float(name, value, ScenarioError)
    rule = f"lie between -{LARGEST:g} and {LARGEST:g}"
    require(abs(size) <= LARGEST, name, rule, value, ScenarioError)
    return size


def as_duration(name: str, value: object) -> float:
    """Return value as a float above zero whose inverse is at most 1e100."""
    duration = as_positive(name, value, ScenarioError)
    rule = f"be at least {1.0 / LARGEST:g}"
    require(duration >= 1.0 / LARGEST, name, rule, value, ScenarioError)
    return duration


def register(kind: str) -> Callable[[_P], _P]:
    """Class decorator: let a part be named by ``kind`` in dicts and spec files."""

    def add(part: _P) -> _P:
        part.kind = kind
        _REGISTRY[part.family][kind] = part
        return part

    return add
