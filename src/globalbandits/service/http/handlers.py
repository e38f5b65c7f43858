"""What each operation does: it takes a checked request and returns a response.

Errors of the library may leave a handler. The application turns them into responses.
"""

import asyncio
import dataclasses
import itertools
import math
import time
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from typing import Any, Literal

import msgspec
import numpy as np
from starlette.responses import Response, StreamingResponse

from globalbandits._plain_data import plain
from globalbandits._version import __version__
from globalbandits.errors import ConflictError, GlobalBanditsError, StoreUnavailable, UnknownError
from globalbandits.model import AnyModel, ContextModel, VectorModel
from globalbandits.model.catalogue.names import families, parameters_of
from globalbandits.policies.base import registered
from globalbandits.policies.learner import Explanation
from globalbandits.policies.learner.probabilities import DEFAULT_DRAWS
from globalbandits.service.http.messages import (
    MAX_HORIZON,
    AdviceOut,
    ArmOut,
    BanditOut,
    BanditsOut,
    CatalogueOut,
    CurvesOut,
    DecisionAnswer,
    DecisionIn,
    DecisionOut,
    DecisionsOut,
    DeletedOut,
    EvidenceOut,
    ExplanationOut,
    FamilyOut,
    HealthOut,
    HistoryOut,
    ImportOut,
    LatestDecision,
    LatestOut,
    NewTokenOut,
    PastOut,
    PointOut,
    RegionOut,
    RewardAnswer,
    RewardOut,
    RewardsOut,
    SettingsOut,
    TokenOut,
    TokensOut,
    WaitOut,
    WeightOut,
    WeightsOut,
    WhatIfOut,
    WhatIfRow,
)
from globalbandits.service.http.request import (
    EVENTS,
    JSON,
    NDJSON,
    TEXT,
    ProblemError,
    ServiceRequest,
    encode_json,
    problem_error,
)
from globalbandits.service.log.append import (
    DecisionRequest,
    DecisionResult,
    EventResult,
    NewDecision,
    NewEvent,
    Outcome,
)
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import as_text
from globalbandits.service.log.replay import Redecision
from globalbandits.service.log.settings import (
    Settings,
    build_model,
    canonical_json,
    cells_of,
    plain_arm,
)
from globalbandits.service.log.writer import Change
from globalbandits.service.metrics import bandit_facts
from globalbandits.service.service import Service
from globalbandits.service.stores.records import (
    Decision,
    Event,
    TokenRow,
    decision_state,
    learned_event,
)
from globalbandits.service.stores.store import Transaction
from globalbandits.service.tokens import new_token

EVENTS_PER_CHUNK = 1_000
MAX_EVENTS = 100_000  # of one response
MAX_VERSION = 2**62
MAX_DECISIONS = 100  # of one response
DEFAULT_BANDITS, MAX_BANDITS = 100, 1_000  # of one response
POINTS_PER_CURVE = 81
_STREAM_SECONDS = 0.5
_KEEP_ALIVE_SECONDS = 15.0
# From docs/which-policy.md, for owners of shops. The first one is the default of the page.
_ADVICE: tuple[tuple[dict[str, Any], str, str], ...] = (
    (
        {"policy": "elastic"},
        "Elastic: if in doubt",
        "Uses the curves and tests them. Take it unless you are sure that the curves are right.",
    ),
    (
        {"policy": "wagp"},
        "WAGP: the curves are right",
        "Learns fastest if the curves are right, and loses for as long as it runs if they are not.",
    ),
    (
        {"policy": "grid_greedy"},
        "GridGreedy: a few hundred customers or fewer",
        "Makes the most of few rewards. It believes the curves.",
    ),
    (
        {"policy": "elastic", "drift": True},
        "Elastic, for customers who change",
        "As Elastic, for demand that changes over the months. It tests all prices repeatedly.",
    ),
    (
        {"policy": "independent_gittins"},
        "IndependentGittins: no curves",
        "Ignores the curves and learns about each price on its own. It needs far more customers.",
    ),
)
_RETRY_SOON = {"retry-after": "1"}


def json_response(
    content: msgspec.Struct, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """A struct as a response."""
    return Response(encode_json(content), status, headers, JSON)


# Decisions and rewards


async def decide(request: ServiceRequest) -> Response:
    """Make a decision."""
    service, request_id = request.service, request.content.request_id
    bandit = await request.bandit()
    decided = await _made_before(service, bandit, request_id)
    if decided is None:
        work = service.log.new_decision(bandit, decision_request(request.content))
        decided = await service.store(work)
    service.metrics.decided(decided)
    content = decision_out(bandit, decided.decision, decided.replayed)
    return json_response(content, 200 if decided.replayed else 201)


def decision_request(content: DecisionIn) -> DecisionRequest:
    """The request for a decision in a body."""
    return DecisionRequest(content.request_id, content.unit, content.context, content.allowed)


async def _made_before(
    service: Service, bandit: Bandit, request_id: str | None
) -> DecisionResult | None:
    """The stored decision of a request if the bandit makes no new ones; None if it makes them.

    Raises:
        ConflictError: if the bandit is paused or has stopped, and the request is new.
        ProblemError: 429 if too many decisions are open and the request is new.
    """
    closed, max_open = bandit.closed(), service.options.most_open
    if not closed and bandit.n_open < max_open:
        return None
    try:
        return await asyncio.to_thread(service.log.existing_decision, bandit, request_id)
    except ConflictError:
        if closed:
            raise
    if time.monotonic() - bandit.recounted_at > service.options.recount_seconds:
        # Decisions whose deadline has passed are no longer open.
        await asyncio.to_thread(service.log.recount, bandit)
    if bandit.n_open >= max_open:
        detail = (
            f"open decisions of {bandit.row.name} must be fewer than {max_open}, "
            f"got {bandit.n_open}: send rewards, also those of 0, or lower deadline_seconds, after "
            "which a decision no longer counts"
        )
        raise ProblemError(429, detail, {"retry-after": "10"})
    return None


def decision_out(bandit: Bandit, decision: Decision, replayed: bool) -> DecisionOut:
    """A stored decision as a message."""
    arms = bandit.values
    return DecisionOut(
        decision_id=decision.id,
        bandit=bandit.row.name,
        arm=decision.shown,
        value=arms[decision.shown],
        chosen=decision.chosen,
        chosen_value=arms[decision.chosen],
        version=decision.version,
        settings_number=decision.settings,
        decided_at=as_text(decision.at),
        deadline=None if decision.deadline is None else as_text(decision.deadline),
        replayed=replayed,
        probability=decision.probability,
        context=decision.context,
    )


async def reward(request: ServiceRequest) -> Response:
    """Learn a reward."""
    service, id = request.service, request.path_params["id"]
    bandit = await request.bandit()
    content = request.content
    work = service.log.new_reward(bandit, id, content.reward, content.count)
    result = await service.store(work)
    service.metrics.reported(result)
    return json_response(reward_out(id, result))


async def retract(request: ServiceRequest) -> Response:
    """Retract the reward of a decision."""
    service, id = request.service, request.path_params["id"]
    bandit = await request.bandit()
    result = await service.store(service.log.new_retraction(bandit, id))
    return json_response(reward_out(id, result, retracting=True))


def reward_out(decision_id: str, result: EventResult, *, retracting: bool = False) -> RewardOut:
    """The outcome of a reward or of a retraction as a message.

    Raises:
        ProblemError: 404, 409 or 410 if nothing was learned or retracted.
    """
    if result.outcome is Outcome.UNKNOWN:
        rule = "be a decision of this bandit" + (" that was learned from" if retracting else "")
        detail = f"decision_id must {rule}, got {decision_id!r}"
        raise ProblemError(404, detail, parameter="decision_id")
    if result.outcome is Outcome.CONFLICT:
        if retracting:
            raise ProblemError(409, "the policy cannot forget: the order of rewards matters to it")
        raise ProblemError(
            409,
            f"decision {decision_id} has the reward {result.value!r} already",
            reward=result.value,
            version=result.version,
        )
    if result.outcome is Outcome.LATE:
        raise ProblemError(410, f"the reward of {decision_id} came after its deadline")
    learned = result.outcome is Outcome.LEARNED
    return RewardOut(
        status="learned" if learned else "duplicate", reward=result.value, version=result.version
    )


async def decide_many(request: ServiceRequest) -> Response:
    """Make many decisions in one commit."""
    service = request.service
    answers: list[DecisionAnswer | None] = []
    decisions: list[tuple[int, Bandit, NewDecision | Change]] = []
    for place, item in enumerate(request.content.items):
        answers.append(None)
        try:
            bandit = await service.bandit(item.bandit, request.caller.tenant)
            known = await _made_before(service, bandit, item.request_id)
            if known is None:
                work = service.log.new_decision(bandit, decision_request(item))
                decisions.append((place, bandit, work))
            else:
                answers[place] = _decision_answer(bandit, known)
        except (GlobalBanditsError, ProblemError) as error:
            problem = problem_error(error).problem
            answers[place] = DecisionAnswer(status=problem.status, problem=problem)
    stored = await service.store_all([decision for _, _, decision in decisions])
    for (place, bandit, _), decided in zip(decisions, stored, strict=True):
        if isinstance(decided, GlobalBanditsError):
            problem = problem_error(decided).problem
            answers[place] = DecisionAnswer(status=problem.status, problem=problem)
            continue
        service.metrics.decided(decided)
        answers[place] = _decision_answer(bandit, decided)
    return json_response(DecisionsOut(items=[answer for answer in answers if answer is not None]))


def _decision_answer(bandit: Bandit, decided: DecisionResult) -> DecisionAnswer:
    content = decision_out(bandit, decided.decision, decided.replayed)
    return DecisionAnswer(status=200 if decided.replayed else 201, decision=content)


async def reward_many(request: ServiceRequest) -> Response:
    """Learn many rewards in one commit."""
    service = request.service
    answers: list[RewardAnswer | None] = []
    events: list[tuple[int, NewEvent]] = []
    for place, item in enumerate(request.content.items):
        answers.append(None)
        try:
            bandit = await service.bandit(item.bandit, request.caller.tenant)
            work = service.log.new_reward(bandit, item.decision_id, item.reward, item.count)
            events.append((place, work))
        except (GlobalBanditsError, ProblemError) as error:
            problem = problem_error(error).problem
            answers[place] = RewardAnswer(status=problem.status, problem=problem)
    stored = await service.store_all([event for _, event in events])
    for (place, event), result in zip(events, stored, strict=True):
        if isinstance(result, GlobalBanditsError):
            problem = problem_error(result).problem
            answers[place] = RewardAnswer(status=problem.status, problem=problem)
            continue
        service.metrics.reported(result)
        try:
            answers[place] = RewardAnswer(status=200, reward=reward_out(event.decision, result))
        except ProblemError as error:
            answers[place] = RewardAnswer(status=error.status_code, problem=error.problem)
    return json_response(RewardsOut(items=[answer for answer in answers if answer is not None]))


async def import_rewards(request: ServiceRequest) -> Response:
    """Learn past rewards before the first decision."""
    name, content = request.path_params["name"], request.content
    rewards = [(item.value, item.reward, item.context, item.count) for item in content.items]
    work = request.service.log.import_rewards
    done = await asyncio.to_thread(work, name, content.import_id, rewards, request.caller.tenant)
    learned = done.outcome is Outcome.LEARNED
    status: Literal["learned", "duplicate"] = "learned" if learned else "duplicate"
    return json_response(ImportOut(status=status, rewards=done.rewards, version=done.version))


async def show_decision(request: ServiceRequest) -> Response:
    """A stored decision; with ``?why=true`` its reasons, from the state it was made in."""
    if not request.query_flag("why"):
        return await asyncio.to_thread(_past, request, False)
    async with request.service.rebuilding:
        return await asyncio.to_thread(_past, request, True)


def _past(request: ServiceRequest, with_reasons: bool) -> Response:
    id, log = request.path_params["id"], request.service.log
    found = log.store.decision(id)
    bandit = None if found is None else log.bandit_of(found.bandit)
    if found is None or bandit is None or bandit.row.tenant != request.caller.tenant:
        raise UnknownError(f"decision must be one of this store's, got {id!r}")
    held = log.store.stored_events(id)
    learned = learned_event(held)
    why = None
    if with_reasons:
        why = _reasons(log.explain(bandit.row.name, id, bandit.row.tenant))
    content = PastOut(
        decision=decision_out(bandit, found, True),
        state=decision_state(held),
        reward=None if learned is None else learned.value,
        why=why,
    )
    return json_response(content)


def _reasons(past: Redecision) -> dict[str, Any]:
    """Why a past decision was made, and whether the recomputed decision is the stored one."""
    recomputed = (past.choice.chosen, past.choice.shown)
    return {
        "shown_because": past.choice.why,
        "agrees": recomputed == (past.decision.chosen, past.decision.shown),
        "explanation": _explanation(past.explanation),
        "settings": past.settings.to_dict(),
    }


def _explanation(explanation: Explanation) -> dict[str, Any]:
    """An explanation as JSON data, with its text."""
    fields: dict[str, Any] = plain(dataclasses.asdict(explanation))
    for row, arm in zip(fields["arms"], explanation.arms, strict=True):
        row["value"] = plain_arm(arm.value)
    return fields | {"text": str(explanation)}


async def list_decisions(request: ServiceRequest) -> Response:
    """The latest decisions."""
    bandit = await request.bandit()
    limit = request.query_integer("limit", 20, MAX_DECISIONS)
    store = request.service.log.store

    def read() -> list[LatestDecision]:
        decisions = []
        for row in store.latest(bandit.row.id, limit):
            held = store.stored_events(row.id)
            learned = learned_event(held)
            decisions.append(
                LatestDecision(
                    decision=decision_out(bandit, row, True),
                    state=decision_state(held),
                    reward=None if learned is None else learned.value,
                )
            )
        return decisions

    return json_response(LatestOut(decisions=await asyncio.to_thread(read)))


# Bandits and their settings


async def create_bandit(request: ServiceRequest) -> Response:
    """Create a bandit."""
    log, max_bandits = request.service.log, request.service.options.most_bandits
    name, tenant = request.path_params["name"], request.caller.tenant
    if max_bandits is not None:
        names = log.names(tenant)
        if name not in names and len(names) >= max_bandits:
            detail = f"bandits must be at most {max_bandits}, got one more"
            raise ProblemError(429, detail, {"retry-after": "3600"})
    fields = _given_fields(request.content)
    defaults = {"deadline_seconds": request.service.options.deadline_seconds}
    bandit, new = await asyncio.to_thread(log.create, name, fields, tenant, defaults)
    return json_response(bandit_out(bandit), 201 if new else 200, _etag(bandit))


async def delete_bandit(request: ServiceRequest) -> Response:
    """Delete a bandit. Its history stays in the log, and its name is free."""
    log, name = request.service.log, request.path_params["name"]
    at = await asyncio.to_thread(log.delete, name, request.caller.tenant)
    return json_response(DeletedOut(name=name, deleted_at=as_text(at)))


async def change_settings(request: ServiceRequest) -> Response:
    """Change settings; what was learned is kept."""
    name, tenant = request.path_params["name"], request.caller.tenant
    expected = _expected_number(request.headers.get("if-match"))
    changes = _given_fields(request.content)
    bandit = await request.bandit()
    change = request.service.log.change
    await asyncio.to_thread(change, name, changes, tenant, expected=expected)
    content = SettingsOut(settings_number=bandit.number, settings=bandit.settings.to_dict())
    return json_response(content, headers=_etag(bandit))


def _given_fields(body: msgspec.Struct) -> dict[str, Any]:
    """The fields of a body that the client sent."""
    fields = msgspec.structs.asdict(body)
    return {name: value for name, value in fields.items() if value is not msgspec.UNSET}


def _etag(bandit: Bandit) -> dict[str, str]:
    return {"etag": f'"{bandit.number}"'}


def _expected_number(if_match: str | None) -> int | None:
    """The number of settings in an If-Match header; None without a condition."""
    if if_match is None or if_match == "*":
        return None
    number = if_match.strip().strip('"')
    if not (number.isascii() and number.isdigit()) or len(number) > 18:
        raise ConflictError(f"if-match must be the number of settings, got {if_match!r}")
    return int(number)


async def list_bandits(request: ServiceRequest) -> Response:
    """The names of the tenant's bandits, in pages."""
    limit = request.query_integer("limit", DEFAULT_BANDITS, MAX_BANDITS, minimum=1)
    search, after = (request.query_text(name, 64) for name in ("search", "after"))
    names = request.service.log.names(
        request.caller.tenant, search=search, after=after, limit=limit + 1
    )
    more = len(names) > limit
    return json_response(BanditsOut(bandits=names[:limit], next=names[limit - 1] if more else None))


async def show_bandit(request: ServiceRequest) -> Response:
    """The present state of a bandit."""
    bandit = await request.bandit()
    return json_response(bandit_out(bandit), headers=_etag(bandit))


def bandit_out(bandit: Bandit) -> BanditOut:
    """The present state of a bandit as a message."""
    with bandit.lock:
        learner, version, number = bandit.learner, bandit.version, bandit.number
        settings, model = bandit.settings, cells_of(learner.model)
        pulls, means = learner.pulls.ravel().tolist(), learner.means.ravel().tolist()
        estimate, shown, n_open = learner.estimate, bandit.shown, bandit.n_open
        cells = [(context, arm) for context in bandit.contexts for arm in range(len(bandit.values))]
    return BanditOut(
        name=bandit.row.name,
        version=version,
        settings_number=number,
        mode=settings.mode,  # type: ignore[arg-type]
        closed=bandit.closed(),
        policy=learner.policy.label,
        estimate=estimate,
        open=n_open,
        created_at=as_text(bandit.row.at),
        arms=[
            ArmOut(
                arm=arm,
                value=bandit.values[arm],
                shown=shown[cell],
                pulls=pulls[cell],
                mean=None if math.isnan(means[cell]) else means[cell],
                worth=_worth(model, cell, means[cell]),
                context=context,
            )
            for cell, (context, arm) in enumerate(cells)
        ],
        contexts=[context for context in bandit.contexts if context is not None],
        settings=settings.to_dict(),
        warnings=warnings_of(settings),
    )


def _worth(model: AnyModel, arm: int, mean: float) -> float | None:
    """What a mean of an arm is worth; None without rewards."""
    worth = math.nan if math.isnan(mean) else float(model.worth_of(arm, mean))
    return worth if math.isfinite(worth) else None


def warnings_of(settings: Settings) -> list[str]:
    """Warnings about the settings of a bandit."""
    if settings.deadline_seconds is None:
        return [
            "deadline_seconds is null: a decision whose reward is never reported stays open, and "
            "nothing is learned from it; report rewards of 0, or set deadline_seconds and "
            "default_reward"
        ]
    return []


# Explanations, evidence and events


def query_context(request: ServiceRequest, bandit: Bandit) -> str | None:
    """The context that a query names; an error unless the bandit has it."""
    context = request.query_text("context", 200) or None
    bandit.offered(context, None)
    return context


async def explain(request: ServiceRequest) -> Response:
    """Explain the choice that the policy would make now."""
    bandit = await request.bandit()
    now, context = request.service.log.clock.now(), query_context(request, bandit)
    found = await asyncio.to_thread(bandit.explain, "d:next", now, context)
    explanation = _explanation(found)
    return json_response(ExplanationOut(version=bandit.version, explanation=explanation))


async def show_weights(request: ServiceRequest) -> Response:
    """The probability of each arm to be shown next, for a system that draws arms itself."""
    bandit = await request.bandit()
    draws = bandit.settings.probability_draws or DEFAULT_DRAWS
    context = query_context(request, bandit)
    found, version, number = await asyncio.to_thread(bandit.probabilities, draws, context)
    weights = [
        WeightOut(arm=arm, value=value, probability=probability)
        for arm, (value, probability) in enumerate(zip(bandit.values, found, strict=True))
    ]
    return json_response(
        WeightsOut(
            version=version,
            settings_number=number,
            exact=found.exact,
            draws=found.draws,
            weights=weights,
        )
    )


async def show_evidence(request: ServiceRequest) -> Response:
    """The evidence in the rewards."""
    bandit, readings = await request.bandit(), request.service.readings
    reading = await asyncio.to_thread(readings.ask, bandit)
    if reading is None:
        return json_response(
            WaitOut(detail="the first reading is being computed"), 202, _RETRY_SOON
        )
    content = EvidenceOut(
        as_of=reading.version,
        version=bandit.version,
        age_seconds=round(readings.age(reading), 3),
        evidence=reading.evidence,
    )
    return json_response(content)


async def what_if(request: ServiceRequest) -> Response:
    """What other policies would earn in the markets that the rewards allow."""
    bandit, content, readings = await request.bandit(), request.content, request.service.readings
    horizon = content.horizon or max(1, min(bandit.learner.n_observations, MAX_HORIZON))
    found = await asyncio.to_thread(
        readings.compare, bandit, content.always, content.policies, horizon
    )
    if found is None:
        return json_response(WaitOut(detail="the policies are being played"), 202, _RETRY_SOON)
    rows = [WhatIfRow(**row) for row in found["policies"]]
    answer = WhatIfOut(
        horizon=horizon, n_rewards=found["n_rewards"], policies=rows, notes=found["notes"]
    )
    return json_response(answer)


async def show_history(request: ServiceRequest) -> Response:
    """The evidence at earlier versions."""
    bandit = await request.bandit()
    points = await asyncio.to_thread(request.service.histories.ask, bandit)
    if points is None:
        return json_response(WaitOut(detail="the history is being computed"), 202, _RETRY_SOON)
    points_out = [PointOut(**point) for point in points]
    return json_response(HistoryOut(version=bandit.version, points=points_out))


async def list_events(request: ServiceRequest) -> Response:
    """Events after a version, one line each."""
    bandit = await request.bandit()
    after = request.query_integer("after", 0, MAX_VERSION)
    limit = request.query_integer("limit", 10_000, MAX_EVENTS)
    lines = _event_lines(request.service, bandit, after, limit)
    return StreamingResponse(lines, media_type=NDJSON)


async def _event_lines(
    service: Service, bandit: Bandit, after: int, limit: int
) -> AsyncIterator[bytes]:
    """Events as lines of JSON, many in each chunk."""
    upto = bandit.version

    def read(count: int) -> list[Event]:
        events = service.log.store.events(bandit.row.id, after, upto)
        return list(itertools.islice(events, count))

    while limit > 0 and after < upto:
        # Rows are counted because a pruned log has gaps in its versions.
        count = min(EVENTS_PER_CHUNK, limit)
        rows = await asyncio.to_thread(read, count)
        yield b"".join(_event_line(bandit, row) for row in rows)
        after, limit = (rows[-1].seq, limit - count) if len(rows) == count else (upto, 0)


def _event_line(bandit: Bandit, row: Event) -> bytes:
    line = {
        "seq": row.seq,
        "kind": row.kind,
        "decision_id": row.decision,
        "arm": row.arm,
        "value": bandit.values[row.arm],
        "reward": row.value,
        "at": as_text(row.at),
    }
    if row.n_rewards > 1:
        line["count"] = row.n_rewards
    if row.context is not None:
        line["context"] = row.context
    return encode_json(line) + b"\n"


async def stream(request: ServiceRequest) -> Response:
    """The bandit as it changes, at most twice a second."""
    bandit, service = await request.bandit(), request.service
    if service.n_streams >= service.options.most_streams:
        detail = f"streams must be at most {service.options.most_streams}, got one more"
        raise ProblemError(429, detail, {"retry-after": "10"})
    # The second header tells proxies to pass each message on at once.
    headers = {"content-type": EVENTS, "x-accel-buffering": "no"}
    return StreamingResponse(_server_sent_events(service, bandit), headers=headers)


async def _server_sent_events(service: Service, bandit: Bandit) -> AsyncIterator[bytes]:
    name, tenant = bandit.row.name, bandit.row.tenant
    service.n_streams += 1
    try:
        sent, quiet_since = None, time.monotonic()
        while not service.draining:
            now = bandit.version, bandit.number, sum(bandit.shown)
            if now != sent:
                sent, quiet_since = now, time.monotonic()
                yield b"event: bandit\ndata: " + encode_json(bandit_out(bandit)) + b"\n\n"
            elif time.monotonic() - quiet_since >= _KEEP_ALIVE_SECONDS:
                quiet_since = time.monotonic()
                yield b": nothing new\n\n"
            await asyncio.sleep(_STREAM_SECONDS)
            try:
                # It may have left memory. An open stream counts as use.
                bandit = await service.bandit(name, tenant)
            except UnknownError:
                return
            except StoreUnavailable:
                continue
    finally:
        service.n_streams -= 1


# Models


async def show_curves(request: ServiceRequest) -> Response:
    """The curves of a bandit's model; of its first context unless another one is named."""
    bandit = await request.bandit()
    context = request.query_text("context", 200) or bandit.contexts[0]
    bandit.offered(context, None)
    return json_response(await asyncio.to_thread(curves_out, bandit.learner.model, context))


async def preview(request: ServiceRequest) -> Response:
    """The curves of a model that is not stored."""

    def build() -> CurvesOut:
        return curves_out(build_model(canonical_json(request.content.model)))

    return json_response(await asyncio.to_thread(build))


def curves_out(model: Any, context: str | None = None) -> CurvesOut:
    """Means and worths of all arms over the parameter, and which arm is best where.

    With several unknown numbers the last one varies; the others are in the middle of the box. A
    model with contexts is shown in one of them, the first by default.
    """
    if isinstance(model, ContextModel):
        context = model.contexts[0] if context is None else context
        model = model.in_context(context)
    fixed, parameter = {}, "theta"
    if isinstance(model, VectorModel):
        *others, parameter = model.parameters
        fixed = {name: sum(model.domain[name]) / 2 for name in others}
        cut = model.fixed(**fixed)
        assert not isinstance(cut, VectorModel)
        model = cut
    low, high = model.domain
    thetas = np.linspace(low, high, POINTS_PER_CURVE)
    means = np.asarray(model.means(thetas), float)
    worths = np.asarray(model.worth(thetas), float) if model.valued else means
    return CurvesOut(
        values=[plain_arm(arm) for arm in model.arms],
        thetas=thetas.tolist(),
        means=[_finite(column) for column in means.T],
        worths=[_finite(column) for column in worths.T],
        valued=bool(model.valued),
        regions=[
            RegionOut(arm=int(region.arm), low=float(region.low), high=float(region.high))
            for region in model.regions
        ],
        reward_range=[float(end) for end in model.reward_range],
        parameter=parameter,
        fixed=fixed,
        context=context,
    )


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


async def show_catalogue(request: ServiceRequest) -> Response:
    """The families of models, the policies, and advice."""
    described = [
        FamilyOut(
            family=name,
            summary=(family.__doc__ or "").strip().split("\n")[0],
            parameters=list(parameters_of(name)),
        )
        for name, family in families().items()
    ]
    advice = [AdviceOut(policy=policy, label=label, text=text) for policy, label, text in _ADVICE]
    content = CatalogueOut(families=described, policies=sorted(registered()), advice=advice)
    return json_response(content)


# Tokens


async def create_token(request: ServiceRequest) -> Response:
    """Create a token for the tenant of the caller."""
    service, content = request.service, request.content
    if not service.tokens.needed and content.role != "admin":
        raise ConflictError(
            f"the first token must have the role admin, got {content.role!r}: "
            "no other role can create tokens"
        )
    at = service.log.clock.now()
    seconds = content.expires_seconds
    expires = None if seconds is None else at + round(seconds * 1e6)
    token, row = new_token(content.role, request.caller.tenant, content.label, at, expires)
    await _store_token(service, lambda rows: rows.add_token(row))
    service.tokens.add(row)
    return json_response(NewTokenOut(token=token, **_token_fields(row)), 201)


async def list_tokens(request: ServiceRequest) -> Response:
    """The tenant's tokens, without their secrets."""
    rows = request.service.tokens.of(request.caller.tenant)
    return json_response(TokensOut(tokens=[TokenOut(**_token_fields(row)) for row in rows]))


async def drop_token(request: ServiceRequest) -> Response:
    """Revoke a token."""
    service, id = request.service, request.path_params["id"]
    if id not in {row.id for row in service.tokens.of(request.caller.tenant)}:
        raise UnknownError(f"token must be one of this tenant's, got {id!r}")
    await _store_token(service, lambda rows: rows.drop_token(id))
    service.tokens.drop(id)
    return await list_tokens(request)


async def _store_token(service: Service, write: Callable[[Transaction], None]) -> None:
    stored = service.log.writer.submit(Change(write, lambda _: None))
    await asyncio.to_thread(stored.result)


def _token_fields(row: TokenRow) -> dict[str, Any]:
    return {
        "id": row.id,
        "role": row.role,
        "label": row.label,
        "created_at": as_text(row.at),
        "expires_at": None if row.expires_at is None else as_text(row.expires_at),
    }


# The service itself


async def health(request: ServiceRequest) -> Response:
    """Whether the process answers."""
    return json_response(HealthOut(status="ok", version=__version__))


async def ready(request: ServiceRequest) -> Response:
    """Whether requests can be served now."""
    service = request.service
    if service.draining:
        raise ProblemError(503, "the service is about to stop", _RETRY_SOON)
    if service.store_fault:
        raise ProblemError(503, service.store_fault, _RETRY_SOON)
    detail = "defaults wait: the clock was set" if service.sweeper.paused else ""
    return json_response(HealthOut(status="ready", version=__version__, detail=detail))


async def metrics(request: ServiceRequest) -> Response:
    """Numbers for Prometheus."""
    service = request.service
    service.metrics.queue.set(service.log.writer.length)
    now, loaded = service.log.clock.now(), service.log.loaded()
    facts = [bandit_facts(bandit, service.readings.latest(bandit), now) for bandit in loaded]
    service.metrics.count_bandits(facts)
    # Names of bandits are for their own tenant only.
    own = [
        fact
        for fact, bandit in zip(facts, loaded, strict=True)
        if service.options.bandit_metrics and bandit.row.tenant == request.caller.tenant
    ]
    return Response(service.metrics.text(own), media_type=TEXT)
