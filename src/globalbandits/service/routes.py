"""The one table of operations: it feeds the router and the published document."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NamedTuple

from msgspec import Meta

from globalbandits.service import handlers, picture_handlers, token_handlers
from globalbandits.service.messages import (
    BanditIn,
    BanditOut,
    BanditsOut,
    DecisionIn,
    DecisionOut,
    DecisionsIn,
    DecisionsOut,
    EvidenceOut,
    ExplanationOut,
    HealthOut,
    Id,
    Name,
    NewTokenOut,
    PastOut,
    RewardIn,
    RewardOut,
    RewardsIn,
    RewardsOut,
    SettingsIn,
    SettingsOut,
    TokenIn,
    TokensOut,
    WaitOut,
)
from globalbandits.service.picture_messages import (
    CatalogueOut,
    CurvesOut,
    HistoryOut,
    LatestOut,
    PreviewIn,
)
from globalbandits.service.service import Service
from globalbandits.service.web import EVENTS, LARGEST_BATCH, LARGEST_BODY, NDJSON, TEXT
from globalbandits.service.web import Answer as Answer
from globalbandits.service.web import Request as Request

Handler = Callable[[Service, Request], Awaitable[Answer]]
WITH_BODY = (400, 408, 413, 415, 422)
PARAMETERS: dict[str, Any] = {"name": Name, "id": Id}  # of paths


class Operation(NamedTuple):
    """One method of one path."""

    method: str
    path: str
    handler: Handler
    answers: dict[int, Any]  # structs by status; bytes for other media
    problems: tuple[int, ...] = ()  # beside those that every operation may have
    role: str | None = "read"  # None: for everybody
    body: Any = None
    optional: bool = False  # whether the body may be left out
    largest: int = LARGEST_BODY
    query: tuple[tuple[str, Any], ...] = ()


_BANDIT = "/v1/bandits/{name}"
_DECISIONS = f"{_BANDIT}/decisions"
_REWARD = f"{_DECISIONS}/{{id}}/reward"


def _up_to(largest: int) -> Any:
    """A whole number of a query."""
    return Annotated[int, Meta(ge=0, le=largest)]


# Those that are called most often stand first.
OPERATIONS = (
    Operation(
        "POST",
        _DECISIONS,
        handlers.decide,
        {201: DecisionOut, 200: DecisionOut},
        (404, 409),
        "write",
        DecisionIn,
        optional=True,
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
        largest=LARGEST_BATCH,
    ),
    Operation(
        "POST",
        "/v1/rewards:batch",
        handlers.reward_many,
        {200: RewardsOut},
        (),
        "write",
        RewardsIn,
        largest=LARGEST_BATCH,
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
    ),
    Operation(
        "PATCH",
        f"{_BANDIT}/settings",
        handlers.change_settings,
        {200: SettingsOut},
        (404, 409),
        "admin",
        SettingsIn,
    ),
    Operation("GET", "/v1/bandits", handlers.list_bandits, {200: BanditsOut}),
    Operation(
        "GET",
        "/v1/decisions/{id}",
        handlers.show_decision,
        {200: PastOut},
        (404,),
        query=(("why", bool),),
    ),
    Operation("GET", f"{_BANDIT}/explanation", handlers.explain, {200: ExplanationOut}, (404,)),
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
        query=(("after", _up_to(handlers.LAST_EVENT)), ("limit", _up_to(handlers.MOST_EVENTS))),
    ),
    Operation("GET", f"{_BANDIT}/stream", handlers.stream, {200: EVENTS}, (404,)),
    Operation(
        "GET",
        _DECISIONS,
        picture_handlers.list_decisions,
        {200: LatestOut},
        (404, 422),
        query=(("limit", _up_to(picture_handlers.MOST_DECISIONS)),),
    ),
    Operation("GET", f"{_BANDIT}/curves", picture_handlers.show_curves, {200: CurvesOut}, (404,)),
    Operation(
        "GET",
        f"{_BANDIT}/history",
        picture_handlers.show_history,
        {200: HistoryOut, 202: WaitOut},
        (404,),
    ),
    Operation("GET", "/v1/catalogue", picture_handlers.show_catalogue, {200: CatalogueOut}),
    Operation(
        "POST",
        "/v1/models:preview",
        picture_handlers.preview,
        {200: CurvesOut},
        (),
        "write",
        PreviewIn,
    ),
    Operation("GET", "/v1/tokens", token_handlers.list_tokens, {200: TokensOut}, role="admin"),
    Operation(
        "POST",
        "/v1/tokens",
        token_handlers.create_token,
        {201: NewTokenOut},
        (409,),
        "admin",
        TokenIn,
    ),
    Operation(
        "DELETE", "/v1/tokens/{id}", token_handlers.drop_token, {200: TokensOut}, (404,), "admin"
    ),
    Operation("GET", "/health", handlers.health, {200: HealthOut}, role=None),
    Operation("GET", "/ready", handlers.ready, {200: HealthOut}, role=None),
    Operation("GET", "/metrics", handlers.metrics, {200: TEXT}),
)
