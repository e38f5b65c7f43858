"""`Plan`: the axes of a sweep, and one task for each point of their grid.

Each task has a name, which is a hash of everything that its result depends on.
"""

import dataclasses
import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from globalbandits._validation import as_integer, as_list, as_seed, require
from globalbandits._version import __version__
from globalbandits.environments import Population
from globalbandits.environments.part import Part
from globalbandits.errors import GlobalBanditsError, ModelError, ScenarioError, SimulationError
from globalbandits.model import RewardModel
from globalbandits.model.inputs import expand_grid
from globalbandits.policies import Policy, StopWhen
from globalbandits.policies.base import describe
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS, checkpoint_times
from globalbandits.simulation.provenance import code_hashes, content_hash
from globalbandits.simulation.sweeps.spec import Experiment, Reader

MAX_VALUES_PER_AXIS = 100_000
MAX_TASKS = 1_000_000
_GRID_KEYS = {"from", "to", "step", "number"}
# Names of variables in results. An axis whose key ends in such a name is named by its whole key.
_RESERVED_NAMES = frozenset(
    {"policy", "run", "time", "arm", "regret", "nominal_regret", "estimate", "pulls"}
    | {"bias", "stopped", "choice", "gap", "true_mean", "parameter"}
)


class Axis(NamedTuple):
    """A dotted key of the spec and its values."""

    name: str
    key: str
    values: tuple[Any, ...]

    @property
    def labels(self) -> list[Any]:
        """The values as coordinates: unchanged if all are numbers or all texts, otherwise JSON."""
        for kinds in ((int, float), (str,)):
            if all(isinstance(v, kinds) and not isinstance(v, bool) for v in self.values):
                return list(self.values)
        return [json.dumps(value, sort_keys=True, default=repr) for value in self.values]


def axes_of(sweep: object, taken: frozenset[str] = frozenset()) -> tuple[Axis, ...]:
    """The axes of a sweep table.

    Args:
        sweep: a mapping from dotted keys to lists of values, ``{from, to, step}`` or
            ``{from, to, number}``. Nested tables, which TOML makes of dotted keys, are accepted.
        taken: further names of variables that axes must not have.

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
    """The spec at every point of the grid, without the key ``sweep``. The last axis varies fastest.

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
    """A copy of nested tables and lists. Other values are shared."""
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
        # A policy or a part may be given by its name: "ucb1" is short for {policy = "ucb1"}.
        if isinstance(table, str):
            table = _expand_name(content, path, part, table)
        rule = f"lead through tables of the spec, not through {part}"
        require(isinstance(table, dict), f"sweep.{key}", rule, table, ScenarioError)
    table[last] = value


def _split(content: Mapping[str, Any], key: str) -> list[str]:
    """The parts of a dotted key. The label of a policy may contain dots."""
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
    """Replace the name of a policy or a part by a table with this name."""
    owner: Any = content
    for step in path[: path.index(part)]:
        owner = owner[step]
    owner[part] = {"policy" if path[0] == "policies" else "kind": name}
    table: dict[str, Any] = owner[part]
    return table


@dataclasses.dataclass(frozen=True, kw_only=True)
class Task:
    """One point of a sweep."""

    key: int  # index in the grid; the last axis varies fastest
    content: Mapping[str, Any]  # the spec at this point
    name: str  # hash of everything that the result depends on
    n_steps: int

    def read(self, reader: Reader) -> Experiment:
        """The experiment of this task."""
        return reader.read(self.content)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Plan:
    """All tasks of a spec."""

    spec: dict[str, Any]  # as plain values
    axes: tuple[Axis, ...]
    tasks: tuple[Task, ...]
    reader: Reader

    def where(self, task: Task) -> dict[str, Any]:
        """The values of the axes at a task."""
        place = np.unravel_index(task.key, self.shape) if self.axes else ()
        labels = self._labels.items()
        return {name: values[int(at)] for (name, values), at in zip(labels, place, strict=True)}

    @cached_property
    def _labels(self) -> dict[str, list[Any]]:
        return {axis.name: axis.labels for axis in self.axes}

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each axis."""
        return tuple(len(axis.values) for axis in self.axes)


def make_plan(spec: Mapping[str, Any], folder: Path | None = None) -> Plan:
    """Check every point of a spec and make its tasks.

    Args:
        spec: the content of a spec file. Models, policies and parts may also be Python objects.
        folder: the folder of files that the spec names.
    """
    require(isinstance(spec, Mapping), "spec", "be a table", spec, ScenarioError)
    axes = axes_of(spec.get("sweep", {}))
    if _theta_varies(spec.get("environment"), axes):
        axes = axes_of(spec.get("sweep", {}), frozenset({"theta"}))
    n_tasks = int(np.prod([len(axis.values) for axis in axes], dtype=object))
    require(
        n_tasks <= MAX_TASKS,
        "sweep",
        f"have at most {MAX_TASKS:,} points",
        n_tasks,
        ScenarioError,
    )
    reader = Reader(folder)
    namer = _Namer()
    tasks = []
    for key, content in enumerate(points(spec, axes)):
        try:
            experiment = reader.read(content)
            namer.check(experiment)
            name = namer.name(experiment)
        except GlobalBanditsError as error:
            raise ScenarioError(f"{error}{_place(axes, key)}") from error
        options = experiment.options
        n_steps = options["horizon"] * options["runs"] * len(experiment.policies)
        tasks.append(Task(key=key, content=content, name=name, n_steps=n_steps))
    return Plan(spec=plain_spec(spec), axes=axes, tasks=tuple(tasks), reader=reader)


def _place(axes: tuple[Axis, ...], key: int) -> str:
    """The values of the axes at a task, as the end of an error message."""
    if not axes:
        return ""
    place = np.unravel_index(key, tuple(len(axis.values) for axis in axes))
    values = [
        f"{axis.key} = {axis.values[int(at)]!r}" for axis, at in zip(axes, place, strict=True)
    ]
    return f" (at {', '.join(values)})"


def task_name(experiment: Experiment) -> str:
    """A hash of everything that the result of an experiment depends on."""
    return _Namer().name(experiment)


def _theta_varies(environment: object, axes: tuple[Axis, ...]) -> bool:
    """Whether results have a variable named theta. An axis must then have another name."""
    given = dict(environment) if isinstance(environment, Mapping) else {}
    thetas = [given.get("theta")]
    for axis in axes:
        if axis.key == "environment.theta":
            thetas += axis.values
        elif axis.key.startswith("environment.drift"):
            given["drift"] = axis.values
    has_population = any(isinstance(theta, (Mapping, Population)) for theta in thetas)
    return has_population or given.get("drift") is not None


class _Namer:
    """Checks and names tasks. Models and policies that tasks share are processed once."""

    def __init__(self) -> None:
        self._models: dict[int, tuple[RewardModel, Any]] = {}
        self._set_up: set[tuple[int, str]] = set()
        self._codes: dict[tuple[type, str], str] = {}

    def check(self, experiment: Experiment) -> None:
        """Raise if numbers are invalid or a policy cannot play this model."""
        options, env = experiment.options, experiment.environment
        as_integer("horizon", options["horizon"], 1, SimulationError, maximum=MAX_HORIZON)
        as_integer("runs", options["runs"], 1, SimulationError, maximum=MAX_RUNS)
        as_seed(options["seed"], SimulationError)
        if env.drift is not None:
            last = env.drift.last_time
            rule = f"be at most {last}, where the drift's path ends"
            fits = options["horizon"] <= last
            require(fits, "horizon", rule, options["horizon"], SimulationError)
        for label, policy in experiment.policies.items():
            pair = id(env.model), repr(policy)
            if pair not in self._set_up:
                try:
                    policy.setup(env.model)
                except GlobalBanditsError as error:
                    raise ScenarioError(f"policies.{label}: {error}") from error
                self._set_up.add(pair)
        stop = options.get("stop")
        if stop is not None:
            stop.setup(env.model)

    def name(self, experiment: Experiment) -> str:
        """A hash of everything that the result depends on."""
        env, options = experiment.environment, experiment.options
        times = checkpoint_times(
            options["horizon"], options.get("checkpoints", 200), options.get("spacing", "linear")
        )
        whole = {
            "version": __version__,
            "model": self._model(env.model),
            "truth": self._model(env.truth) if isinstance(env.truth, RewardModel) else None,
            "environment": env.to_dict(),
            "policies": {
                label: plain_spec(policy) for label, policy in experiment.policies.items()
            },
            "numbers": [options["horizon"], options["runs"], str(options["seed"])],
            "times": hashlib.sha256(times.astype("<i8").tobytes()).hexdigest(),
            "evidence": options["evidence"],
            "stop": plain_spec(options.get("stop")),
            "code": code_hashes(env, experiment.policies, self._code),
        }
        if options.get("batch", 1) != 1:
            whole["batch"] = options["batch"]
        text = json.dumps(whole, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def _code(self, part: Any) -> str:
        key = type(part), repr(part)
        if key not in self._codes:
            self._codes[key] = content_hash(part)
        return self._codes[key]

    def _model(self, model: RewardModel) -> Any:
        if id(model) not in self._models:
            self._models[id(model)] = model, describe_model(model)
        return self._models[id(model)][1]


def describe_model(model: RewardModel) -> Any:
    """A model as plain values. A model of Python functions is described by hashes of its values."""
    try:
        return model.to_dict()
    except ModelError:
        grid = np.linspace(*model.domain, 65)
        worth = np.round(model.worth(grid), 9)
        digest = hashlib.sha256(np.ascontiguousarray(worth).tobytes()).hexdigest()
        return {"fingerprint": model.fingerprint, "worth": digest[:32]}


def plain_spec(value: Any) -> Any:
    """A spec with its Python objects as plain values, from which the name of a task is hashed.

    Infinite numbers stay, unlike in `_plain_data.plain`, because they are part of the spec.
    """
    if isinstance(value, RewardModel):
        return describe_model(value)
    if isinstance(value, Policy):
        return describe(value)
    if isinstance(value, (Part, StopWhen)):
        return plain_spec(value.to_dict())
    if isinstance(value, Mapping):
        return {str(key): plain_spec(item) for key, item in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (Sequence, np.ndarray)) and not isinstance(value, (str, bytes)):
        return [plain_spec(item) for item in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return repr(value)
