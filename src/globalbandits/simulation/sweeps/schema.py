"""The JSON schema of spec files, for editors, made from the lists that the reader uses."""

import dataclasses
from typing import Any

from globalbandits import _registry
from globalbandits.environments import Bias, Drift, Noise
from globalbandits.model.catalogue import families, parameters_of, short_names
from globalbandits.policies import StopWhen
from globalbandits.policies.base import registered
from globalbandits.simulation.checkpoints import MAX_HORIZON, MAX_RUNS, SPACINGS

_NUMBER = {"type": "number"}
_TEXT = {"type": "string"}
_OBJECT = {"type": "string", "pattern": r":|\.py$"}  # module:Object
_NUMBERS = {"type": "array", "items": _NUMBER, "minItems": 1}
_PAIR = {"type": "array", "items": _NUMBER, "minItems": 2, "maxItems": 2}
_POSITIVE = {"type": "integer", "minimum": 1}


def spec_schema() -> dict[str, Any]:
    """The schema.

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
            "policies": _policies(),
            "horizon": _POSITIVE | {"maximum": MAX_HORIZON},
            "runs": _POSITIVE | {"maximum": MAX_RUNS},
            "seed": {"type": "integer", "minimum": 0},
            "checkpoints": {"anyOf": [_POSITIVE, {"type": "array", "items": _POSITIVE}]},
            "spacing": {"enum": list(SPACINGS)},
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
    table = _table({"theta": _NUMBERS, "means": {"type": "array", "items": _NUMBERS}})
    forms = [
        _table(own | {"mean": _TEXT, "holder": {"type": "object"}}, ["mean", "arms"]),
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
        for family in (Noise.family, Drift.family, Bias.family)
        if (known := _registry.registered(family))
    }
    truth = {"anyOf": [_NUMBERS, {"type": "object", "required": ["theta"]}]}
    return _table({"theta": {"anyOf": [_NUMBER, people]}, "truth": truth} | parts)


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


def _policies() -> dict[str, Any]:
    one = {"$ref": "#/$defs/policy"}
    own = {"type": "object", "required": ["policy"], "properties": {"policy": _OBJECT}}
    each = {"anyOf": [one, own]}
    return {
        "anyOf": [
            {"type": "object", "minProperties": 1, "additionalProperties": each},
            {"type": "array", "minItems": 1, "items": each},
        ]
    }
