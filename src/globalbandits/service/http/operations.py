"""The table of operations, from which the router and the OpenAPI document are built."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from msgspec import Meta
from starlette.responses import Response

from globalbandits.service.http import handlers
from globalbandits.service.http.messages import (
    BanditIn,
    BanditOut,
    BanditsOut,
    CatalogueOut,
    Context,
    CurvesOut,
    DecisionIn,
    DecisionOut,
    DecisionsIn,
    DecisionsOut,
    DeletedOut,
    EvidenceOut,
    ExplanationOut,
    HealthOut,
    HistoryOut,
    Id,
    ImportIn,
    ImportOut,
    LatestOut,
    Name,
    NewTokenOut,
    PastOut,
    PreviewIn,
    RewardIn,
    RewardOut,
    RewardsIn,
    RewardsOut,
    SettingsIn,
    SettingsOut,
    TokenIn,
    TokensOut,
    WaitOut,
    WeightsOut,
    WhatIfIn,
    WhatIfOut,
)
from globalbandits.service.http.request import (
    EVENTS,
    MAX_BATCH_BYTES,
    MAX_BODY_BYTES,
    NDJSON,
    TEXT,
    ServiceRequest,
)

Handler = Callable[[ServiceRequest], Awaitable[Response]]
BODY_PROBLEMS = (400, 408, 413, 415, 422)
PARAMETERS: dict[str, Any] = {"name": Name, "id": Id}  # of paths


class Operation(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    answers: dict[int, Any]  # by status: a struct for JSON, or the media type of another body
    problems: tuple[int, ...] = ()  # statuses of its own problems
    role: str | None = "read"  # the lowest role that may call it; None if no token is needed
    body: Any = None  # the struct of the request's body
    body_optional: bool = False
    max_bytes: int = MAX_BODY_BYTES  # of the request's body
    query: tuple[tuple[str, Any], ...] = ()  # names and types of query parameters


_BANDIT = "/v1/bandits/{name}"
_DECISIONS = f"{_BANDIT}/decisions"
_REWARD = f"{_DECISIONS}/{{id}}/reward"


def _up_to(maximum: int) -> Any:
    return Annotated[int, Meta(ge=0, le=maximum)]


# The router tries paths in this order, so the most frequent operations come first.
OPERATIONS = (
    Operation(
        "POST",
        _DECISIONS,
        handlers.decide,
        {201: DecisionOut, 200: DecisionOut},
        (404, 409),
        "write",
        DecisionIn,
        body_optional=True,
    ),
    Operation(
        "PUT", _REWARD, handlers.reward, {200: RewardOut}, (404, 409, 410), "write", RewardIn
    ),
    Operation("DELETE", _REWARD, handlers.retract, {200: RewardOut}, (404, 409), "write"),
    Operation(
        "POST",
        "/v1/decisions:batch",
        handlers.decide_many,
        {200: DecisionsOut},
        (),
        "write",
        DecisionsIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation(
        "POST",
        "/v1/rewards:batch",
        handlers.reward_many,
        {200: RewardsOut},
        (),
        "write",
        RewardsIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation(
        "POST",
        f"{_BANDIT}/rewards:import",
        handlers.import_rewards,
        {200: ImportOut},
        (404, 409),
        "admin",
        ImportIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation("GET", _BANDIT, handlers.show_bandit, {200: BanditOut}, (404,)),
    Operation(
        "PUT",
        _BANDIT,
        handlers.create_bandit,
        {201: BanditOut, 200: BanditOut},
        (409,),
        "admin",
        BanditIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation(
        "PATCH",
        f"{_BANDIT}/settings",
        handlers.change_settings,
        {200: SettingsOut},
        (404, 409),
        "admin",
        SettingsIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation("DELETE", _BANDIT, handlers.delete_bandit, {200: DeletedOut}, (404,), "admin"),
    Operation(
        "GET",
        "/v1/bandits",
        handlers.list_bandits,
        {200: BanditsOut},
        (422,),
        query=(
            ("search", Annotated[str, Meta(max_length=64)]),
            ("after", Annotated[str, Meta(max_length=64)]),
            ("limit", Annotated[int, Meta(ge=1, le=handlers.MAX_BANDITS)]),
        ),
    ),
    Operation(
        "GET",
        "/v1/decisions/{id}",
        handlers.show_decision,
        {200: PastOut},
        (404,),
        query=(("why", bool),),
    ),
    Operation(
        "GET",
        f"{_BANDIT}/explanation",
        handlers.explain,
        {200: ExplanationOut},
        (404,),
        query=(("context", Context),),
    ),
    Operation(
        "GET",
        f"{_BANDIT}/weights",
        handlers.show_weights,
        {200: WeightsOut},
        (404,),
        query=(("context", Context),),
    ),
    Operation(
        "POST",
        f"{_BANDIT}/what-if",
        handlers.what_if,
        {200: WhatIfOut, 202: WaitOut},
        (404, 409),
        "write",
        WhatIfIn,
    ),
    Operation(
        "GET",
        f"{_BANDIT}/evidence",
        handlers.show_evidence,
        {200: EvidenceOut, 202: WaitOut},
        (404,),
    ),
    Operation(
        "GET",
        f"{_BANDIT}/events",
        handlers.list_events,
        {200: NDJSON},
        (404, 422),
        query=(("after", _up_to(handlers.MAX_VERSION)), ("limit", _up_to(handlers.MAX_EVENTS))),
    ),
    Operation("GET", f"{_BANDIT}/stream", handlers.stream, {200: EVENTS}, (404,)),
    Operation(
        "GET",
        _DECISIONS,
        handlers.list_decisions,
        {200: LatestOut},
        (404, 422),
        query=(("limit", _up_to(handlers.MAX_DECISIONS)),),
    ),
    Operation(
        "GET",
        f"{_BANDIT}/curves",
        handlers.show_curves,
        {200: CurvesOut},
        (404,),
        query=(("context", Context),),
    ),
    Operation(
        "GET",
        f"{_BANDIT}/history",
        handlers.show_history,
        {200: HistoryOut, 202: WaitOut},
        (404,),
    ),
    Operation("GET", "/v1/catalogue", handlers.show_catalogue, {200: CatalogueOut}),
    Operation(
        "POST",
        "/v1/models:preview",
        handlers.preview,
        {200: CurvesOut},
        (),
        "write",
        PreviewIn,
        max_bytes=MAX_BATCH_BYTES,
    ),
    Operation("GET", "/v1/tokens", handlers.list_tokens, {200: TokensOut}, role="admin"),
    Operation(
        "POST",
        "/v1/tokens",
        handlers.create_token,
        {201: NewTokenOut},
        (409,),
        "admin",
        TokenIn,
    ),
    Operation("DELETE", "/v1/tokens/{id}", handlers.drop_token, {200: TokensOut}, (404,), "admin"),
    Operation("GET", "/health", handlers.health, {200: HealthOut}, role=None),
    Operation("GET", "/ready", handlers.ready, {200: HealthOut}, role=None),
    Operation("GET", "/metrics", handlers.metrics, {200: TEXT}),
)
