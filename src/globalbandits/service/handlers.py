"""What each operation does. Errors of the library become answers where handlers are called."""

import asyncio
import itertools
import time
from collections.abc import AsyncIterator
from typing import Any

import msgspec

from globalbandits._version import __version__
from globalbandits.errors import ConflictError, GlobalBanditsError, UnknownError
from globalbandits.service.answers import (
    bandit_out,
    decided_out,
    decision_out,
    explanation_out,
    settings_out,
    told_out,
    why_out,
)
from globalbandits.service.log.append import DecisionResult, NewDecision, NewEvent
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.clock import as_text
from globalbandits.service.messages import (
    BanditsOut,
    DecisionAnswer,
    DecisionsOut,
    EvidenceOut,
    ExplanationOut,
    HealthOut,
    PastOut,
    RewardAnswer,
    RewardsOut,
    WaitOut,
)
from globalbandits.service.service import Service
from globalbandits.service.stores.records import Event, decision_state, learned_event
from globalbandits.service.web import (
    EVENTS,
    NDJSON,
    TEXT,
    Answer,
    Refused,
    Request,
    as_flag,
    as_number,
    refused,
)

_PIECE = 1_000  # events read at a time
LAST_EVENT = 2**62
MOST_EVENTS = 100_000  # of one answer
_STREAM_SECONDS = 0.5
_KEEP_ALIVE = 15.0
_json = msgspec.json.Encoder().encode


async def decide(service: Service, request: Request) -> Answer:
    """Make a decision."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    request_id = request.body.request_id
    decided = await _made_before(service, bandit, request_id)
    if decided is None:
        decided = await service.store(service.log.new_decision(bandit, request_id))
    service.metrics.decided(decided)
    return Answer(*decided_out(bandit, decided))


async def _made_before(
    service: Service, bandit: Bandit, request_id: str | None
) -> DecisionResult | None:
    """The decision of a request, where no new ones are made; None where they are."""
    paused = bandit.settings.mode == "paused"
    if not paused and bandit.n_open < service.options.most_open:
        return None
    try:
        return await asyncio.to_thread(service.log.existing_decision, bandit, request_id)
    except ConflictError:
        if paused:
            raise
    service.check_open(bandit)
    return None


async def reward(service: Service, request: Request) -> Answer:
    """Learn a reward."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    id = request.params["id"]
    told = await service.store(service.log.new_reward(bandit, id, request.body.reward))
    service.metrics.told(told)
    return Answer(200, told_out(id, told))


async def retract(service: Service, request: Request) -> Answer:
    """Take back what was learned from a decision."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    id = request.params["id"]
    told = await service.store(service.log.new_retraction(bandit, id))
    return Answer(200, told_out(id, told, retracting=True))


async def decide_many(service: Service, request: Request) -> Answer:
    """Make many decisions in one commit."""
    answers: list[DecisionAnswer | None] = []
    asks: list[tuple[int, Bandit, NewDecision]] = []
    for place, item in enumerate(request.body.items):
        answers.append(None)
        try:
            bandit = await service.bandit(item.bandit, request.who.tenant)
            known = await _made_before(service, bandit, item.request_id)
            if known is None:
                asks.append((place, bandit, service.log.new_decision(bandit, item.request_id)))
            else:
                answers[place] = _decision_answer(bandit, known)
        except (GlobalBanditsError, Refused) as error:
            problem = refused(error).problem
            answers[place] = DecisionAnswer(status=problem.status, problem=problem)
    stored = await service.store_all([ask for _, _, ask in asks])
    for (place, bandit, _), decided in zip(asks, stored, strict=True):
        service.metrics.decided(decided)
        answers[place] = _decision_answer(bandit, decided)
    return Answer(200, DecisionsOut(items=[answer for answer in answers if answer is not None]))


def _decision_answer(bandit: Bandit, decided: DecisionResult) -> DecisionAnswer:
    status, out = decided_out(bandit, decided)
    return DecisionAnswer(status=status, decision=out)


async def reward_many(service: Service, request: Request) -> Answer:
    """Learn many rewards in one commit."""
    answers: list[RewardAnswer | None] = []
    tells: list[tuple[int, NewEvent]] = []
    for place, item in enumerate(request.body.items):
        answers.append(None)
        try:
            bandit = await service.bandit(item.bandit, request.who.tenant)
            tells.append((place, service.log.new_reward(bandit, item.decision_id, item.reward)))
        except (GlobalBanditsError, Refused) as error:
            problem = refused(error).problem
            answers[place] = RewardAnswer(status=problem.status, problem=problem)
    stored = await service.store_all([tell for _, tell in tells])
    for (place, tell), told in zip(tells, stored, strict=True):
        service.metrics.told(told)
        try:
            answers[place] = RewardAnswer(status=200, reward=told_out(tell.decision, told))
        except Refused as error:
            answers[place] = RewardAnswer(status=error.status, problem=error.problem)
    return Answer(200, RewardsOut(items=[answer for answer in answers if answer is not None]))


async def create_bandit(service: Service, request: Request) -> Answer:
    """Create a bandit."""
    name, tenant = request.params["name"], request.who.tenant
    names = service.log.names(tenant)
    if name not in names and len(names) >= service.options.most_bandits:
        raise Refused(
            429,
            f"bandits must be at most {service.options.most_bandits}, got one more",
            ((b"retry-after", b"3600"),),
        )
    bandit, new = await asyncio.to_thread(service.log.create, name, _given(request.body), tenant)
    return Answer(201 if new else 200, bandit_out(bandit), _etag(bandit))


async def change_settings(service: Service, request: Request) -> Answer:
    """Change settings; what was learned is kept."""
    name, tenant = request.params["name"], request.who.tenant
    expected = _expected(request.headers.get(b"if-match"))
    changes = _given(request.body)
    bandit = await service.bandit(name, tenant)
    await asyncio.to_thread(service.log.change, name, changes, tenant, expected=expected)
    return Answer(200, settings_out(bandit), _etag(bandit))


def _given(body: Any) -> dict[str, Any]:
    """The fields that were sent."""
    fields = msgspec.structs.asdict(body)
    return {name: value for name, value in fields.items() if value is not msgspec.UNSET}


def _etag(bandit: Bandit) -> tuple[tuple[bytes, bytes], ...]:
    return ((b"etag", b'"%d"' % bandit.number),)


def _expected(header: bytes | None) -> int | None:
    """The number of settings in an If-Match."""
    if header is None or header == b"*":
        return None
    number = header.strip().strip(b'"')
    if not number.isdigit() or len(number) > 18:
        raise ConflictError(f"if-match must be the number of settings, got {header!r}")
    return int(number)


async def list_bandits(service: Service, request: Request) -> Answer:
    """The tenant's bandits."""
    return Answer(200, BanditsOut(bandits=service.log.names(request.who.tenant)))


async def show_bandit(service: Service, request: Request) -> Answer:
    """A bandit now."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    return Answer(200, bandit_out(bandit), _etag(bandit))


async def show_decision(service: Service, request: Request) -> Answer:
    """A decision as it stands; with ``?why=true`` the reasons, from the state it was made in."""
    if not as_flag(request.query, "why"):
        return await asyncio.to_thread(_past, service, request, False)
    async with service.rebuilding:
        return await asyncio.to_thread(_past, service, request, True)


def _past(service: Service, request: Request, with_reasons: bool) -> Answer:
    id, log = request.params["id"], service.log
    found = log.store.decision(id)
    bandit = None if found is None else log.bandit_of(found.bandit)
    if found is None or bandit is None or bandit.row.tenant != request.who.tenant:
        raise UnknownError(f"decision must be one of this store's, got {id!r}")
    held = log.store.stored_events(id)
    learned = learned_event(held)
    why = None
    if with_reasons:
        why = why_out(log.explain(bandit.row.name, id, bandit.row.tenant))
    out = PastOut(
        decision=decision_out(bandit, found, True),
        state=decision_state(held),
        reward=None if learned is None else learned.value,
        why=why,
    )
    return Answer(200, out)


async def explain(service: Service, request: Request) -> Answer:
    """Why the policy would choose what it would choose now."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    explanation = await asyncio.to_thread(bandit.explain, "d:next")
    said = explanation_out(explanation)
    return Answer(200, ExplanationOut(version=bandit.version, explanation=said))


async def show_evidence(service: Service, request: Request) -> Answer:
    """What the rewards say."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    reading = await asyncio.to_thread(service.readings.ask, bandit)
    if reading is None:
        return Answer(202, WaitOut(detail="the first reading is on its way"), _RETRY)
    out = EvidenceOut(
        as_of=reading.version,
        version=bandit.version,
        age_seconds=round(service.readings.age(reading), 3),
        evidence=reading.evidence,
    )
    return Answer(200, out)


_RETRY = ((b"retry-after", b"1"),)


async def list_events(service: Service, request: Request) -> Answer:
    """Events beyond a version, a line each."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    after = as_number(request.query, "after", 0, LAST_EVENT)
    limit = as_number(request.query, "limit", 10_000, MOST_EVENTS)
    return Answer(200, _lines(service, bandit, after, limit), media=NDJSON)


async def _lines(service: Service, bandit: Bandit, after: int, limit: int) -> AsyncIterator[bytes]:
    upto = bandit.version
    while limit > 0 and after < upto:
        # Counted, not numbered: where events were pruned their numbers have gaps.
        asked = min(_PIECE, limit)
        rows = await asyncio.to_thread(_some_events, service, bandit, after, upto, asked)
        yield b"".join(_event_line(bandit, row) for row in rows)
        after, limit = (rows[-1].seq, limit - asked) if len(rows) == asked else (upto, 0)


def _some_events(
    service: Service, bandit: Bandit, after: int, upto: int, limit: int
) -> list[Event]:
    return list(itertools.islice(service.log.store.events(bandit.row.id, after, upto), limit))


def _event_line(bandit: Bandit, row: Event) -> bytes:
    """An event as a line of JSON."""
    line = {
        "seq": row.seq,
        "kind": row.kind,
        "decision_id": row.decision,
        "arm": row.arm,
        "value": bandit.values[row.arm],
        "reward": row.value,
        "at": as_text(row.at),
    }
    return _json(line) + b"\n"


async def stream(service: Service, request: Request) -> Answer:
    """The bandit as it changes, at most twice a second."""
    bandit = await service.bandit(request.params["name"], request.who.tenant)
    if service.n_streams >= service.options.most_streams:
        text = f"streams must be at most {service.options.most_streams}, got one more"
        raise Refused(429, text, ((b"retry-after", b"10"),))
    return Answer(200, _messages(service, bandit), _AT_ONCE, EVENTS)


_AT_ONCE = ((b"x-accel-buffering", b"no"),)  # a proxy must not keep messages until there are more


async def _messages(service: Service, bandit: Bandit) -> AsyncIterator[bytes]:
    service.n_streams += 1
    try:
        sent, quiet_since = None, time.monotonic()
        while not service.draining:
            now = bandit.version, bandit.number, sum(bandit.shown)
            if now != sent:
                sent, quiet_since = now, time.monotonic()
                yield b"event: bandit\ndata: " + _json(bandit_out(bandit)) + b"\n\n"
            elif time.monotonic() - quiet_since >= _KEEP_ALIVE:
                quiet_since = time.monotonic()
                yield b": nothing new\n\n"
            await asyncio.sleep(_STREAM_SECONDS)
    finally:
        service.n_streams -= 1


async def health(service: Service, request: Request) -> Answer:
    """Whether the process answers."""
    return Answer(200, HealthOut(status="ok", version=__version__))


async def ready(service: Service, request: Request) -> Answer:
    """Whether requests can be served now."""
    if service.draining:
        raise Refused(503, "the service is about to stop", _RETRY)
    if service.store_fault:
        raise Refused(503, service.store_fault, _RETRY)
    detail = "defaults wait: the clock was set" if service.sweeper.paused else ""
    return Answer(200, HealthOut(status="ready", version=__version__, detail=detail))


async def metrics(service: Service, request: Request) -> Answer:
    """Numbers for Prometheus."""
    service.metrics.queue.set(service.log.writer.length)
    service.metrics.open.set(sum(bandit.n_open for bandit in service.log.loaded()))
    return Answer(200, service.metrics.text(), media=TEXT)
