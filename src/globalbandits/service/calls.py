"""What a client sends and how it reads the answers, for waiting and for asynchronous clients."""

import random
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NoReturn
from urllib.parse import quote

import msgspec

from globalbandits.errors import ConflictError, ServiceError, StoreAway, UnknownError
from globalbandits.service.http.messages import (
    BanditOut,
    BanditsOut,
    DecisionOut,
    DecisionsOut,
    EvidenceOut,
    ExplanationOut,
    PastOut,
    RewardOut,
    RewardsOut,
    SettingsOut,
    WaitOut,
)

RETRIED = frozenset({408, 429, 502, 503, 504})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 5.0  # seconds


class Call(NamedTuple):
    """One request, and what its answer is."""

    method: str
    path: str
    answer: Any  # a struct
    body: bytes | None = None
    headers: dict[str, str] | None = None
    repeatable: bool = True  # whether sending it twice does what sending it once does


def create(name: str, spec: Mapping[str, Any]) -> Call:
    """Create a bandit."""
    return Call("PUT", f"/v1/bandits/{_quoted(name)}", BanditOut, _body(spec))


def change(name: str, changes: Mapping[str, Any], expected: int | None) -> Call:
    """Change settings. One that expects a number is not repeated: it would contradict itself."""
    headers = None if expected is None else {"If-Match": f'"{expected}"'}
    path = f"/v1/bandits/{_quoted(name)}/settings"
    return Call("PATCH", path, SettingsOut, _body(changes), headers, expected is None)


def bandits() -> Call:
    """The names of the bandits."""
    return Call("GET", "/v1/bandits", BanditsOut)


def bandit(name: str) -> Call:
    """A bandit now."""
    return Call("GET", f"/v1/bandits/{_quoted(name)}", BanditOut)


def decide(name: str, request_id: str | None) -> Call:
    """A decision; an id is made where there is none, so that it may be asked for again."""
    body = {"request_id": request_id or new_request_id()}
    return Call("POST", f"/v1/bandits/{_quoted(name)}/decisions", DecisionOut, _body(body))


def reward(name: str, decision_id: str, value: float) -> Call:
    """The reward of a decision."""
    return Call("PUT", _reward_path(name, decision_id), RewardOut, _body({"reward": value}))


def retract(name: str, decision_id: str) -> Call:
    """Take a reward back."""
    return Call("DELETE", _reward_path(name, decision_id), RewardOut)


def decide_many(items: Iterable[tuple[str, str | None]]) -> Call:
    """Many decisions."""
    asked = [{"bandit": name, "request_id": id or new_request_id()} for name, id in items]
    return Call("POST", "/v1/decisions:batch", DecisionsOut, _body({"items": asked}))


def reward_many(items: Iterable[tuple[str, str, float]]) -> Call:
    """Many rewards."""
    told = [{"bandit": name, "decision_id": id, "reward": value} for name, id, value in items]
    return Call("POST", "/v1/rewards:batch", RewardsOut, _body({"items": told}))


def past(decision_id: str, why: bool) -> Call:
    """A past decision."""
    query = "?why=true" if why else ""
    return Call("GET", f"/v1/decisions/{_quoted(decision_id)}{query}", PastOut)


def explanation(name: str) -> Call:
    """Why the policy would choose what it would choose now."""
    return Call("GET", f"/v1/bandits/{_quoted(name)}/explanation", ExplanationOut)


def evidence(name: str) -> Call:
    """What the rewards say."""
    return Call("GET", f"/v1/bandits/{_quoted(name)}/evidence", EvidenceOut)


def new_request_id() -> str:
    """An id that nobody else has."""
    return uuid.uuid4().hex


def read(call: Call, status: int, content: bytes) -> Any:
    """The answer to a call.

    Raises:
        UnknownError: 404. ConflictError: 409. StoreAway: 5xx. ServiceError: all else.
    """
    if status == 202:
        return msgspec.json.decode(content, type=WaitOut)
    if status < 300:
        try:
            return msgspec.json.decode(content, type=call.answer)
        except msgspec.DecodeError as error:
            raise ServiceError(f"the answer must be one of globalbandits, got {error}") from None
    _fail(call, status, content)


def _fail(call: Call, status: int, content: bytes) -> NoReturn:
    try:
        detail = str(msgspec.json.decode(content)["detail"])
    except (msgspec.DecodeError, KeyError, TypeError):
        detail = f"{call.method} {call.path} was answered with {status}"
    kinds = {404: UnknownError, 409: ConflictError}
    kind = kinds.get(status, StoreAway if status >= 500 or status in RETRIED else ServiceError)
    raise kind(detail)


def pause(attempt: int, asked: str | None) -> float:
    """Seconds before the next attempt: longer each time, never the same for all clients.

    Args:
        attempt: how many there were, less one.
        asked: what the server's Retry-After says.
    """
    most = min(_LONGEST_PAUSE, _FIRST_PAUSE * 2.0 ** min(attempt, 20))
    drawn = random.uniform(most / 2, most)
    if asked is not None and asked.isascii() and asked.isdigit():
        return max(drawn, min(float(asked), 60.0) * random.uniform(0.5, 1.0))
    return drawn


def _reward_path(name: str, decision_id: str) -> str:
    return f"/v1/bandits/{_quoted(name)}/decisions/{_quoted(decision_id)}/reward"


def _quoted(text: str) -> str:
    return quote(text, safe="")


def _body(value: Any) -> bytes:
    return msgspec.json.encode(value)
