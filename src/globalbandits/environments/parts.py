"""What the pieces of an environment have in common: they are frozen and have a name."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, TypeVar

from globalbandits.errors import ScenarioError


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
        given = {"kind": spec} if isinstance(spec, str) else dict(spec)
        if "kind" not in given:
            raise ScenarioError(f"a {cls.family} spec must have the key 'kind', got {given!r}")
        kind = given.pop("kind")
        known = _REGISTRY[cls.family]
        if kind not in known:
            raise ScenarioError(f"{cls.family} must be one of {', '.join(known)}, got {kind!r}")
        part = known[kind]
        names = {field.name for field in dataclasses.fields(part)}
        for name in given:
            if name not in names:
                allowed = ", ".join(sorted(names)) or "none"
                raise ScenarioError(f"parameter of {kind} must be one of {allowed}, got {name!r}")
        return part(**given)


_REGISTRY: dict[str, dict[str, type[Part]]] = {"noise": {}, "drift": {}, "bias": {}}
_P = TypeVar("_P", bound=type[Part])


def register(kind: str) -> Callable[[_P], _P]:
    """Class decorator: let a part be named by ``kind`` in dicts and spec files."""

    def add(part: _P) -> _P:
        part.kind = kind
        _REGISTRY[part.family][kind] = part
        return part

    return add
