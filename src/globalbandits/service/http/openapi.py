"""The OpenAPI document, built from the table of operations and its structs."""

import dataclasses
import re
from http import HTTPStatus
from typing import Any

import msgspec

from globalbandits._version import __version__
from globalbandits.model.catalogue.names import families, parameters_of
from globalbandits.policies.base import registered
from globalbandits.service.http.messages import Problem
from globalbandits.service.http.operations import BODY_PROBLEMS, OPERATIONS, PARAMETERS, Operation
from globalbandits.service.http.request import JSON, PROBLEM

_MODELS = [
    {"family": "demand.linear_power", "arms": [0.4, 0.5, 0.6, 0.7, 0.8], "cost": 0.1},
    {"family": "demand.exponential", "arms": [2.0, 3.0, 4.0, 5.0], "cost": 1.5},
    {"family": "dose.logistic", "arms": [1.0, 2.0, 3.0, 4.0, 5.0], "target": 0.25},
    {"mean": "exp(-theta * arm)", "arms": [1.0, 2.0, 3.0], "domain": [0.1, 1.0]},
    {
        "mean": "expit(2 + context - theta * arm)",
        "arms": [1.0, 2.0, 3.0],
        "domain": [0.5, 3.0],
        "contexts": {"weekday": 0.0, "weekend": 1.0},
    },
]
_DECISION = {"request_id": "order-17", "context": "weekend", "allowed": [1.0, 3.0]}
_EXAMPLES: dict[str, Any] = {
    "DecisionIn": {
        "plain": {"value": {"request_id": "order-17"}},
        "same arm for a visitor": {"value": {"request_id": "order-17", "unit": "visitor-4711"}},
        "segment and stock": {"value": _DECISION},
    },
    "DecisionsIn": {"segments": {"value": {"items": [{"bandit": "shop"} | _DECISION]}}},
    "RewardIn": {
        "one reward": {"value": {"reward": 1.0}},
        "a day": {"value": {"reward": 15, "count": 500}},
    },
}
_POLICIES = [
    {"policy": "wagp"},
    {"policy": "elastic", "horizon": 10_000},
    {"policy": "thompson_sampling"},
]
_REFERENCE = "#/components/schemas/{name}"


def document() -> dict[str, Any]:
    """The API as an OpenAPI 3.1 document."""
    structs = [Problem]
    for operation in OPERATIONS:
        structs += [found for found in operation.answers.values() if not isinstance(found, str)]
        structs += [operation.body] if operation.body is not None else []
    _, components = msgspec.json.schema_components(structs, ref_template=_REFERENCE)
    components |= {"Model": _model_schema(), "Policy": _policy_schema()}
    for struct in ("BanditIn", "SettingsIn", "PreviewIn"):
        properties = components[struct]["properties"]
        for name in ("model", "policy"):
            if name in properties:
                properties[name] = {"$ref": _REFERENCE.format(name=name.capitalize())}
    paths: dict[str, Any] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "globalbandits",
            "version": __version__,
            "description": "Decisions, their rewards, and everything that was learned from them.",
        },
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _model_schema() -> dict[str, Any]:
    """A reward model: a family of the catalogue, formulas, or a table."""
    number_or_text = {"anyOf": [{"type": "number"}, {"type": "string"}]}
    return {
        "title": "Model",
        "description": (
            "A reward model, as `model.to_dict()` returns it: a family of the catalogue with arms "
            "and parameters, or formulas (mean, means), or a table. `x-families` has the names of "
            "the parameters of each family. POST /v1/models:preview draws a model without storing."
        ),
        "type": "object",
        "properties": {
            "family": {"type": "string", "examples": list(families())},
            "mean": {
                "type": "string",
                "description": "A formula of theta and arm, and of context if there are contexts.",
            },
            "contexts": {
                "description": "Names of contexts, or numbers by name; requests name one of them.",
                "anyOf": [{"type": "array"}, {"type": "object"}],
            },
            "means": {"type": "array", "description": "A formula of theta for each arm."},
            "table": {"type": "object", "description": "Means at values of theta, by arm."},
            "arms": {
                "description": "The values to choose from: prices, doses or labels; or a grid.",
                "anyOf": [
                    {"type": "array", "minItems": 1, "maxItems": 10_000, "items": number_or_text},
                    {"type": "object", "description": "from, to and step"},
                ],
            },
        },
        "examples": _MODELS,
        "x-families": {name: list(parameters_of(name)) for name in families()},
    }


def _policy_schema() -> dict[str, Any]:
    """A policy: its name and its parameters."""
    parameters = {
        name: {field.name: _default(field) for field in dataclasses.fields(kind)}
        for name, kind in sorted(registered().items())
    }
    return {
        "title": "Policy",
        "description": (
            "A policy, as `policy.to_dict()` returns it: its name and the parameters that differ "
            "from their defaults. `x-parameters` has the defaults. GET /v1/catalogue has advice."
        ),
        "type": "object",
        "required": ["policy"],
        "properties": {"policy": {"type": "string", "enum": list(parameters)}},
        "examples": _POLICIES,
        "x-parameters": parameters,
    }


def _default(field: "dataclasses.Field[Any]") -> Any:
    plain = isinstance(field.default, (bool, int, float, str))
    return field.default if plain else None


def problems_of(operation: Operation) -> list[int]:
    """The statuses of all problems that an operation may answer with."""
    found = {*operation.problems, 503}
    if operation.role is not None:
        found |= {401, 403, 422, 429}
    if operation.body is not None:
        found |= set(BODY_PROBLEMS)
    if re.search("{(id|name)}", operation.path):
        found |= {404}
    return sorted(found)


def _operation(operation: Operation) -> dict[str, Any]:
    responses = {
        str(status): _response(status, found) for status, found in operation.answers.items()
    }
    for status in problems_of(operation):
        responses[str(status)] = _response(status, Problem, PROBLEM)
    summary = (operation.handler.__doc__ or "").splitlines()[0]
    described: dict[str, Any] = {
        "operationId": operation.handler.__name__,
        "summary": summary,
        "parameters": [
            _parameter("path", name, PARAMETERS[name]) for name in _names(operation.path)
        ]
        + [_parameter("query", name, kind) for name, kind in operation.query],
        "responses": responses,
    }
    if operation.role is not None:
        described["security"] = [{"token": []}]
        described["description"] = f"Needs the role {operation.role}."
    if operation.body is not None:
        described["requestBody"] = {
            "required": not operation.body_optional,
            "content": {JSON: {"schema": _reference(operation.body)}},
        }
        examples = _EXAMPLES.get(operation.body.__name__)
        if examples is not None:
            described["requestBody"]["content"][JSON]["examples"] = examples
    return described


def _response(status: int, found: Any, media: str = "") -> dict[str, Any]:
    if isinstance(found, str):
        content: dict[str, Any] = {found.partition(";")[0]: {"schema": {"type": "string"}}}
    else:
        content = {media or JSON: {"schema": _reference(found)}}
    return {"description": HTTPStatus(status).phrase, "content": content}


def _names(path: str) -> list[str]:
    return re.findall("{([a-z]+)}", path)


def _parameter(where: str, name: str, kind: Any) -> dict[str, Any]:
    schema = msgspec.json.schema(kind)
    return {"name": name, "in": where, "required": where == "path", "schema": schema}


def _reference(struct: Any) -> dict[str, str]:
    return {"$ref": _REFERENCE.format(name=struct.__name__)}
