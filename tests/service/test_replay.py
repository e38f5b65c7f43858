"""Replay, pruning, export and import: the log determines all decisions and shows tampering."""

import json
import shutil
from pathlib import Path

import pytest

from globalbandits.cli.program import main
from globalbandits.errors import StoreError, UnknownError
from globalbandits.service.log import Log
from globalbandits.service.log import replay as replay_module
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.archive.transfer import export_lines, import_lines
from globalbandits.service.log.load import load
from globalbandits.service.log.replay import replay
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import MODEL, SECOND, THOMPSON, WAGP, HandClock

DAY = 86_400


def write(store, clock):
    """A log with all kinds of rows, over ten days."""
    log = Log(store, clock=clock, compiled=False, snapshot_events=20)
    log.create("shop", WAGP)
    log.create("dice", THOMPSON | {"deadline_seconds": 3600, "default_reward": 0.0}, "other")
    for n in range(60):
        clock.pass_seconds(DAY / 6)
        first = log.decide("shop", f"{n}").decision
        second = log.decide("dice", tenant="other").decision
        if n % 5:
            log.reward("shop", first.id, 0.2 + n / 300)
            log.reward("dice", second.id, 0.3, "other")
        if n % 7 == 1:
            log.retract("shop", first.id)
            log.reward("dice", second.id, 0.4, "other")
        if n % 20 == 10:
            log.change("shop", {"limits": [0.4, 0.6 + n / 100]})
            log.change("shop", {"model": MODEL | {"cost": 0.1 + n / 1000}})
    log.close()


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("written") / "log.db"
    write(SQLiteStore(path), HandClock())
    return path


@pytest.fixture
def path(written, tmp_path):
    return Path(shutil.copy(written, tmp_path))


@pytest.fixture
def store(path):
    store = SQLiteStore(path)
    yield store
    store.close()


def reports(store):
    return [replay(store, row, compiled=False) for row in store.bandits()]


def run(*arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


def test_every_decision_is_recomputed(store):
    shop, dice = reports(store)
    assert (shop.agree, shop.decisions, shop.differ, shop.wrong) == (60, 60, 0, [])
    assert (dice.agree, dice.decisions, dice.differ, dice.wrong) == (60, 60, 0, [])
    assert shop.version == store.bandits()[0].version > 48
    assert shop.snapshots >= 2
    assert shop.good


@pytest.mark.parametrize(
    ("sql", "words"),
    [
        ("UPDATE decisions SET chosen = (chosen + 1) % 5 WHERE version = 30", "stored arm"),
        ("UPDATE decisions SET shown = (shown + 1) % 5 WHERE version = 30", "shown"),
        ("UPDATE decisions SET version = 1000 WHERE version = 30", "must lead to version 1000"),
        ("UPDATE events SET seq = 1000 WHERE seq = 30", "must follow each other, got 31 after 29"),
        ("UPDATE events SET value = 0.9 WHERE seq <= 5 AND kind = 'reward'", "reward must be one"),
        ("UPDATE events SET value = 0.9 WHERE seq = 12", "snapshot"),
        ("UPDATE bandits SET version = version + 1", "must lead to version"),
        ("UPDATE settings SET from_version = 3 WHERE number = 2", "settings 2 must hold, got 1"),
        ("UPDATE snapshots SET state = '{}' WHERE version = 20", "snapshot 20"),
        (
            "UPDATE snapshots SET state = json_set(state, '$.learner.evidence.forgotten', 99) "
            "WHERE version = 20",
            "snapshot 20 is not what the log gives",
        ),
    ],
)
def test_tampering_with_a_log_is_detected(path, capsys, sql, words):
    store = SQLiteStore(path)
    store._writer.execute("PRAGMA foreign_keys = OFF")
    store._writer.execute(f"{sql} {'AND' if 'WHERE' in sql else 'WHERE'} 1 = 1")
    store.close()
    assert run("replay", path) == 1
    assert words in capsys.readouterr().out


def test_decisions_of_another_version_of_the_library_may_come_out_otherwise(store, monkeypatch):
    store._writer.execute("UPDATE decisions SET chosen = (chosen + 1) % 5 WHERE version = 30")
    monkeypatch.setattr(replay_module, "__version__", "99.0")
    shop, dice = reports(store)
    assert shop.foreign + dice.foreign >= 1
    assert shop.differ == dice.differ == 0
    assert shop.snapshots == 0  # they are of this version, and not looked at
    assert shop.good


def test_the_command_line_prints_the_report(path, capsys):
    assert run("replay", path) == 0
    out = capsys.readouterr().out
    assert "shop: " in out
    assert "60 decisions, 60 agree, 0 differ" in out
    assert run("replay", path, "--bandit", "dice") == 0
    assert "shop" not in capsys.readouterr().out
    assert run("replay", path, "--bandit", "nobody") == 2
    assert "bandit must be one of this store's, got 'nobody'" in capsys.readouterr().err
    assert run("replay", path.with_name("nowhere")) == 2
    assert "store must be an existing file" in capsys.readouterr().err


def test_replay_runs_while_a_writer_is_active(store, path, capsys):
    assert run("replay", path) == 0  # the fixture holds the lock


def test_an_export_is_a_line_for_each_row_in_the_log_s_order(store):
    lines = [json.loads(line) for line in export_lines(store, store.bandits())]
    assert lines[0]["format"] == "globalbandits.log"
    kinds = [line["type"] for line in lines]
    assert kinds.count("decision") == 120
    assert kinds.count("settings") == 8
    assert kinds.count("refusal") == len(store.refusals(2)) > 0
    events = [line for line in lines if line["type"] == "event" and line["bandit"] == 1]
    assert [line["seq"] for line in events] == list(range(1, store.bandits()[0].version + 1))
    reached = 0
    for line in lines:
        if line.get("bandit") == 1 and line["type"] == "event":
            reached = line["seq"]
        if line.get("bandit") == 1 and line["type"] == "decision":
            assert line["version"] == reached


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_an_import_is_the_same_log(store, kind, tmp_path):
    lines = list(export_lines(store, store.bandits()))
    other = SQLiteStore(":memory:") if kind == "memory" else SQLiteStore(tmp_path / "other.db")
    assert import_lines(other, lines) == ["shop", "dice"]
    assert list(export_lines(other, other.bandits())) == lines
    assert [report.agree for report in reports(other)] == [60, 60]
    with pytest.raises(StoreError, match=r"line 3: bandit must be new in this store, got 'shop'"):
        import_lines(other, lines)
    other.close()


def test_export_and_import_on_the_command_line(path, tmp_path, capsys):
    out, new = tmp_path / "log.ndjson", tmp_path / "new.db"
    assert run("export", path, "--out", out) == 0
    assert run("import", new, out) == 0
    assert "2 bandits: shop, dice" in capsys.readouterr().out
    assert run("replay", new) == 0
    capsys.readouterr()
    assert run("export", new) == 0
    assert capsys.readouterr().out == out.read_text()
    assert run("export", path, "--bandit", "dice") == 0
    assert '"name":"shop"' not in capsys.readouterr().out


def _without(text):
    return lambda lines: [line for line in lines if text not in line]


def _changed(text, other):
    return lambda lines: [line.replace(text, other) for line in lines]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda lines: [], "the file must have lines"),
        (lambda lines: lines[1:], "line 1: must be the heading of a globalbandits.log"),
        (lambda lines: [*lines[:5], "nonsense"], "line 6: must be a JSON object with a type"),
        (lambda lines: [*lines[:5], '{"type": "x"}'], "line 6: type must be one of writer, "),
        (lambda lines: [*lines[:5], '{"type": "event"}'], "line 6: must have the fields bandit,"),
        (_changed('"name":"shop"', '"name":"../x"'), "name must be 1 to 64 letters"),
        (_changed('\\"mode\\":\\"live\\"', '\\"mode\\":\\"fast\\"'), "mode must be one of live"),
        (_changed('\\"mode\\":', '\\"speed\\":'), "setting must be one of model"),
        (_changed('"chosen":', '"chosen":99'), "arm must be an index below 5"),
        (_changed('"arm":', '"arm":-'), "arm must be"),
        (_changed('"value":0.', '"value":9.'), r"value must lie in \[0, 1\]"),
        (_without('"type":"settings"'), "settings of the bandit must come first"),
        (_without('"type":"writer"'), "writer must be one of those above"),
        (_without('"name":"shop"'), "bandit must be one of those above"),
        (_without('"seq":7,'), "seq must be 7, got 8"),
        (lambda lines: lines[:40], "events must reach version"),
        (_changed('"seq":7,', '"seq":7.5,'), "seq must be of type <class 'int'>, got 7.5"),
        (_changed('"seq":7,', '"seq":true,'), "seq must be of type <class 'int'>, got True"),
        (_changed('"seed":', '"seed":1000000000000000000000'), "seed must fit into 64 bits, got 1"),
        (_changed('"at":', '"at":-1000000000000000000000'), "at must fit into 64 bits, got -1"),
        (_changed('"request_id":"', '"request_id":"\\ud800'), "request_id must be a text that"),
        (_changed('"request_id":"', '"request_id":"\\u0000'), "request_id must be a text that"),
    ],
)
def test_an_import_that_does_not_fit_leaves_nothing(store, damage, message):
    other = SQLiteStore(":memory:")
    with pytest.raises(StoreError, match=message):
        import_lines(other, damage(list(export_lines(store, store.bandits()))))
    assert other.bandits() == []
    assert other.writers() == []


def test_what_was_pruned_stays_learned(path):
    clock = HandClock()
    clock.pass_seconds(10 * DAY)
    store = SQLiteStore(path)
    before = [row.version for row in store.bandits()]
    cut = clock.now() - 5 * DAY * SECOND
    sums = [_sums(store, row) for row in store.bandits()]
    gone = [prune(store, row, cut) for row in store.bandits()]
    assert all(one.decisions >= 25 and one.events >= 20 for one in gone)
    assert [row.version for row in store.bandits()] == before
    assert [_sums(store, row) for row in store.bandits()] == sums
    shop, dice = reports(store)
    assert (shop.wrong, dice.wrong) == ([], [])
    assert shop.base == gone[0].base > 0
    assert shop.agree + shop.gone == shop.decisions == 60 - gone[0].decisions
    assert shop.agree >= 28
    again = [prune(store, row, cut + DAY * SECOND) for row in store.bandits()]
    assert again[0].base > gone[0].base
    assert [_sums(store, row) for row in store.bandits()] == sums
    # A pruned log can be exported, imported and continued.
    other = SQLiteStore(":memory:")
    import_lines(other, list(export_lines(store, store.bandits())))
    assert [report.wrong for report in reports(other)] == [[], []]
    store.close()
    log = Log(other, clock=clock, compiled=False)
    log.reward("shop", log.decide("shop", "new").decision.id, 0.3)
    assert log.bandit("shop").version == before[0] + 1


def _sums(store, row):
    return load(store, row, compiled=False).learner.parts[2].sums.tolist()


def test_a_reward_for_a_pruned_decision_is_not_learned_twice(path):
    store = SQLiteStore(path)
    id = next(event.decision for event in store.events(1) if event.kind == "reward")
    clock = HandClock()
    clock.pass_seconds(30 * DAY)
    prune(store, store.bandits()[0], clock.now() - 21 * DAY * SECOND)
    log = Log(store, clock=clock, compiled=False)
    version = log.bandit("shop").version
    assert log.reward("shop", id, 0.3).outcome == "unknown"
    assert log.bandit("shop").version == version
    with pytest.raises(UnknownError, match="version 0 of shop is gone: it was pruned"):
        load(log.store, log.store.bandits()[0], at=(0, 1))
    log.close()


def test_pruning_on_the_command_line(path, capsys):
    assert run("prune", path, "--older-than", "1d") == 0
    assert "decisions and" in capsys.readouterr().out
    assert run("replay", path) == 0
    assert "begins at version" in capsys.readouterr().out
    for age in ("1", "d", "1.5d", "-1d", "1w"):
        assert run("prune", path, f"--older-than={age}") == 2
        assert "older-than must be a number with d, h, m or s" in capsys.readouterr().err


def test_an_export_does_not_name_the_machine(path, capsys):
    import platform

    assert run("export", path) == 0
    text = capsys.readouterr().out
    assert '"host":""' in text
    assert platform.node() not in text
