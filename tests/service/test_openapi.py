"""Requests of all kinds, made from the document: no 500, and no answer it does not name."""

import itertools

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from globalbandits.service.http.openapi import document, problems_of
from globalbandits.service.http.operations import OPERATIONS
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving, talking
from tests.service.worlds import WAGP
from tests.soak import length

# Of each operation, good ones and bad ones. Many more, but less varied, are in test_fuzz.py.
N_EXAMPLES = length(6, 300)
SECRET = "a-secret-of-the-operator"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]


@pytest.fixture(scope="module")
def api():
    options = ServiceOptions(compiled=False, most_bandits=20, reading_seconds=0.2, token=SECRET)
    with serving(SQLiteStore(":memory:"), options) as (_, url), talking(url, SECRET) as http:
        http.put("/v1/bandits/gone", json=WAGP)
        http.put("/v1/bandits/shop", json=WAGP)
        id = http.post("/v1/bandits/shop/decisions").json()["decision_id"]
        found = http.get("/openapi.json").json()
        del found["components"]["securitySchemes"]  # every request has a good token
        for path in found["paths"].values():
            for described in path.values():
                described.pop("security", None)
        schema = schemathesis.openapi.from_dict(found)
        schema.config.update(base_url=url)

        @schema.hook
        def map_path_parameters(context, path_parameters):
            """Half of them name something that is there."""
            # The one that all other operations use must stay.
            deleting = context.operation.method.upper() == "DELETE"
            known = {"name": "gone" if deleting else "shop", "id": id}
            for name, value in (path_parameters or {}).items():
                if schema.with_known and len(value) % 2 == 0:
                    path_parameters[name] = known[name]
            return path_parameters

        yield schema


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: mode.value)
@pytest.mark.parametrize(
    "operation",
    [found for found in OPERATIONS if not found.path.endswith("stream")],  # which has no end
    ids=lambda found: f"{found.method} {found.path}",
)
def test_every_operation_answers_as_documented(api, operation, mode):
    api.with_known = mode is GenerationMode.POSITIVE  # what is wrong must stay so
    described = api[operation.path][operation.method]
    has_input = operation.body is not None or operation.query or "{" in operation.path
    if mode is GenerationMode.NEGATIVE and not has_input:
        return  # nothing of such a request can be wrong

    @given(described.as_strategy(generation_mode=mode))
    @settings(max_examples=N_EXAMPLES, suppress_health_check=list(HealthCheck))
    def send(case):
        response = case.call(headers={"Authorization": f"Bearer {SECRET}"})
        assert response.status_code != 401
        case.validate_response(response, checks=CHECKS)

    send()


def test_the_document_names_every_operation_once():
    found = document()
    operations = [(path, method) for path, one in found["paths"].items() for method in one]
    assert len(operations) == len(OPERATIONS) == len(set(operations))
    ids = [one["operationId"] for path in found["paths"].values() for one in path.values()]
    assert len(set(ids)) == len(ids)


def test_the_document_holds_what_it_refers_to():
    found = document()
    text = repr(found)
    for name in {part.partition("'")[0] for part in text.split("#/components/schemas/")[1:]}:
        assert name in found["components"]["schemas"]


def test_documented_bounds_of_a_query_are_the_actual_ones():
    """A client that checks requests by the document can read all of a long log."""
    bounds = {
        (path, parameter["name"]): parameter["schema"]["maximum"]
        for path, one in document()["paths"].items()
        for parameter in one.get("get", {}).get("parameters", ())
        if parameter["schema"].get("type") == "integer"
    }
    assert len(bounds) == 4
    with (
        serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as (service, url),
        talking(url) as http,
    ):
        service.log.create("shop", WAGP)
        for (path, name), largest in bounds.items():
            path = path.replace("{name}", "shop")
            assert http.get(f"{path}?{name}={largest}").status_code == 200
            assert http.get(f"{path}?{name}={largest + 1}").status_code == 422


def test_the_examples_of_models_and_policies_can_be_created():
    schemas = document()["components"]["schemas"]
    models, policies = (schemas[name]["examples"] for name in ("Model", "Policy"))
    with (
        serving(SQLiteStore(":memory:"), ServiceOptions(compiled=False)) as (_, url),
        talking(url) as http,
    ):
        for place, (model, policy) in enumerate(itertools.product(models, policies)):
            body = {"model": model, "policy": policy}
            assert http.put(f"/v1/bandits/b{place}", json=body).status_code == 201, body
    assert schemas["BanditIn"]["properties"]["model"]["$ref"].endswith("/Model")
    assert schemas["Policy"]["x-parameters"]["elastic"]["horizon"] is None
    families = schemas["Model"]["x-families"]
    assert {"power", "domain", "cost"} <= set(families["demand.linear_power"])


def test_operations_with_a_body_may_refuse_it_in_every_way():
    for operation in OPERATIONS:
        if operation.body is not None:
            assert set(problems_of(operation)) >= {400, 401, 403, 408, 413, 415, 422, 429, 503}
