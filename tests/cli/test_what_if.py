"""`globalbandits what-if`: from a log to a table of what policies would earn."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.cli.program import main
from globalbandits.service.log import Log
from globalbandits.service.stores import SQLiteStore

SPEC = {
    "model": {"family": "demand.exponential", "arms": [4.0, 5.0, 6.0], "cost": 1.5},
    "policy": {"policy": "epsilon_greedy", "epsilon": 0.5},
    "seed": 3,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A service's log, and the same decisions as a CSV file with a model file."""
    folder = tmp_path_factory.mktemp("what-if")
    rng = np.random.default_rng(0)
    log = Log(SQLiteStore(folder / "shop.db"), compiled=False)
    log.create("shop", SPEC)
    lines = ["price,sold"]
    for _ in range(240):
        decision = log.decide("shop").decision
        sold = float(rng.random() < np.exp(-0.2 * (4 + decision.shown)))
        log.reward("shop", decision.id, sold)
        lines.append(f"{4 + decision.shown},{sold:g}")
    log.close()
    (folder / "sales.csv").write_text("\n".join(lines))
    gb.demand.exponential([4.0, 5.0, 6.0], cost=1.5).save(folder / "model.json")
    return folder


@pytest.fixture
def run(folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["what-if", *map(str, arguments)])
        written = capsys.readouterr()
        return stopped.value.code, written.out, written.err

    return call


def test_a_log_of_the_service_as_a_table_and_a_picture(run, folder):
    code, out, _ = run("shop.db", "--always", 4, "--always", 6, "--markets", 60, "--plot", "e.svg")
    assert code == 0
    assert "Earnings of 240 decisions in 60 markets that 240 rewards allow" in out
    assert "always 6" in out
    assert "does not refute the curves" in out
    assert "always 4 without curves" in out
    assert (folder / "e.svg").stat().st_size > 1_000


def test_a_csv_file_has_the_same_answer(run):
    options = ("--always", 4, "--policy", "uniform", "--markets", 60, "--json")
    _, out, _ = run("sales.csv", "--arm", "price", "--reward", "sold", *options)
    from_csv = json.loads(out)
    _, out, _ = run("shop.db", *options, "--bandit", "shop")
    from_log = json.loads(out)
    assert from_csv["policies"] == from_log["policies"]
    assert [row["policy"] for row in from_csv["policies"]] == ["always 4", "uniform"]
    assert from_csv["model_free"] == {}
    assert set(from_log["model_free"]) == {"always 4", "uniform"}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["shop.db"], "policy must be given at least once"),
        (["shop.db", "--always", "9"], "always must"),
        (["shop.db", "--policy", "wagb"], "wagb"),
        (["shop.db", "--policy", "epsilon_greedy:epsilon"], "parameter must be key=value"),
        (["shop.db", "--bandit", "x", "--always", "4"], "bandit must be one of shop, got 'x'"),
        (["none.db", "--always", "4"], "none.db"),
        (["shop.db", "--always", "4", "--markets", "5"], "markets must be at least 39"),
    ],
)
def test_wrong_arguments_are_one_line(run, arguments, words):
    code, _, err = run(*arguments)
    assert code == 2
    assert words in err
    assert err.count("\n") == 1
