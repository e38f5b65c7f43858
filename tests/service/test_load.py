"""Bandits are loaded at any version, from the newest snapshot that can be used."""

import json

import pytest

from globalbandits.errors import StoreError, UnknownError
from globalbandits.service.log import Log
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.load import kept_snapshot, load, load_start
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import SECOND, WAGP, HandClock, copy_of_store, sql


@pytest.fixture(scope="module")
def written():
    """Twelve rewards; the settings 2 and 3 hold from version 5, and 4 from version 9."""
    clock = HandClock()
    log = Log(SQLiteStore(":memory:"), clock=clock, compiled=False, snapshot_events=4)
    log.create("shop", WAGP)
    for number in range(12):
        clock.pass_seconds(10)
        if number == 5:
            log.change("shop", {"limits": [0.4, 0.7]})
            log.change("shop", {"limits": [0.4, 0.8]})
        if number == 9:
            log.change("shop", {"largest_step": 1})
        log.reward("shop", log.decide("shop", f"{number}").decision.id, number / 20)
    log.stop()
    yield log.store
    log.store.close()


@pytest.fixture
def store(written):
    other = copy_of_store(written)
    yield other
    other.close()


@pytest.fixture
def restored(monkeypatch):
    """The versions of the snapshots that were restored."""
    seen, restore = [], Bandit.restore

    def note(self, snapshot, settings):
        seen.append(snapshot.version)
        return restore(self, snapshot, settings)

    monkeypatch.setattr(Bandit, "restore", note)
    return seen


def row_of(store):
    return store.bandits()[0]


def facts(bandit):
    learner = bandit.learner
    return bandit.version, bandit.number, learner.n_observations, learner.pulls.tolist()


def test_snapshots_are_those_of_every_four_events(store):
    assert [(found.version, found.settings) for found in store.snapshots(1)] == [
        (12, 4),
        (8, 3),
        (4, 1),
    ]


@pytest.mark.parametrize(
    ("version", "number", "base"),
    [(12, 4, 12), (11, 4, 8), (8, 3, 8), (7, 3, 4), (5, 2, 4), (5, 1, 4), (4, 1, 4), (3, 1, None)],
)
def test_versions_are_loaded_from_the_newest_snapshot_below(store, restored, version, number, base):
    bandit = load(store, row_of(store), at=(version, number), compiled=False)
    assert (bandit.version, bandit.number) == (version, number)
    assert restored == ([] if base is None else [base])
    # From the first event it is the same bandit.
    start = load_start(store, row_of(store), store.settings(1), compiled=False)
    waiting = [found for found in store.settings(1) if 1 < found.number <= number]
    start.advance(store.events(1, 0, version), waiting)
    assert facts(bandit) == facts(start)
    assert bandit.learner.means.tolist() == pytest.approx(start.learner.means.tolist(), nan_ok=True)


def test_settings_after_the_row_was_read_are_not_taken_over(store):
    row = row_of(store)
    assert facts(load(store, row, compiled=False))[:2] == (12, 4)
    assert facts(load(store, row._replace(version=8), compiled=False))[:2] == (8, 3)
    assert facts(load(store, row._replace(version=9), compiled=False))[:2] == (9, 4)


@pytest.mark.parametrize(
    ("change", "versions"),
    [
        ("UPDATE snapshots SET library = '0.0' WHERE version = 12", [8]),
        ("UPDATE snapshots SET settings = 9 WHERE version = 12", [8]),
        ("UPDATE snapshots SET state = '{}' WHERE version = 12", [12, 8]),
        ("UPDATE snapshots SET library = '0.0' WHERE version > 4", [4]),
        ("DELETE FROM snapshots WHERE version >= 4", []),
    ],
)
def test_snapshots_that_cannot_be_used_are_skipped(store, restored, change, versions):
    sql(store, change)
    assert facts(load(store, row_of(store), compiled=False))[:3] == (12, 4, 12)
    assert restored == versions


def test_missing_events_are_an_error(store):
    sql(store, "DELETE FROM snapshots")
    with pytest.raises(StoreError) as caught:
        load(store, row_of(store)._replace(version=13), compiled=False)
    assert str(caught.value) == "shop must have 13 events, got 12"


def test_a_kept_snapshot_is_always_used(store, restored):
    row = row_of(store)
    assert kept_snapshot(store, row) is None
    # The first six rewards were reported within a minute of the start.
    pruned = prune(store, row, HandClock().now() + 65 * SECOND)
    assert pruned[1:] == (6, 6, 6)
    kept = kept_snapshot(store, row)
    assert (kept.version, kept.settings) == (6, 3)
    restored.clear()
    sql(store, "UPDATE snapshots SET library = '0.0'")
    assert facts(load(store, row, compiled=False))[:3] == (12, 4, 12)
    assert restored == [6]
    start = load_start(store, row, store.settings(1), compiled=False)
    assert facts(start)[:3] == (6, 3, 6)
    assert facts(load(store, row, at=(6, 3), compiled=False))[:3] == (6, 3, 6)
    for version, number in ((5, 3), (6, 2)):
        with pytest.raises(UnknownError) as caught:
            load(store, row, at=(version, number), compiled=False)
        assert str(caught.value) == f"version {version} of shop is gone: it was pruned up to 6"


def test_pruning_again_starts_from_the_kept_snapshot(store):
    row, start = row_of(store), HandClock().now()
    assert prune(store, row, start)[1:] == (0, 0, 0)
    assert prune(store, row, start + 10 * SECOND)[1:] == (0, 0, 0)
    assert prune(store, row, start + 10 * SECOND + 1)[1:] == (1, 1, 1)
    # Settings that hold from version 5 on are taken over after a snapshot of this version.
    assert prune(store, row, start + 55 * SECOND)[1:] == (4, 4, 5)
    assert kept_snapshot(store, row).settings == 1
    assert prune(store, row, start + 10**6 * SECOND)[1:] == (7, 7, 12)
    assert kept_snapshot(store, row).settings == 4
    assert json.loads(kept_snapshot(store, row).state)["anchor"] is not None
