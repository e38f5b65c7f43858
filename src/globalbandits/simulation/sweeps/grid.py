"""The axes of a sweep: which keys of a spec take which values."""

import itertools
import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from globalbandits._validation import as_list, require
from globalbandits.errors import ScenarioError
from globalbandits.model.grids import expand_grid

MAX_VALUES_PER_AXIS = 100_000
MAX_TASKS = 1_000_000
_GRID_KEYS = {"from", "to", "step", "number"}
# Names of variables in results. An axis of such a key is named by its whole key.
_RESERVED_NAMES = frozenset(
    {"policy", "run", "time", "arm", "regret", "nominal_regret", "estimate", "pulls"}
    | {"bias", "stopped", "choice", "gap", "true_mean"}
)


class Axis(NamedTuple):
    """A key of the spec, dotted, and its values."""

    name: str
    key: str
    values: tuple[Any, ...]

    @property
    def labels(self) -> list[Any]:
        """The values as coordinates: as they are if all are numbers or all texts, else as JSON."""
        for kinds in ((int, float), (str,)):
            if all(isinstance(v, kinds) and not isinstance(v, bool) for v in self.values):
                return list(self.values)
        return [json.dumps(value, sort_keys=True, default=repr) for value in self.values]


def axes_of(sweep: object, taken: frozenset[str] = frozenset()) -> tuple[Axis, ...]:
    """The axes of a sweep table.

    Args:
        sweep: dotted keys, or tables inside tables as TOML reads dotted keys, to lists of values,
            ``{from, to, step}`` or ``{from, to, number}``.
        taken: further names of variables, which axes must not have.

    >>> axes_of({"environment": {"theta": [0.2, 0.4]}, "horizon": {"from": 1, "to": 3, "step": 1}})
    (Axis(name='theta', key='environment.theta', values=(0.2, 0.4)),
     Axis(name='horizon', key='horizon', values=(1, 2, 3)))
    """
    require(isinstance(sweep, Mapping), "sweep", "be a table of keys", sweep, ScenarioError)
    found: dict[str, tuple[Any, ...]] = {}
    for key, values in _flat("", sweep):  # type: ignore[arg-type]
        where = f"sweep.{key}"
        require(key not in found, where, "be there once", key, ScenarioError)
        require(not key.startswith("sweep"), where, "be a key of the spec", key, ScenarioError)
        found[key] = _values(where, values)
    lasts = [key.rpartition(".")[2] for key in found]
    axes = []
    for key, last in zip(found, lasts, strict=True):
        plain = lasts.count(last) == 1 and last not in _RESERVED_NAMES | taken
        axes.append(Axis(last if plain else key, key, found[key]))
    return tuple(axes)


def _flat(path: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in table.items():
        here = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and not (value.keys() & _GRID_KEYS):
            yield from _flat(here, value)
        else:
            yield here, value


def _values(where: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, Mapping):
        listed: list[Any] = list(expand_grid(where, values, MAX_VALUES_PER_AXIS, ScenarioError))
        whole = all(value == int(value) for value in listed)
        if whole and all(isinstance(end, int) for end in values.values()):
            listed = [int(value) for value in listed]
    else:
        rule = "be a list, {from, to, step} or {from, to, number}"
        listed = as_list(where, values, rule, ScenarioError)
    few = 1 <= len(listed) <= MAX_VALUES_PER_AXIS
    require(few, where, f"have 1 to {MAX_VALUES_PER_AXIS:,} values", len(listed), ScenarioError)
    texts = [json.dumps(value, sort_keys=True, default=repr) for value in listed]
    require(len(set(texts)) == len(texts), where, "have different values", values, ScenarioError)
    return tuple(listed)


def points(spec: Mapping[str, Any], axes: tuple[Axis, ...]) -> Iterator[dict[str, Any]]:
    """The spec at every point of the grid, the last axis fastest; without the sweep itself.

    >>> spec = {"runs": 1, "sweep": {"runs": [5, 6]}}
    >>> list(points(spec, axes_of(spec["sweep"])))
    [{'runs': 5}, {'runs': 6}]
    """
    plain = {key: value for key, value in spec.items() if key != "sweep"}
    for values in itertools.product(*(axis.values for axis in axes)):
        content = _copy(plain)
        for axis, value in zip(axes, values, strict=True):
            _put(content, axis.key, value)
        yield content


def _copy(value: Any) -> Any:
    """A copy of the tables and lists; other values are shared."""
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return deepcopy(value) if isinstance(value, list) else value


def _put(content: dict[str, Any], key: str, value: Any) -> None:
    *path, last = _split(content, key)
    table: Any = content
    for part in path:
        if isinstance(table, dict) and part not in table:
            table[part] = {}
        table = table[part] if isinstance(table, dict) else None
        # A policy or a part may be a name alone: "ucb1" is {policy = "ucb1"}.
        if isinstance(table, str):
            table = _expand_name(content, path, part, table)
        rule = f"lead through tables of the spec, not through {part}"
        require(isinstance(table, dict), f"sweep.{key}", rule, table, ScenarioError)
    table[last] = value


def _split(content: Mapping[str, Any], key: str) -> list[str]:
    """The parts of a dotted key; a policy's label may have dots itself."""
    head, _, rest = key.partition(".")
    policies = content.get("policies")
    if head == "policies" and isinstance(policies, Mapping):
        for label in sorted(map(str, policies), key=len, reverse=True):
            if rest == label:
                return [head, label]
            if rest.startswith(f"{label}."):
                return [head, label, *rest[len(label) + 1 :].split(".")]
    return key.split(".")


def _expand_name(content: dict[str, Any], path: list[str], part: str, name: str) -> dict[str, Any]:
    """Replace a name by the table that it abbreviates."""
    owner: Any = content
    for step in path[: path.index(part)]:
        owner = owner[step]
    owner[part] = {"policy" if path[0] == "policies" else "kind": name}
    table: dict[str, Any] = owner[part]
    return table
