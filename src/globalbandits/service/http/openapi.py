"""The OpenAPI document, built from the table of operations and its structs."""

import re
from http import HTTPStatus
from typing import Any

import msgspec

from globalbandits._version import __version__
from globalbandits.service.http.messages import Problem
from globalbandits.service.http.operations import (
    BODY_PROBLEMS,
    OPERATIONS,
    PARAMETERS,
    Operation,
)
from globalbandits.service.http.request import JSON, PROBLEM

_REFERENCE = "#/components/schemas/{name}"


def document() -> dict[str, Any]:
    """The API as an OpenAPI 3.1 document."""
    structs = [Problem]
    for operation in OPERATIONS:
        structs += [found for found in operation.answers.values() if not isinstance(found, str)]
        structs += [operation.body] if operation.body is not None else []
    _, components = msgspec.json.schema_components(structs, ref_template=_REFERENCE)
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
