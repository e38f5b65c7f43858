"""Clients of the decision service: every call may be repeated, and is, until it is answered."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

try:
    import httpx
    import msgspec as msgspec
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        f"{missing.name} must be installed: pip install 'globalbandits[client]'", name=missing.name
    ) from None

from globalbandits.errors import StoreAway
from globalbandits.service import calls
from globalbandits.service.calls import Call
from globalbandits.service.http.messages import (
    BanditOut,
    DecisionAnswer,
    DecisionOut,
    EvidenceOut,
    ExplanationOut,
    PastOut,
    RewardAnswer,
    RewardOut,
    SettingsOut,
)


class OpenDecision:
    """A decision inside a ``with`` block; its reward is sent when the block ends well."""

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
        """What was observed, in the model's units."""
        self.sent = float(value)


class _Connected:
    """Where the service is, and how patient the client is."""

    _kind: Any

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        total: float = 30.0,
        timeout: float = 10.0,
        transport: Any = None,
    ) -> None:
        headers = {"User-Agent": "globalbandits", "Content-Type": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._total = total
        self._http = self._kind(base_url=url, headers=headers, timeout=timeout, transport=transport)


def _later(call: Call, attempt: int, ends: float, found: "httpx.Response | Exception") -> float:
    """Seconds to wait before the next attempt.

    Raises:
        GlobalBanditsError: if there is to be none.
    """
    response = found if isinstance(found, httpx.Response) else None
    asked = None if response is None else response.headers.get("retry-after")
    seconds = calls.pause(attempt, asked)
    if call.repeatable and time.monotonic() + seconds < ends:
        return seconds
    if response is not None:
        calls.read(call, response.status_code, response.content)
    raise StoreAway(f"the service cannot be reached: {found}")


class Client(_Connected):
    """A client of a decision service; threads may share it.

    Failed connections and the statuses 408, 429, 502, 503 and 504 are tried again, with pauses that
    grow, until ``total`` seconds are over. A conflict is never tried again.

    Args:
        url: where the service is, such as ``http://127.0.0.1:8000``.
        token: if one is needed.
        total: seconds after which a call gives up.
        timeout: seconds for one attempt.
        transport: of httpx, for tests.
    """

    _kind = httpx.Client

    def _send(self, call: Call) -> Any:
        ends = time.monotonic() + self._total
        attempt = 0
        while True:
            found: httpx.Response | Exception
            try:
                response: httpx.Response = self._http.request(
                    call.method, call.path, content=call.body, headers=call.headers
                )
                if response.status_code not in calls.RETRIED:
                    return calls.read(call, response.status_code, response.content)
                found = response
            except httpx.TransportError as error:
                found = error
            time.sleep(_later(call, attempt, ends, found))
            attempt += 1

    def create(self, name: str, spec: Mapping[str, Any]) -> BanditOut:
        """Create a bandit; the same spec again changes nothing."""
        answer: BanditOut = self._send(calls.create(name, spec))
        return answer

    def change(
        self, name: str, changes: Mapping[str, Any], *, expected: int | None = None
    ) -> SettingsOut:
        """Change settings; what was learned is kept."""
        answer: SettingsOut = self._send(calls.change(name, changes, expected))
        return answer

    def bandits(self) -> list[str]:
        """The names of the bandits."""
        names: list[str] = self._send(calls.bandits()).bandits
        return names

    def bandit(self, name: str) -> BanditOut:
        """A bandit now."""
        answer: BanditOut = self._send(calls.bandit(name))
        return answer

    def decide(self, name: str, request_id: str | None = None) -> DecisionOut:
        """A decision; the same request id gives the same one."""
        answer: DecisionOut = self._send(calls.decide(name, request_id))
        return answer

    def reward(self, name: str, decision_id: str, value: float) -> RewardOut:
        """Tell the reward of a decision; another value than before is a `ConflictError`."""
        answer: RewardOut = self._send(calls.reward(name, decision_id, value))
        return answer

    def retract(self, name: str, decision_id: str) -> RewardOut:
        """Take a reward back."""
        answer: RewardOut = self._send(calls.retract(name, decision_id))
        return answer

    @contextmanager
    def decision(self, name: str, request_id: str | None = None) -> Iterator[OpenDecision]:
        """A decision whose reward is sent when the block ends well."""
        opened = OpenDecision(self.decide(name, request_id))
        yield opened
        if opened.sent is not None:
            self.reward(name, opened.id, opened.sent)

    def decide_many(self, items: Iterable[tuple[str, str | None]]) -> list[DecisionAnswer]:
        """Decisions for (bandit, request id), in one commit."""
        answers: list[DecisionAnswer] = self._send(calls.decide_many(items)).items
        return answers

    def reward_many(self, items: Iterable[tuple[str, str, float]]) -> list[RewardAnswer]:
        """Rewards for (bandit, decision id, reward), in one commit."""
        answers: list[RewardAnswer] = self._send(calls.reward_many(items)).items
        return answers

    def past(self, decision_id: str, *, why: bool = False) -> PastOut:
        """A past decision, and perhaps why it was made."""
        answer: PastOut = self._send(calls.past(decision_id, why))
        return answer

    def explanation(self, name: str) -> ExplanationOut:
        """Why the policy would choose what it would choose now."""
        answer: ExplanationOut = self._send(calls.explanation(name))
        return answer

    def evidence(self, name: str) -> EvidenceOut | None:
        """What the rewards say; None while the first reading is on its way."""
        answer = self._send(calls.evidence(name))
        return answer if isinstance(answer, EvidenceOut) else None

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_Connected):
    """`Client` for asynchronous programs: the same arguments, and the same calls to be awaited."""

    _kind = httpx.AsyncClient

    async def _send(self, call: Call) -> Any:
        ends = time.monotonic() + self._total
        attempt = 0
        while True:
            found: httpx.Response | Exception
            try:
                response: httpx.Response = await self._http.request(
                    call.method, call.path, content=call.body, headers=call.headers
                )
                if response.status_code not in calls.RETRIED:
                    return calls.read(call, response.status_code, response.content)
                found = response
            except httpx.TransportError as error:
                found = error
            await asyncio.sleep(_later(call, attempt, ends, found))
            attempt += 1

    async def create(self, name: str, spec: Mapping[str, Any]) -> BanditOut:
        """Create a bandit; the same spec again changes nothing."""
        answer: BanditOut = await self._send(calls.create(name, spec))
        return answer

    async def change(
        self, name: str, changes: Mapping[str, Any], *, expected: int | None = None
    ) -> SettingsOut:
        """Change settings; what was learned is kept."""
        answer: SettingsOut = await self._send(calls.change(name, changes, expected))
        return answer

    async def bandits(self) -> list[str]:
        """The names of the bandits."""
        names: list[str] = (await self._send(calls.bandits())).bandits
        return names

    async def bandit(self, name: str) -> BanditOut:
        """A bandit now."""
        answer: BanditOut = await self._send(calls.bandit(name))
        return answer

    async def decide(self, name: str, request_id: str | None = None) -> DecisionOut:
        """A decision; the same request id gives the same one."""
        answer: DecisionOut = await self._send(calls.decide(name, request_id))
        return answer

    async def reward(self, name: str, decision_id: str, value: float) -> RewardOut:
        """Tell the reward of a decision; another value than before is a `ConflictError`."""
        answer: RewardOut = await self._send(calls.reward(name, decision_id, value))
        return answer

    async def retract(self, name: str, decision_id: str) -> RewardOut:
        """Take a reward back."""
        answer: RewardOut = await self._send(calls.retract(name, decision_id))
        return answer

    @asynccontextmanager
    async def decision(
        self, name: str, request_id: str | None = None
    ) -> AsyncIterator[OpenDecision]:
        """A decision whose reward is sent when the block ends well."""
        opened = OpenDecision(await self.decide(name, request_id))
        yield opened
        if opened.sent is not None:
            await self.reward(name, opened.id, opened.sent)

    async def decide_many(self, items: Iterable[tuple[str, str | None]]) -> list[DecisionAnswer]:
        """Decisions for (bandit, request id), in one commit."""
        answers: list[DecisionAnswer] = (await self._send(calls.decide_many(items))).items
        return answers

    async def reward_many(self, items: Iterable[tuple[str, str, float]]) -> list[RewardAnswer]:
        """Rewards for (bandit, decision id, reward), in one commit."""
        answers: list[RewardAnswer] = (await self._send(calls.reward_many(items))).items
        return answers

    async def past(self, decision_id: str, *, why: bool = False) -> PastOut:
        """A past decision, and perhaps why it was made."""
        answer: PastOut = await self._send(calls.past(decision_id, why))
        return answer

    async def explanation(self, name: str) -> ExplanationOut:
        """Why the policy would choose what it would choose now."""
        answer: ExplanationOut = await self._send(calls.explanation(name))
        return answer

    async def evidence(self, name: str) -> EvidenceOut | None:
        """What the rewards say; None while the first reading is on its way."""
        answer = await self._send(calls.evidence(name))
        return answer if isinstance(answer, EvidenceOut) else None

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
