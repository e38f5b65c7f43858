"""The probability of the shown arm: in answers, in the log, in exports, and derived afterwards."""

import json

import numpy as np
import pyarrow.parquet
import pytest

import globalbandits as gb
from globalbandits.cli.program import main
from globalbandits.errors import StoreError
from globalbandits.service.evidence_reader import EvidenceReader
from globalbandits.service.log import Log
from globalbandits.service.log.archive.transfer import export_lines, import_lines
from globalbandits.service.log.replay import replay
from globalbandits.service.service import ServiceOptions
from globalbandits.service.stores import SQLiteStore
from tests.service.serving import serving, talking
from tests.service.worlds import ARMS, MODEL, THOMPSON, WAGP

GREEDY = {"model": MODEL, "policy": {"policy": "epsilon_greedy", "epsilon": 0.4}, "seed": 5}


@pytest.fixture
def log():
    log = Log(SQLiteStore(":memory:"), compiled=False)
    yield log
    log.close()


def teach(log, name, n=12):
    for number in range(n):
        decision = log.decide(name).decision
        log.reward(name, decision.id, (number % 5) / 10)


def shares(log, name, n=600):
    """The shares of shown arms, of requests that are not stored."""
    bandit = log.bandit(name)
    shown = [bandit.choose(f"r:{number}").shown for number in range(n)]
    return np.bincount(shown, minlength=len(bandit.values)) / n


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"limits": [ARMS[1], ARMS[-1]]},
        {"incumbent": ARMS[0], "held_back": 0.3},
        {"incumbent": ARMS[0], "mode": "shadow"},
        {"incumbent": ARMS[1], "held_back": 0.2, "largest_step": 1, "limits": [ARMS[0], ARMS[2]]},
    ],
)
def test_settings_change_the_probabilities_as_they_change_what_is_shown(log, settings):
    log.create("shop", GREEDY | settings)
    teach(log, "shop")
    found, version, number = log.bandit("shop").probabilities(100)
    assert (found.exact, version, number) == (True, 12, 1)
    assert sum(found) == pytest.approx(1.0)
    p = np.asarray(found)
    error = np.sqrt(np.maximum(p * (1 - p), 1e-9) / 600)
    assert np.all(np.abs(shares(log, "shop") - p) <= 5 * error)
    decision = log.decide("shop").decision
    assert decision.probability == pytest.approx(found[decision.shown])


def test_a_drawn_probability_is_logged_only_on_request(log):
    log.create("dice", THOMPSON)
    teach(log, "dice")
    assert log.decide("dice").decision.probability is None
    log.change("dice", {"probability_draws": 50})
    decision = log.decide("dice").decision
    assert decision.probability * 51 == pytest.approx(round(decision.probability * 51))
    assert 1 / 51 <= decision.probability <= 1.0
    again = log.store.decision(decision.id)
    assert again == decision


@pytest.mark.parametrize("draws", [0, 100_001, 2.5])
def test_a_wrong_number_of_draws_is_refused(log, draws):
    with pytest.raises(ValueError, match="probability_draws must"):
        log.create("dice", THOMPSON | {"probability_draws": draws})


def test_an_export_of_an_older_version_is_imported_without_probabilities(log):
    log.create("shop", GREEDY)
    teach(log, "shop", 4)
    lines = list(export_lines(log.store, log.store.bandits()))
    older = []
    for line in lines:
        data = json.loads(line)
        data.pop("probability", None)
        older.append(json.dumps(data))
    store = SQLiteStore(":memory:")
    import_lines(store, older)
    (row,) = store.bandits()
    assert [decision.probability for decision in store.decisions(row.id)] == [None] * 4
    wrong = [line.replace('"probability":', '"probability":-') for line in lines]
    with pytest.raises(StoreError, match=r"probability must lie in \(0, 1\]"):
        import_lines(SQLiteStore(":memory:"), wrong)
    store.close()


def forget_probabilities(path):
    import sqlite3

    connection = sqlite3.connect(path)
    connection.execute("UPDATE decisions SET probability = NULL")
    connection.commit()
    connection.close()


def test_replay_derives_the_probabilities_that_were_logged(tmp_path, capsys):
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), compiled=False)
    log.create("shop", GREEDY | {"incumbent": ARMS[0], "held_back": 0.2})
    log.create("dice", THOMPSON | {"probability_draws": 40})
    teach(log, "shop")
    teach(log, "dice")
    logged = {
        decision.id: decision.probability
        for row in log.store.bandits()
        for decision in log.store.decisions(row.id)
    }
    log.close()
    forget_probabilities(path)
    for times in range(2):
        with pytest.raises(SystemExit) as stopped:
            main(["replay", str(path), "--probabilities", "--draws", "40"])
        assert stopped.value.code == 0
        assert f"{0 if times else 12} probabilities were derived" in capsys.readouterr().out
    out = tmp_path / "log.parquet"
    with pytest.raises(SystemExit):
        main(["export", str(path), "--out", str(out)])
    table = pyarrow.parquet.read_table(out).to_pylist()
    assert {row["decision"]: row["probability"] for row in table} == logged
    assert None not in logged.values()


def test_a_replay_without_the_option_writes_nothing(log):
    log.create("shop", GREEDY)
    teach(log, "shop", 3)
    (row,) = log.store.bandits()
    assert replay(log.store, row, compiled=False).probabilities == {}


def test_decisions_and_weights_over_http():
    options = ServiceOptions(compiled=False)
    with serving(SQLiteStore(":memory:"), options) as (_, url), talking(url) as http:
        assert http.put("/v1/bandits/shop", json=GREEDY).status_code == 201
        assert http.put("/v1/bandits/dice", json=THOMPSON).status_code == 201
        weights = http.get("/v1/bandits/shop/weights").json()
        assert (weights["exact"], weights["draws"], weights["version"]) == (True, 0, 0)
        assert [row["value"] for row in weights["weights"]] == ARMS
        chances = [row["probability"] for row in weights["weights"]]
        assert sum(chances) == pytest.approx(1.0)
        decision = http.post("/v1/bandits/shop/decisions").json()
        assert decision["probability"] == pytest.approx(chances[decision["arm"]])
        drawn = http.get("/v1/bandits/dice/weights").json()
        assert (drawn["exact"], drawn["draws"]) == (False, 2_000)
        assert http.get("/v1/bandits/nobody/weights").status_code == 404


def test_what_if_over_http(monkeypatch):
    """The messages; tests/service/test_evidence_reader.py has the comparison itself."""
    row = dict.fromkeys(("earned", "low", "high", "per_decision", "gain", "beats_first"), 1.0)
    row |= {"policy": "always 0.4", "gain_low": 0.0, "gain_high": 2.0}
    found = {"n_rewards": 12, "policies": [row], "notes": ["a note"]}
    answers = [None, found]
    asked = []

    def compare(self, *arguments):
        asked.append(arguments[1:])
        return answers.pop(0)

    monkeypatch.setattr(EvidenceReader, "compare", compare)
    options = ServiceOptions(compiled=False)
    with serving(SQLiteStore(":memory:"), options) as (service, url), talking(url) as http:
        http.put("/v1/bandits/shop", json=GREEDY)
        teach(service.log, "shop")
        body = {"always": [0.4], "policies": [{"policy": "wagp"}]}
        assert http.post("/v1/bandits/shop/what-if", json=body).status_code == 202
        answer = http.post("/v1/bandits/shop/what-if", json=body)
        assert answer.json() == {"horizon": 12, **found}
        assert asked == [([0.4], [{"policy": "wagp"}], 12)] * 2
        long = http.post("/v1/bandits/shop/what-if", json=body | {"horizon": 20_001})
        assert (long.status_code, long.json()["parameter"]) == (422, "horizon")


def test_the_log_of_a_bandit_for_estimates(tmp_path):
    path = tmp_path / "log.db"
    log = Log(SQLiteStore(path), compiled=False)
    log.create("shop", GREEDY)
    log.create("dice", THOMPSON)
    log.import_rewards("shop", "before", [(ARMS[0], 0.2)])
    teach(log, "shop", 8)
    teach(log, "dice", 3)
    gone = log.decide("shop").decision
    log.reward("shop", gone.id, 0.4)
    log.retract("shop", gone.id)
    log.decide("shop")
    (row,) = [row for row in log.store.bandits() if row.name == "shop"]
    stored = list(log.store.decisions(row.id))[:9]
    log.close()
    found = gb.read_log(str(path), "shop")
    assert found.arms.tolist() == [decision.shown for decision in stored]
    assert found.rewards.tolist() == [0.2, *((n % 5) / 10 for n in range(8))]
    assert np.isnan(found.probabilities[0]).all()
    shown = found.probabilities[np.arange(1, 9), found.arms[1:]]
    assert shown == pytest.approx([decision.probability for decision in stored[1:]])
    drawn = gb.read_log(str(path), "dice", draws=20)
    assert drawn.probabilities.shape == (3,)
    with pytest.raises(gb.UnknownError, match="bandit must be one of dice, shop, got None"):
        gb.read_log(str(path))


def test_a_deterministic_policy_shows_its_arm_with_certainty(log):
    log.create("shop", WAGP)
    teach(log, "shop")
    assert log.decide("shop").decision.probability == 1.0
