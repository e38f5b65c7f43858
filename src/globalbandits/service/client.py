"""Clients of the decision service. They retry every call until it is answered.

`_Calls` defines all calls. `Client` and `AsyncClient` differ only in how they send a call.
"""

import asyncio
import dataclasses
import functools
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Concatenate, Generic, NoReturn, ParamSpec, TypeVar, overload
from urllib.parse import quote, urlencode

from globalbandits._extras import needs_extra
from globalbandits._validation import as_positive, require
from globalbandits.errors import ConflictError, ServiceError, StoreUnavailable, UnknownError

with needs_extra("client"):
    import httpx
    import msgspec

    from globalbandits.service.http.messages import (
        BanditOut,
        BanditsOut,
        DecisionAnswer,
        DecisionOut,
        DecisionsOut,
        DeletedOut,
        EvidenceOut,
        ExplanationOut,
        ImportOut,
        PastOut,
        RewardAnswer,
        RewardOut,
        RewardsOut,
        SettingsOut,
        WeightsOut,
    )

RETRIED_STATUSES = frozenset({408, 429, 502, 503, 504})
_FIRST_PAUSE_SECONDS, _MAX_PAUSE_SECONDS = 0.05, 5.0
_MAX_RETRY_AFTER_SECONDS = 60.0
_SLOW_SECONDS = 30.0

_Answer = TypeVar("_Answer")
_Arguments = ParamSpec("_Arguments")


@dataclasses.dataclass(frozen=True)
class Call(Generic[_Answer]):
    """One request to the service.

    Args:
        method: the HTTP method.
        path: the path, quoted.
        message: the struct of the answer.
        field: the field of the struct that is returned; the whole struct by default.
        body: the body as plain data.
        headers: additional headers.
        repeatable: whether the request is idempotent.
        slow: whether the service may have to build a model or a past state first.
        fallback: the answer if the service is unavailable.
    """

    method: str
    path: str
    message: type[Any]
    field: str = ""
    body: Any = None
    headers: Mapping[str, str] | None = None
    repeatable: bool = True
    slow: bool = False
    fallback: Any = None

    @property
    def content(self) -> bytes | None:
        """The body as JSON."""
        return None if self.body is None else msgspec.json.encode(self.body)

    def read(self, status: int, content: bytes) -> _Answer:
        """The answer in a response.

        Raises:
            UnknownError: for status 404.
            ConflictError: for status 409.
            StoreUnavailable: for 5xx and the statuses that are retried.
            ServiceError: for all other errors.
        """
        if status >= 300:
            self._fail(status, content)
        answer: Any = None
        # 202: the answer is not ready yet.
        if status != 202:
            try:
                answer = msgspec.json.decode(content, type=self.message)
            except msgspec.DecodeError as error:
                text = f"the answer must be one of globalbandits, got {error}"
                raise ServiceError(text) from None
        if self.field:
            answer = getattr(answer, self.field)
        found: _Answer = answer
        return found

    def _fail(self, status: int, content: bytes) -> NoReturn:
        try:
            detail = str(msgspec.json.decode(content)["detail"])
        except (msgspec.DecodeError, KeyError, TypeError):
            detail = f"{self.method} {self.path} was answered with {status}"
        if status == 404:
            raise UnknownError(detail)
        if status == 409:
            raise ConflictError(detail)
        if status >= 500 or status in RETRIED_STATUSES:
            raise StoreUnavailable(detail)
        raise ServiceError(detail)


class _Endpoint(Generic[_Arguments, _Answer]):
    """Turns a method that builds a `Call` into one that sends it.

    The method returns the answer in `Client`, and a coroutine of the answer in `AsyncClient`.
    """

    def __init__(self, build: Callable[Concatenate[Any, _Arguments], Call[_Answer]]) -> None:
        self._build = build
        self.__doc__ = build.__doc__

    @overload
    def __get__(self, client: None, owner: Any) -> "_Endpoint[_Arguments, _Answer]": ...

    @overload
    def __get__(self, client: "Client", owner: Any) -> Callable[_Arguments, _Answer]: ...

    @overload
    def __get__(
        self, client: "AsyncClient", owner: Any
    ) -> Callable[_Arguments, Coroutine[Any, Any, _Answer]]: ...

    def __get__(self, client: Any, owner: Any) -> Any:
        if client is None:
            return self

        @functools.wraps(functools.partial(self._build, client))
        def send(*arguments: _Arguments.args, **named: _Arguments.kwargs) -> Any:
            return client._send(self._build(client, *arguments, **named))

        send.__doc__ = self._build.__doc__
        return send


class _Calls:
    """The calls of a client.

    Args:
        url: the address of the service, such as ``http://127.0.0.1:8000``.
        token: a token, if the service needs one.
        total: seconds after which a call gives up, with all of its retries. Calls for which the
            service builds a model or a past state (`create`, `change`, `import_rewards`, and `past`
            with its reasons) have at least 30 seconds.
        timeout: seconds for one attempt; never more than ``total`` leaves.
        transport: a transport of httpx, for tests.
    """

    _http_client: Any  # the class of httpx

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        total: float = 1.0,
        timeout: float = 10.0,
        transport: Any = None,
    ) -> None:
        headers = {"User-Agent": "globalbandits", "Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        require(total >= 0.0, "total", "be at least 0", total, ServiceError)
        self._total, self._timeout = total, as_positive("timeout", timeout, ServiceError)
        self._http = self._http_client(base_url=url, headers=headers, transport=transport)

    @_Endpoint
    def create(self, name: str, spec: Mapping[str, Any]) -> Call[BanditOut]:
        """Create a bandit. A repeated call with the same specification changes nothing."""
        return Call("PUT", _path("bandits", name), BanditOut, body=spec, slow=True)

    @_Endpoint
    def change(
        self, name: str, changes: Mapping[str, Any], *, expected: int | None = None
    ) -> Call[SettingsOut]:
        """Change settings. The bandit keeps everything that it has learned.

        With ``expected``, settings change only if their current number is this one. Such a call is
        not retried, because a second attempt would find a higher number.
        """
        headers = None if expected is None else {"If-Match": f'"{expected}"'}
        return Call(
            "PATCH",
            _path("bandits", name, "settings"),
            SettingsOut,
            body=changes,
            headers=headers,
            repeatable=expected is None,
            slow=True,
        )

    @_Endpoint
    def bandits(self, search: str = "", after: str = "", limit: int = 100) -> Call[list[str]]:
        """A page of the names of bandits, sorted.

        Args:
            search: only names that contain this text.
            after: only names behind this one: the last name of the previous page.
            limit: the size of a page, at most 1,000.
        """
        query = urlencode({"search": search, "after": after, "limit": limit})
        return Call("GET", f"{_path('bandits')}?{query}", BanditsOut, "bandits")

    @_Endpoint
    def delete(self, name: str) -> Call[DeletedOut]:
        """Delete a bandit. Its history stays in the log, and its name is free."""
        return Call("DELETE", _path("bandits", name), DeletedOut)

    @_Endpoint
    def bandit(self, name: str) -> Call[BanditOut]:
        """The current state of a bandit."""
        return Call("GET", _path("bandits", name), BanditOut)

    @_Endpoint
    def decide(
        self,
        name: str,
        request_id: str | None = None,
        *,
        unit: str | None = None,
        context: str | None = None,
        allowed: Iterable[str | float] | None = None,
        default: str | float | None = None,
    ) -> Call[DecisionOut]:
        """Make a decision. The same request id gives the same decision.

        Args:
            name: the name of the bandit.
            request_id: your id of the request; a random one by default.
            unit: the visitor, or other unit, that the decision is for. With the setting
                ``sticky_seconds`` a unit is shown the same arm for that time.
            context: the name of the context, for a bandit with contexts.
            allowed: the values of the arms that may be shown, such as those in stock; all by
                default.
            default: the value to show if the service is unavailable. Such a decision has an empty
                ``decision_id`` and no reward.
        """
        body = _decision_body(request_id, unit, context, allowed)
        fallback = None if default is None else _default_decision(name, default)
        path = _path("bandits", name, "decisions")
        return Call("POST", path, DecisionOut, body=body, fallback=fallback)

    @_Endpoint
    def reward(
        self, name: str, decision_id: str, value: float, *, count: int = 1
    ) -> Call[RewardOut]:
        """Report the reward of a decision. A second, different value is a `ConflictError`.

        With ``count``, ``value`` is the sum of that many rewards, such as the sales of a day among
        its visitors.
        """
        if not decision_id:
            raise ServiceError("decision_id must not be empty: a default arm has no reward")
        body: dict[str, Any] = (
            {"reward": value} if count == 1 else {"reward": value, "count": count}
        )
        path = _path("bandits", name, "decisions", decision_id, "reward")
        return Call("PUT", path, RewardOut, body=body)

    @_Endpoint
    def retract(self, name: str, decision_id: str) -> Call[RewardOut]:
        """Retract the reward of a decision."""
        path = _path("bandits", name, "decisions", decision_id, "reward")
        return Call("DELETE", path, RewardOut)

    @_Endpoint
    def decide_many(
        self, items: Iterable[tuple[str, str | None] | tuple[str, str | None, Mapping[str, Any]]]
    ) -> Call[list[DecisionAnswer]]:
        """Make decisions for (bandit, request id) pairs, in one commit.

        A third item of a pair has what else `decide` takes: ``unit``, ``context`` and ``allowed``.
        """
        wanted = [
            {"bandit": name} | _decision_body(id, **(rest[0] if rest else {}))
            for name, id, *rest in items
        ]
        return Call("POST", "/v1/decisions:batch", DecisionsOut, "items", {"items": wanted})

    @_Endpoint
    def reward_many(self, items: Iterable[tuple[str, str, float]]) -> Call[list[RewardAnswer]]:
        """Report rewards as (bandit, decision id, reward), in one commit."""
        rewards = [
            {"bandit": name, "decision_id": id, "reward": value} for name, id, value in items
        ]
        return Call("POST", "/v1/rewards:batch", RewardsOut, "items", {"items": rewards})

    @_Endpoint
    def import_rewards(
        self, name: str, import_id: str, rewards: Iterable[tuple[Any, ...]]
    ) -> Call[ImportOut]:
        """Learn past rewards, as (arm's value, reward), before the bandit's first decision.

        The name of the context may come third (None without contexts), and fourth the number of
        rewards that the reward is the sum of, such as the visitors of a day. At most 1,000 in one
        call. Each call needs an id of its own, which makes it repeatable.
        """
        names = ("value", "reward", "context", "count")
        items = [dict(zip(names, row, strict=False)) for row in rewards]
        body = {"import_id": import_id, "items": items}
        return Call(
            "POST", _path("bandits", name, "rewards:import"), ImportOut, body=body, slow=True
        )

    @_Endpoint
    def past(self, decision_id: str, *, why: bool = False) -> Call[PastOut]:
        """A past decision; with ``why``, the explanation of its choice."""
        query = "?why=true" if why else ""
        return Call("GET", _path("decisions", decision_id) + query, PastOut, slow=why)

    @_Endpoint
    def explanation(self, name: str, *, context: str | None = None) -> Call[ExplanationOut]:
        """The explanation of the choice that the policy would make now, in a context if any."""
        path = _path("bandits", name, "explanation") + _context_query(context)
        return Call("GET", path, ExplanationOut)

    @_Endpoint
    def weights(self, name: str, *, context: str | None = None) -> Call[WeightsOut]:
        """The probability of each arm to be shown next, in a context if any."""
        path = _path("bandits", name, "weights") + _context_query(context)
        return Call("GET", path, WeightsOut)

    @_Endpoint
    def evidence(self, name: str) -> Call[EvidenceOut | None]:
        """The evidence in the rewards; None while the first reading is being computed."""
        return Call("GET", _path("bandits", name, "evidence"), EvidenceOut)


class Client(_Calls):
    """A client of a decision service. Threads may share it.

    Failed connections and the statuses 408, 429, 502, 503 and 504 are retried, with growing pauses,
    until ``total`` seconds have passed. A conflict is never retried.

    Args:
        url: the address of the service, such as ``http://127.0.0.1:8000``.
        token: a token, if the service needs one.
        total: seconds after which a call gives up, with all of its retries. Calls for which the
            service builds a model or a past state (`create`, `change`, `import_rewards`, and `past`
            with its reasons) have at least 30 seconds.
        timeout: seconds for one attempt; never more than ``total`` leaves.
        transport: a transport of httpx, for tests.
    """

    _http_client = httpx.Client

    def _send(self, call: Call[_Answer]) -> _Answer:
        try:
            return self._send_until_answered(call)
        except StoreUnavailable:
            if call.fallback is None:
                raise
            fallback: _Answer = call.fallback
            return fallback

    def _send_until_answered(self, call: Call[_Answer]) -> _Answer:
        retries = _Retries(call, self._total)
        while True:
            failure: httpx.Response | Exception
            try:
                failure = response = self._http.request(
                    call.method,
                    call.path,
                    content=call.content,
                    headers=call.headers,
                    timeout=retries.timeout(self._timeout),
                )
                if response.status_code not in RETRIED_STATUSES:
                    return call.read(response.status_code, response.content)
            except httpx.TransportError as error:
                failure = error
            time.sleep(retries.pause(failure))

    @contextmanager
    def decision(
        self,
        name: str,
        request_id: str | None = None,
        *,
        unit: str | None = None,
        context: str | None = None,
        allowed: Iterable[str | float] | None = None,
        default: str | float | None = None,
    ) -> Iterator["OpenDecision"]:
        """Make a decision whose reward is sent when the block ends without an error.

        The reward of a default arm, shown while the service was unavailable, is not sent.
        """
        decided = self.decide(
            name, request_id, unit=unit, context=context, allowed=allowed, default=default
        )
        opened = OpenDecision(decided)
        yield opened
        if opened.sent is not None and opened.id:
            self.reward(name, opened.id, opened.sent)

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Calls):
    """`Client` for asynchronous programs. The arguments are the same, and calls are awaited."""

    _http_client = httpx.AsyncClient

    async def _send(self, call: Call[_Answer]) -> _Answer:
        try:
            return await self._send_until_answered(call)
        except StoreUnavailable:
            if call.fallback is None:
                raise
            fallback: _Answer = call.fallback
            return fallback

    async def _send_until_answered(self, call: Call[_Answer]) -> _Answer:
        retries = _Retries(call, self._total)
        while True:
            failure: httpx.Response | Exception
            try:
                async with asyncio.timeout(retries.seconds_left):
                    failure = response = await self._http.request(
                        call.method,
                        call.path,
                        content=call.content,
                        headers=call.headers,
                        timeout=retries.timeout(self._timeout),
                    )
                if response.status_code not in RETRIED_STATUSES:
                    return call.read(response.status_code, response.content)
            except (httpx.TransportError, TimeoutError) as error:
                failure = error
            await asyncio.sleep(retries.pause(failure))

    @asynccontextmanager
    async def decision(
        self,
        name: str,
        request_id: str | None = None,
        *,
        unit: str | None = None,
        context: str | None = None,
        allowed: Iterable[str | float] | None = None,
        default: str | float | None = None,
    ) -> AsyncIterator["OpenDecision"]:
        """Make a decision whose reward is sent when the block ends without an error.

        The reward of a default arm, shown while the service was unavailable, is not sent.
        """
        decided = await self.decide(
            name, request_id, unit=unit, context=context, allowed=allowed, default=default
        )
        opened = OpenDecision(decided)
        yield opened
        if opened.sent is not None and opened.id:
            await self.reward(name, opened.id, opened.sent)

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class OpenDecision:
    """A decision inside a ``with`` block. Its reward is sent when the block ends without error."""

    def __init__(self, decision: DecisionOut) -> None:
        self.decision = decision
        self.sent: float | None = None

    @property
    def id(self) -> str:
        """The decision's id."""
        return self.decision.decision_id

    @property
    def arm(self) -> int:
        """The index of the arm to show."""
        return self.decision.arm

    @property
    def value(self) -> str | float | int:
        """The value of the arm to show: a price, a dose, a label."""
        return self.decision.value

    def reward(self, value: float) -> None:
        """Set the observed reward, in the model's units."""
        self.sent = float(value)


class _Retries:
    """The failed attempts of one call."""

    def __init__(self, call: Call[Any], total_seconds: float) -> None:
        self._call = call
        seconds = max(total_seconds, _SLOW_SECONDS) if call.slow else total_seconds
        self._ends = time.monotonic() + seconds
        self._n_failed = 0

    @property
    def seconds_left(self) -> float:
        """The seconds until the call gives up."""
        return max(self._ends - time.monotonic(), 0.001)

    def timeout(self, seconds: float) -> httpx.Timeout:
        """The limits of the next attempt.

        httpx has a limit for each phase and none for their sum. A connection must be there in half
        of the time, so that enough is left for the answer.
        """
        left = min(self.seconds_left, seconds)
        return httpx.Timeout(left, connect=left / 2.0)

    def pause(self, failure: "httpx.Response | Exception") -> float:
        """Count a failed attempt and return the seconds to wait before the next.

        Raises:
            GlobalBanditsError: if there is no next attempt.
        """
        response = failure if isinstance(failure, httpx.Response) else None
        retry_after = None if response is None else response.headers.get("retry-after")
        seconds = pause_seconds(self._n_failed, retry_after)
        self._n_failed += 1
        if self._call.repeatable and time.monotonic() + seconds < self._ends:
            return seconds
        if response is not None:
            self._call.read(response.status_code, response.content)
        raise StoreUnavailable(f"the service cannot be reached: {failure}")


def pause_seconds(n_failed: int, retry_after: str | None) -> float:
    """Seconds before the next attempt. They grow, and are random to keep clients out of step.

    Args:
        n_failed: the number of failed attempts before the last.
        retry_after: the Retry-After header of the response.
    """
    longest = min(_MAX_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2.0 ** min(n_failed, 20))
    drawn = random.uniform(longest / 2, longest)
    if retry_after is not None and retry_after.isascii() and retry_after.isdigit():
        requested = min(float(retry_after), _MAX_RETRY_AFTER_SECONDS)
        return max(drawn, requested * random.uniform(0.5, 1.0))
    return drawn


def _path(*parts: str) -> str:
    return "/".join(["/v1", *(quote(part, safe="") for part in parts)])


def _context_query(context: str | None) -> str:
    return "" if context is None else f"?{urlencode({'context': context})}"


def _decision_body(
    request_id: str | None,
    unit: str | None = None,
    context: str | None = None,
    allowed: Iterable[str | float] | None = None,
) -> dict[str, Any]:
    """The body of a request for a decision."""
    given = {"unit": unit, "context": context, "allowed": None if allowed is None else [*allowed]}
    body = {key: value for key, value in given.items() if value is not None}
    return {"request_id": request_id or _new_request_id()} | body


def _default_decision(name: str, value: str | float) -> DecisionOut:
    """The decision of a client whose service is unavailable. It has no id."""
    return DecisionOut(
        decision_id="",
        bandit=name,
        arm=-1,
        value=value,
        chosen=-1,
        chosen_value=value,
        version=-1,
        settings_number=-1,
        decided_at="",
        deadline=None,
        replayed=False,
    )


def _new_request_id() -> str:
    return uuid.uuid4().hex
