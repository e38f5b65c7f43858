"""Metrics of the service for Prometheus."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from globalbandits.service.log.append import DecisionResult, EventResult, Outcome

_SECONDS_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
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

    def told(self, told: EventResult) -> None:
        """Count the outcome of a reported reward."""
        self._rewards[told.outcome].inc()

    def decided(self, decided: DecisionResult) -> None:
        """Record a decision."""
        self._decisions[decided.replayed].inc()

    def text(self) -> bytes:
        """All metrics in the text format of Prometheus."""
        return generate_latest(self.registry)
