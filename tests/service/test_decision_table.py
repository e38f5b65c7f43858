"""The log as a table: every decision once, with its events."""

from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest

from globalbandits.cli.program import main
from globalbandits.model import RewardModel
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore
from tests.service.worlds import THOMPSON, WAGP, HandClock


@pytest.fixture
def path(tmp_path):
    """Ten decisions: rewarded, of which one is retracted, defaulted or open; and another bandit."""
    clock = HandClock()
    log = Log(SQLiteStore(tmp_path / "log.db"), clock=clock, compiled=False)
    log.create("shop", WAGP)
    log.create("dice", THOMPSON | {"deadline_seconds": 60, "default_reward": 0.0}, "other")
    for n in range(10):
        clock.pass_seconds(1)
        decision = log.decide("shop", f"{n}").decision
        if n < 8:
            clock.pass_seconds(1)
            log.reward("shop", decision.id, n / 10)
        if n == 3:
            log.retract("shop", decision.id)
    log.decide("dice", tenant="other")
    clock.pass_seconds(600)
    log.close()
    return tmp_path / "log.db"


def run(*arguments):
    with pytest.raises(SystemExit) as stopped:
        main([str(argument) for argument in arguments])
    return stopped.value.code


READERS = {
    "parquet": pa.parquet.read_table,
    "arrow": lambda path: pa.ipc.open_file(path).read_all(),
    "feather": pa.feather.read_table,
}


@pytest.mark.parametrize("ending", READERS)
def test_a_table_has_the_decisions_of_the_log(path, tmp_path, ending):
    out = tmp_path / f"log.{ending}"
    assert run("export", path, "--out", out) == 0
    rows = READERS[ending](out).to_pylist()
    store = SQLiteStore(path)
    shop, dice = store.bandits()
    decisions = {row.id: row for bandit in (shop, dice) for row in store.decisions(bandit.id)}
    assert [row["decision"] for row in rows] == list(decisions)
    arms = WAGP["model"]["arms"]
    for row in rows:
        decision = decisions[row["decision"]]
        assert (row["shown"], row["chosen"]) == (decision.shown, decision.chosen)
        assert (row["version"], row["settings"]) == (decision.version, decision.settings)
        assert row["decided_at"] == datetime.fromtimestamp(decision.at / 1e6, UTC)
        events = store.stored_events(row["decision"])
        if row["bandit"] == "shop":
            assert row["arm"] == arms[decision.shown]
            n = int(row["request_id"])
            state = "retracted" if n == 3 else "rewarded" if n < 8 else "open"
            assert (row["tenant"], row["state"]) == ("main", state)
            assert row["reward"] == (n / 10 if state == "rewarded" else None)
            assert (row["reported_at"] is None) == (state != "rewarded")
            assert len(events) == {"open": 0, "rewarded": 1, "retracted": 2}[state]
            if state == "rewarded":
                assert (row["reported_at"] - row["decided_at"]).total_seconds() == 1.0
    store.close()
    assert rows[-1]["tenant"] == "other"
    assert rows[-1]["deadline"] is not None


def test_the_table_of_no_decision_has_its_columns(tmp_path):
    log = Log(SQLiteStore(tmp_path / "log.db"), compiled=False)
    log.create("shop", WAGP)
    log.close()
    assert run("export", tmp_path / "log.db", "--out", tmp_path / "log.parquet") == 0
    table = pa.parquet.read_table(tmp_path / "log.parquet")
    assert table.num_rows == 0
    assert table.column_names[:5] == ["tenant", "bandit", "decision", "request_id", "arm"]


def test_arms_of_different_types_are_texts(tmp_path):
    log = Log(SQLiteStore(tmp_path / "log.db"), compiled=False)
    log.create("shop", WAGP)
    names = ["plain", "striped"]
    model = RewardModel.from_functions(["0.9 * theta", "1 - 0.9 * theta"], arms=names)
    log.create("named", {"model": model.to_dict(), "policy": {"policy": "ucb1"}})
    log.decide("shop")
    log.decide("named")
    log.close()
    assert run("export", tmp_path / "log.db", "--out", tmp_path / "log.parquet") == 0
    arms = pa.parquet.read_table(tmp_path / "log.parquet")["arm"].to_pylist()
    assert arms[0] in map(str, WAGP["model"]["arms"])
    assert arms[1] in names
