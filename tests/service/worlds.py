"""Bandits for the tests of the service: a small model, quick policies."""

from contextlib import contextmanager

from globalbandits.errors import StoreUnavailable
from globalbandits.service.log.clock import Clock
from globalbandits.service.stores import SQLiteStore

ARMS = [0.4, 0.5, 0.6, 0.7, 0.8]
MODEL = {"family": "demand.linear_power", "arms": ARMS, "cost": 0.1}
WAGP = {"model": MODEL, "policy": {"policy": "wagp"}, "seed": 7}
THOMPSON = {"model": MODEL, "policy": {"policy": "thompson_sampling"}, "seed": 8}
WINDOW = {"model": MODEL, "policy": {"policy": "sliding_window_ucb"}, "seed": 9}
SECOND = 1_000_000  # microseconds


class HandClock(Clock):
    """A clock that is moved by hand."""

    def __init__(self, at=1_700_000_000 * SECOND):
        self.wall_at = at * 1000
        self.steady_at = 0
        super().__init__(lambda: self.wall_at, lambda: self.steady_at)

    def pass_seconds(self, seconds):
        self.wall_at += round(seconds * 1e9)
        self.steady_at += round(seconds * 1e9)

    def set_by(self, seconds):
        """Set the wall clock."""
        self.wall_at += round(seconds * 1e9)


class UnavailableStore(SQLiteStore):
    """A store in memory that cannot be written to while it is unavailable."""

    unavailable = False

    def __init__(self):
        super().__init__(":memory:")

    @contextmanager
    def transaction(self):
        if self.unavailable:
            raise StoreUnavailable("no store")
        with super().transaction() as rows:
            yield rows


def copy_of_store(store):
    """A copy in memory of a store in memory."""
    other = SQLiteStore(":memory:")
    store._writer.backup(other._writer)
    return other


def sql(store, text, *values):
    """Change a store by hand."""
    store._writer.execute(text, values)
    store._writer.commit()
