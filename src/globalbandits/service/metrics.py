"""Metrics of the service for Prometheus."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from globalbandits.service.evidence_reader import EvidenceReading
from globalbandits.service.log.append import DecisionResult, EventResult, Outcome
from globalbandits.service.log.bandit import Bandit

_SECONDS_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_BANDIT_GAUGES = {
    "open": "Open decisions.",
    "oldest_open_seconds": "Age of the oldest open decision.",
    "last_reward_seconds": "Age of the last event that was learned.",
    "refuted": "1 if the model is refuted.",
    "drift": "1 if the parameter has changed.",
    "earnings": "Earnings against the incumbent: the amount and its bounds.",
}
_SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


class Metrics:
    """The metrics of one service."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "http_server_request_duration_seconds",
            "Time of a request until its answer.",
            ["http_route", "http_request_method", "http_response_status_code"],
            buckets=_SECONDS_BUCKETS,
            registry=self.registry,
        )
        decisions = Counter(
            "globalbandits_decisions",
            "Decisions, new or replayed.",
            ["replayed"],
            registry=self.registry,
        )
        self._decisions = [decisions.labels(word) for word in ("false", "true")]
        rewards = Counter("globalbandits_rewards", "Rewards.", ["outcome"], registry=self.registry)
        self._rewards = {outcome: rewards.labels(outcome.value) for outcome in Outcome}
        self._commits = Histogram(
            "globalbandits_commit_seconds",
            "Time of a commit.",
            buckets=_SECONDS_BUCKETS,
            registry=self.registry,
        )
        self._sizes = Histogram(
            "globalbandits_batch_size",
            "What one commit stored.",
            buckets=_SIZE_BUCKETS,
            registry=self.registry,
        )
        self.queue = Gauge(
            "globalbandits_queue_length", "What waits for a commit.", registry=self.registry
        )
        self.open = Gauge(
            "globalbandits_open_decisions",
            "Decisions without a reward, in bandits that are loaded.",
            registry=self.registry,
        )
        self.oldest_open = Gauge(
            "globalbandits_oldest_open_seconds",
            "Age of the oldest open decision, in bandits that are loaded.",
            registry=self.registry,
        )
        self.loaded = Gauge(
            "globalbandits_loaded_bandits", "Bandits in memory.", registry=self.registry
        )
        self.refuted = Gauge(
            "globalbandits_refuted_bandits",
            "Bandits whose model is refuted, of those that are loaded.",
            registry=self.registry,
        )
        self.drifting = Gauge(
            "globalbandits_drifting_bandits",
            "Bandits whose parameter has changed, of those that are loaded.",
            registry=self.registry,
        )
        self.sweeping = Gauge(
            "globalbandits_sweeping", "1 unless defaults wait for a clock.", registry=self.registry
        )
        self.sweeping.set(1)
        self._cells: dict[tuple[str, str, int], Histogram] = {}

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Record a request."""
        key = route, method, status
        cell = self._cells.get(key)
        if cell is None:
            cell = self._cells[key] = self._requests.labels(route, method, str(status))
        cell.observe(seconds)

    def commit(self, size: int, seconds: float) -> None:
        """Record a commit."""
        self._commits.observe(seconds)
        self._sizes.observe(size)

    def reported(self, result: EventResult) -> None:
        """Count the outcome of a reported reward."""
        self._rewards[result.outcome].inc()

    def decided(self, decided: DecisionResult) -> None:
        """Record a decision."""
        self._decisions[decided.replayed].inc()

    def count_bandits(self, facts: Sequence["BanditFacts"]) -> None:
        """Set the gauges over all bandits in memory."""
        self.loaded.set(len(facts))
        self.open.set(sum(fact.open for fact in facts))
        self.oldest_open.set(max((fact.oldest_open_seconds or 0.0 for fact in facts), default=0.0))
        self.refuted.set(sum(bool(fact.refuted) for fact in facts))
        self.drifting.set(sum(bool(fact.drift) for fact in facts))

    def text(self, facts: Sequence["BanditFacts"] = ()) -> bytes:
        """All metrics in the text format of Prometheus, and those of each of these bandits."""
        return generate_latest(self.registry) + _bandit_text(facts)


class BanditFacts(NamedTuple):
    """The numbers of one bandit. None means that a number is not known yet."""

    name: str
    open: int
    oldest_open_seconds: float | None
    last_reward_seconds: float | None
    refuted: bool | None
    drift: bool | None
    earnings: dict[str, float | None]  # amount, low and high against the incumbent


def bandit_facts(bandit: Bandit, reading: EvidenceReading | None, now: int) -> BanditFacts:
    """The numbers of a bandit.

    Args:
        bandit: the bandit.
        reading: its latest evidence.
        now: microseconds since 1970.
    """
    evidence: dict[str, Any] = {} if reading is None else reading.evidence
    earnings = evidence.get("earnings", {})
    return BanditFacts(
        bandit.row.name,
        bandit.n_open,
        _age(bandit.oldest_open, now),
        _age(bandit.last_event_at, now),
        None if reading is None else evidence["model"]["refuted"],
        evidence.get("drift", {}).get("alarm"),
        {bound: earnings.get(bound) for bound in ("amount", "low", "high") if earnings},
    )


def _age(at: int | None, now: int) -> float | None:
    return None if at is None else max(now - at, 0) / 1e6


def _bandit_text(facts: Sequence[BanditFacts]) -> bytes:
    if not facts:
        return b""
    registry = CollectorRegistry()
    for field, text in _BANDIT_GAUGES.items():
        labels = ["bandit", "bound"] if field == "earnings" else ["bandit"]
        gauge = Gauge(f"globalbandits_bandit_{field}", text, labels, registry=registry)
        for fact in facts:
            value = getattr(fact, field)
            values = {(): value} if field != "earnings" else {(k,): v for k, v in value.items()}
            for bound, number in values.items():
                if number is not None:
                    gauge.labels(fact.name, *bound).set(float(number))
    return generate_latest(registry)
