"""Parts: the common base of noises, drifts and biases, and their registry."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from globalbandits._validation import as_float, as_positive, require, require_known
from globalbandits.errors import ScenarioError

MAX_MAGNITUDE = 1e100  # of shifts and steps, so that sums over a horizon stay finite


@dataclasses.dataclass(frozen=True)
class Part:
    """A noise, a drift or a bias: frozen, comparable, printable, with a name for spec files."""

    family: ClassVar[str]
    kind: ClassVar[str]

    def to_dict(self) -> dict[str, Any]:
        """The spec as a plain dict: {"kind": kind, parameter: value, ...}."""
        return {"kind": self.kind} | {
            field.name: getattr(self, field.name) for field in dataclasses.fields(self)
        }

    @classmethod
    def from_dict(cls, spec: "str | Mapping[str, Any]") -> Any:
        """The part of a plain dict or a name; the inverse of `to_dict`.

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
    rule = f"lie between -{MAX_MAGNITUDE:g} and {MAX_MAGNITUDE:g}"
    require(abs(size) <= MAX_MAGNITUDE, name, rule, value, ScenarioError)
    return size


def as_duration(name: str, value: object) -> float:
    """Return value as a float above zero whose inverse is at most 1e100."""
    duration = as_positive(name, value, ScenarioError)
    rule = f"be at least {1.0 / MAX_MAGNITUDE:g}"
    require(duration >= 1.0 / MAX_MAGNITUDE, name, rule, value, ScenarioError)
    return duration


def register(kind: str) -> Callable[[_P], _P]:
    """Class decorator: register a part under the name ``kind`` for dicts and spec files."""

    def add(part: _P) -> _P:
        part.kind = kind
        _REGISTRY[part.family][kind] = part
        return part

    return add
