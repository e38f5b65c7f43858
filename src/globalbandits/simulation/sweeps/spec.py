"""Specs: read a spec into the arguments of `simulate`, and the JSON schema of spec files.

Error messages contain the path of the key.
"""

import dataclasses
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

from globalbandits import _registry
from globalbandits._objects import is_object_name, load_object
from globalbandits._validation import as_list, require, require_known
from globalbandits.environments import Bias, Delay, Drift, Environment, Noise, Population
from globalbandits.errors import GlobalBanditsError, PolicyError, ScenarioError
from globalbandits.model import AnyModel, RewardModel, VectorModel, load_model
from globalbandits.model.catalogue.names import families, parameters_of, short_names
from globalbandits.model.files import build_model
from globalbandits.policies import Policy, StopWhen
from globalbandits.policies.base import registered
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS, SPACINGS
from globalbandits.simulation.simulation_request import Request, make_request

KEYS = (
    "title",
    "text",
    "model",
    "environment",
    "policies",
    "horizon",
    "runs",
    "seed",
    "checkpoints",
    "spacing",
    "batch",
    "evidence",
    "stop",
    "sweep",
)
ENVIRONMENT = (
    "theta",
    "noise",
    "drift",
    "bias",
    "truth",
    "delay",
)  # keys of the environment's table
NUMBERS = (
    "horizon",
    "runs",
    "seed",
    "checkpoints",
    "spacing",
    "batch",
)  # passed to `simulate` unchanged
_ERROR = ScenarioError


@contextmanager
def within(path: str, content: object = None) -> Iterator[None]:
    """Prefix error messages about the keys of a table with the path of the table."""
    try:
        yield
    except GlobalBanditsError as error:
        text = str(error)
        first = re.split(r"[ .:\[]", text, maxsplit=1)[0]
        if first == path.rpartition(".")[2] or first == path:
            raise ScenarioError(f"{path}{text[len(first) :]}") from error
        known = isinstance(content, Mapping) and first in content
        raise ScenarioError(f"{path}.{text}" if known else f"{path}: {text}") from error


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One point of a spec: its environment, its policies and the options of `simulate`."""

    environment: Environment
    policies: Mapping[str, Policy]
    options: Mapping[str, Any]

    @cached_property
    def request(self) -> Request:
        """The checked request. It is computed on first use, because it takes long."""
        return make_request(self.environment, self.policies, **self.options)


class Reader:
    """Reads the points of one spec. A model that several points share is analysed once.

    Args:
        folder: the folder of files that the spec names.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = Path() if folder is None else folder
        self._models: dict[str, AnyModel] = {}

    def read(self, content: Mapping[str, Any]) -> Experiment:
        """The experiment of a spec without a sweep."""
        for key in content:
            require_known("a key of the spec", key, KEYS, _ERROR)
        for key in ("model", "environment", "policies", "horizon"):
            require(key in content, "the spec", f"have the key {key}", list(content), _ERROR)
        model = self.model("model", content["model"])
        options: dict[str, Any] = {"runs": 100, "seed": 0}
        options |= {key: content[key] for key in NUMBERS if key in content}
        evidence = content.get("evidence", False)
        require(isinstance(evidence, bool), "evidence", "be true or false", evidence, _ERROR)
        options["evidence"] = evidence
        if "stop" in content:
            options["stop"] = _stop(content["stop"])
        return Experiment(
            self.environment("environment", model, content["environment"]),
            _policies(content["policies"]),
            options,
        )

    def model(self, path: str, content: Any) -> AnyModel:
        """A model from a description, ``{file = ...}``, ``{object = "module:name"}`` or a model."""
        if isinstance(content, (RewardModel, VectorModel)):
            return content
        require(isinstance(content, Mapping), path, "be a table", content, _ERROR)
        key = repr(_sorted(content))
        if key not in self._models:
            with within(path, content):
                self._models[key] = self._make_model(content)
        return self._models[key]

    def _make_model(self, content: Mapping[str, Any]) -> AnyModel:
        for source in ("file", "object"):
            if source in content:
                alone = len(content) == 1 and isinstance(content[source], str)
                require(alone, source, "be a text, the only key", dict(content), _ERROR)
        if "file" in content:
            return load_model(self._folder / content["file"])
        if "object" in content:
            found = load_object("object", content["object"], ScenarioError, "model")
            good = isinstance(found, (RewardModel, VectorModel))
            require(
                good, "object", "name a RewardModel or a VectorModel", content["object"], _ERROR
            )
            model: AnyModel = found
            return model
        return build_model(content)

    def environment(self, path: str, model: AnyModel, content: Any) -> Environment:
        """An environment from a table of theta, noise, drift, bias, truth and delay."""
        require(isinstance(content, Mapping), path, "be a table", content, _ERROR)
        for key in content:
            require_known(f"a key of {path}", key, ENVIRONMENT, _ERROR)
        parts: dict[str, Any] = {}
        for name, kind in {"noise": Noise, "drift": Drift, "bias": Bias, "delay": Delay}.items():
            if name in content:
                value = content[name]
                with within(f"{path}.{name}", value):
                    parts[name] = value if isinstance(value, kind) else kind.from_dict(value)
        with within(path, content):
            if "theta" in content:
                parts["theta"] = _theta(content["theta"], model)
            if "truth" in content:
                parts |= self._truth(model, content["truth"])
            return Environment(model, **parts)

    def _truth(self, model: AnyModel, content: Any) -> dict[str, Any]:
        """A truth from a list of means, or from a model with its own theta.

        The arms of the true model are by default those of ``model``.
        """
        if not isinstance(content, Mapping):
            return {"truth": content}
        options = dict(content)
        require("theta" in options, "truth", "have theta", list(options), _ERROR)
        theta = options.pop("theta")
        if not options.keys() & {"arms", "file", "object", "table"}:
            options["arms"] = list(model.arms)
        return {"truth": self.model("truth", options), "truth_theta": theta}


def _sorted(value: Any) -> Any:
    """Nested tables as sorted pairs, so that equal tables have equal representations."""
    if isinstance(value, Mapping):
        return [(str(key), _sorted(value[key])) for key in sorted(value, key=str)]
    return [_sorted(item) for item in value] if isinstance(value, (list, tuple)) else value


def _theta(value: Any, model: AnyModel) -> Any:
    """A number, numbers by name for a vector model, or a population from a table."""
    if not isinstance(value, Mapping) or isinstance(model, VectorModel):
        return value
    fields = ("interval", "samples", "weights", "shifts")
    for key in value:
        require_known("a key of theta", key, fields, _ERROR)
    return Population(**value)


def _stop(value: Any) -> StopWhen:
    if isinstance(value, StopWhen):
        return value
    require(isinstance(value, Mapping), "stop", "be a table", value, _ERROR)
    fields = [field.name for field in dataclasses.fields(StopWhen)]
    for key in value:
        require_known("a key of stop", key, fields, _ERROR)
    with within("stop", value):
        return StopWhen(**value)


def _policies(content: Any) -> dict[str, Policy]:
    """Policies by label, from a table, or from a list of policies with their own labels."""
    if isinstance(content, Mapping):
        found = {}
        for label, value in content.items():
            with within(f"policies.{label}", value):
                found[str(label)] = make_policy(value)
        require(len(found) > 0, "policies", "be at least one", dict(content), _ERROR)
        return found
    rule = "be a table of policies, or a list of their names"
    listed = as_list("policies", content, rule, _ERROR)
    found = {}
    for place, value in enumerate(listed):
        with within(f"policies[{place}]", value):
            policy = make_policy(value)
            require(policy.label not in found, "policy", "be there once", policy.label, PolicyError)
        found[policy.label] = policy
    require(len(found) > 0, "policies", "be at least one", content, _ERROR)
    return found


def make_policy(value: Any) -> Policy:
    """A policy from its name, ``{policy = name, ...}``, ``module:Object`` or a policy.

    >>> make_policy("ucb1"), make_policy({"policy": "BUW", "scale": 0.5})
    (UCB1(), BUW(scale=0.5))
    """
    if isinstance(value, Policy):
        return value
    if isinstance(value, str):
        value = {"policy": value}
    is_table = isinstance(value, Mapping) and isinstance(value.get("policy"), str)
    require(is_table, "policy", "be a name, or a table with policy = name", value, PolicyError)
    name = value["policy"]
    parameters = {key: item for key, item in value.items() if key != "policy"}
    if is_object_name(name):
        found = load_object("policy", name, PolicyError)
        if isinstance(found, type) and issubclass(found, Policy):
            found = found(**parameters)
        rule = "name a policy, or a policy class"
        require(isinstance(found, Policy), "policy", rule, name, PolicyError)
        policy: Policy = found
        return policy
    classes = {policy.__name__: kind for kind, policy in registered().items()}
    return Policy.from_dict({"policy": classes.get(name, name)} | parameters)


# The JSON schema of spec files.

_NUMBER = {"type": "number"}
_TEXT = {"type": "string"}
_OBJECT = {"type": "string", "pattern": r":|\.py$"}  # module:Object
_NUMBERS = {"type": "array", "items": _NUMBER, "minItems": 1}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_POSITIVE = {"type": "integer", "minimum": 1}


def spec_schema() -> dict[str, Any]:
    """The JSON schema of spec files.

    >>> sorted(spec_schema()["required"])
    ['environment', 'horizon', 'model', 'policies']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An experiment of globalbandits",
        "type": "object",
        "additionalProperties": False,
        "required": ["model", "environment", "policies", "horizon"],
        "properties": {
            "title": _TEXT,
            "text": _TEXT,
            "model": {"$ref": "#/$defs/model"},
            "environment": _environment(),
            "policies": _policy_schema(),
            "horizon": _POSITIVE | {"maximum": MAX_HORIZON},
            "runs": _POSITIVE | {"maximum": MAX_RUNS},
            "seed": {"type": "integer", "minimum": 0},
            "checkpoints": {"anyOf": [_POSITIVE, {"type": "array", "items": _POSITIVE}]},
            "spacing": {"enum": list(SPACINGS)},
            "batch": _POSITIVE | {"maximum": MAX_HORIZON},
            "evidence": {"type": "boolean"},
            "stop": _table({field.name: {} for field in dataclasses.fields(StopWhen)}),
            "sweep": {
                "type": "object",
                "description": "Keys of this file, dotted, and the values they take.",
                "additionalProperties": {"$ref": "#/$defs/axis"},
            },
        },
        "$defs": {
            "grid": _grid(),
            "axis": {
                "anyOf": [
                    {"type": "array", "minItems": 1},
                    {"$ref": "#/$defs/grid"},
                    {
                        "type": "object",
                        "minProperties": 1,
                        "propertyNames": {"not": {"enum": ["from", "to", "step", "number"]}},
                        "additionalProperties": {"$ref": "#/$defs/axis"},
                    },
                ]
            },
            "model": _model(),
            "policy": {"anyOf": [_policy_name(), *(_policy(kind) for kind in registered())]},
        },
    }


def _table(properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "required": required or [],
    }


def _grid() -> dict[str, Any]:
    ends = {"from": _NUMBER, "to": _NUMBER}
    return {
        "oneOf": [
            _table(
                ends | {"step": {"type": "number", "exclusiveMinimum": 0}}, ["from", "to", "step"]
            ),
            _table(ends | {"number": _POSITIVE}, ["from", "to", "number"]),
        ]
    }


def _arms() -> dict[str, Any]:
    listed = {"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1}
    return {"anyOf": [listed | {"maxItems": 1000}, {"$ref": "#/$defs/grid"}]}


def _model() -> dict[str, Any]:
    texts = {"type": "array", "items": _TEXT, "minItems": 1}
    own = {
        "version": {"const": 1},
        "arms": _arms(),
        "domain": _PAIR,
        "reward_range": _PAIR,
        "monotone": {"type": "boolean"},
        "value": {"anyOf": [_TEXT, texts]},
        "cost": {"type": "number", "minimum": 0},
        "target": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1},
        "penalty": {"type": "number", "minimum": 0},
    }
    box = {"type": "object", "additionalProperties": _PAIR, "minProperties": 1, "maxProperties": 3}
    named = {"domain": box, "parameters": texts, "prior": {"type": "object"}}
    table = _table({"theta": _NUMBERS, "means": {"type": "array", "items": _NUMBERS}})
    forms = [
        _table(own | {"mean": _TEXT, "holder": {"type": "object"}}, ["mean", "arms"]),
        _table(own | named | {"mean": _TEXT}, ["mean", "arms", "domain"]),
        _table(own | {"means": texts, "holder": {"type": "object"}}, ["means"]),
        _table(own | {"table": table | {"required": ["theta", "means"]}}, ["table"]),
        _table({"file": _TEXT}, ["file"]),
        _table({"object": _TEXT}, ["object"]),
    ]
    for full, short in zip(families(), short_names(), strict=True):
        names = sorted({full, full.replace("_", "-"), short, short.replace("-", "_")})
        known = {"family": {"enum": names}, "version": {"const": 1}, "arms": _arms()}
        parameters: dict[str, Any] = {name: {} for name in parameters_of(full)}
        forms.append(_table(known | parameters | {"domain": _PAIR}, ["family", "arms"]))
    return {"anyOf": forms}


def _environment() -> dict[str, Any]:
    people = _table({"interval": _PAIR, "samples": _NUMBERS, "weights": _NUMBERS,
                     "shifts": {"type": "array", "items": _NUMBERS}})  # fmt: skip
    parts = {
        family: {
            "anyOf": [{"enum": list(known)}, *(_part(kind, part) for kind, part in known.items())]
        }
        for family in (Noise.family, Drift.family, Bias.family, Delay.family)
        if (known := _registry.registered(family))
    }
    truth = {"anyOf": [_NUMBERS, {"type": "object", "required": ["theta"]}]}
    named = {"type": "object", "additionalProperties": _NUMBER}
    return _table({"theta": {"anyOf": [_NUMBER, people, named]}, "truth": truth} | parts)


def _part(kind: str, part: Any) -> dict[str, Any]:
    parameters = _registry.parameters_of(part)
    required = [name for name, is_required in parameters.items() if is_required]
    properties: dict[str, Any] = {name: {} for name in parameters}
    return _table({"kind": {"const": kind}} | properties, ["kind", *required])


def _policy(kind: str) -> dict[str, Any]:
    policy = registered()[kind]
    fields: dict[str, Any] = {field.name: {} for field in dataclasses.fields(policy)}
    return _table({"policy": {"enum": [kind, policy.__name__]}} | fields, ["policy"])


def _policy_name() -> dict[str, Any]:
    names = [name for kind, policy in registered().items() for name in (kind, policy.__name__)]
    return {"anyOf": [{"enum": sorted(set(names))}, _OBJECT]}


def _policy_schema() -> dict[str, Any]:
    one = {"$ref": "#/$defs/policy"}
    own = {"type": "object", "required": ["policy"], "properties": {"policy": _OBJECT}}
    each = {"anyOf": [one, own]}
    return {
        "anyOf": [
            {"type": "object", "minProperties": 1, "additionalProperties": each},
            {"type": "array", "minItems": 1, "items": each},
        ]
    }
