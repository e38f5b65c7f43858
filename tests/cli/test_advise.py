"""`globalbandits advise`: from a log and a model file to an answer."""

import json
import math
import random
import time
from contextlib import closing

import pytest

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.service.log import Log
from globalbandits.service.log.archive.retention import prune
from globalbandits.service.log.archive.transfer import export_lines
from globalbandits.service.stores import SQLiteStore

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    gb.demand.exponential(PRICES, cost=1.5).save(folder / "model.json")
    customers = random.Random(1)
    lines = ["price,sold"]
    for visitor in range(1_400):
        price = PRICES[visitor % 7]
        lines.append(f"{price:g},{int(customers.random() < math.exp(-0.22 * price))}")
    (folder / "sales.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


@pytest.fixture
def run(shop, capsys, monkeypatch):
    monkeypatch.chdir(shop)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(["advise", *arguments])
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return call


def test_the_answer_comes_first(run, shop):
    columns = ("--arm", "price", "--reward", "sold")
    code, out, err = run("sales.csv", *columns, "--baseline", "3", "--plot", "profit.svg")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("Take ")
    assert lines[1].startswith("theta in [")
    assert "against always 3.0 over 1,400 decisions" in lines[-1]
    assert (shop / "profit.svg").exists()
    assert "figure: profit.svg" in err


def test_json_holds_the_numbers(run, shop):
    columns = ("--arm", "price", "--reward", "sold")
    said = json.loads(run("sales.csv", *columns, "--baseline", "3.0", "--json")[1])
    evidence = logged(shop)
    span, earned = evidence.interval(), evidence.earnings(1)
    assert (said["interval"]["low"], said["interval"]["high"]) == (span.low, span.high)
    assert (said["earnings"]["baseline"], said["earnings"]["amount"]) == (3.0, earned.amount)
    assert said["arm"] in PRICES
    assert said["worth"] == evidence.model.worth(said["model"]["theta"]).max()
    assert (said["refuted"], said["changed"]) == (False, False)


def logged(shop):
    rows = [line.split(",") for line in (shop / "sales.csv").read_text().splitlines()[1:]]
    return gb.evidence_from_log(
        gb.load_model(shop / "model.json"),
        rewards=[float(sold) for _, sold in rows],
        arm_values=[float(price) for price, _ in rows],
    )


def test_the_printout_holds_the_statements_of_the_evidence(run, shop):
    out = run("sales.csv", "--arm", "price", "--reward", "sold")[1]
    evidence = logged(shop)
    assert str(evidence.interval()) in out
    assert str(evidence.contenders()) in out


def test_after_a_refutation_the_rewards_advise(run, shop):
    (shop / "wrong.csv").write_text("arm,reward\n" + "2,0\n8,1\n" * 400, encoding="utf-8")
    code, out, _ = run("wrong.csv", "--baseline", "2")
    assert code == 0
    first, *_, last = out.splitlines()
    assert first.startswith("The rewards refute the model: do not follow its curves.")
    assert "By the rewards alone, take 8.0: worth 6.5 a decision, between " in first
    assert "Not tried: 3.0, 4.0, 5.0, 6.0, 7.0." in first
    assert "8.0 is the highest arm on offer: a higher one may be better." in first
    # 400 sales at 8 earn 6.5 each, and none at 2.
    assert last.startswith("+2600 against always 2.0 by the rewards alone")
    said = json.loads(run("wrong.csv", "--json")[1])
    assert (said["arm"], said["worth"], said["refuted"]) == (8.0, 6.5, True)


@pytest.fixture(scope="module")
def service_log():
    """A bandit with a control group, a retraction, a correction, a default and a new arm."""
    log = Log(SQLiteStore(":memory:"), compiled=False)
    model = gb.demand.exponential(PRICES, cost=1.5).to_dict()
    spec = {"model": model, "policy": {"policy": "ucb1"}, "incumbent": 3.0, "held_back": 0.5}
    log.create("shop", spec)
    shown = []
    for number, reward in enumerate([1.0, 1.0, 0.0, 1.0]):
        decision = log.decide("shop", f"request-{number}").decision
        shown.append(decision.shown)
        log.reward("shop", decision.id, reward)
        if number == 1:
            log.retract("shop", decision.id)
        if number == 2:
            log.retract("shop", decision.id)
            log.reward("shop", decision.id, 1.0)
    log.change("shop", {"model": model | {"arms": [*PRICES, 9.0]}, "incumbent": 9.0})
    log.change("shop", {"mode": "shadow"})
    decision = log.decide("shop", "request-9").decision
    log.reward("shop", decision.id, 0.0)
    log.decide("shop", "request-10")
    assert decision.shown == 7
    kept = [shown[0], shown[2], shown[3], 7]
    yield log, kept, [1.0, 1.0, 1.0, 0.0]
    log.close()


def write_export(log, folder):
    lines = export_lines(log.store, log.store.bandits())
    (folder / "export.ndjson").write_text("".join(lines), encoding="utf-8")


def test_the_export_of_the_service_is_read(run, shop, service_log):
    log, arms, rewards = service_log
    write_export(log, shop)
    said = json.loads(run("export.ndjson", "--baseline", "9", "--json")[1])
    model = gb.demand.exponential([*PRICES, 9.0], cost=1.5)
    same = gb.evidence_from_log(model, arms, rewards)
    assert said["interval"]["n_observations"] == 4
    assert said["interval"]["low"] == same.interval().low
    assert said["earnings"]["model_free"]["n_baseline"] == 1
    assert said["earnings"]["model_free"]["amount"] == same.earnings(7).model_free.amount
    code, _, err = run("export.ndjson", "--file", "model.json")  # it lacks the new price
    assert code != 0
    assert "arm must be one of the arms 2.0, 3.0" in err
    assert run("export.ndjson", "--bandit", "shop")[0] == 0


def test_exports_that_cannot_be_read(run, shop, service_log, tmp_path):
    log = service_log[0]
    write_export(log, shop)

    def fails(*options):
        code, _, err = run("export.ndjson", *options)
        assert code != 0
        return " ".join(err.split())

    assert "bandit must be one of the export's, shop, got 'b'" in fails("--bandit", "b")
    whole = (shop / "export.ndjson").read_text()
    (shop / "export.ndjson").write_text(whole[: len(whole) // 2])
    assert "line " in fails()
    (shop / "export.ndjson").write_text("{}\n")
    assert "line 1: must be a JSON object with a type" in fails()
    with closing(Log(SQLiteStore(tmp_path / "other.db"), compiled=False)) as other:
        model = gb.demand.exponential(PRICES).to_dict()
        other.create("one", {"model": model, "policy": {"policy": "wagp"}})
        write_export(other, shop)
        assert "log must have a reward, got none of 'one'" in fails()
        other.create("two", {"model": model, "policy": {"policy": "wagp"}})
        write_export(other, shop)
        assert "bandit must be given for several bandits, one, two, got None" in fails()
        for number in range(3):
            decision = other.decide("one", str(number)).decision
            other.reward("one", decision.id, 0.0)
        row = next(row for row in other.store.bandits() if row.name == "one")
        prune(other.store, row, 0)  # removes nothing
        write_export(other, shop)
        assert run("export.ndjson", "--bandit", "one")[0] == 0
        prune(other.store, row, time.time_ns() // 1000 + 10**6)
        write_export(other, shop)
        assert "log must have all events, got a pruned bandit 'one'" in fails("--bandit", "one")


def test_the_figure_has_title_units_and_error_bars(shop):
    axes = logged(shop).plot_worth(title="Kiosk", arm_name="price", currency="€").axes[0]
    assert axes.get_title("left").startswith("Kiosk: best: ")
    assert "€ a decision" in axes.get_title("left")
    assert axes.get_xlabel() == "price, € (1,400 decisions, confidence 0.95)"
    assert axes.get_ylabel() == "worth of a decision, €"
    (bars,) = [one for one in axes.collections if one.get_label().startswith("interval")]
    assert len(bars.get_segments()) == 7


def test_advice_reports_that_theta_has_changed(run, shop):
    rows = "2,1\n" * 600 + "2,0\n2,1\n2,0\n" * 400  # one arm alone cannot refute the curves
    (shop / "moved.csv").write_text(f"arm,reward\n{rows}", encoding="utf-8")
    answer = run("moved.csv")[1].splitlines()[0]
    assert answer.startswith("Take ")
    assert answer.endswith("But theta has changed: repeat with the rows since then.")


def test_arms_are_read_from_the_file_as_text(run, shop):
    names = gb.RewardModel.from_functions(["theta", "1 - theta"], ["NA", "007"])
    names.save(shop / "names.json")
    (shop / "names.csv").write_text("arm,reward\nNA,1\n007,0\nNA,1\n", encoding="utf-8")
    code, out, _ = run("names.csv", "--file", "names.json", "--baseline", "007")
    assert (code, out.splitlines()[0][:8]) == (0, "Take NA:")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a,b\n1,2\n", (), "log must have a column 'arm', has: a, b"),
        ("arm,reward\n", (), "log must have a row for every decision"),
        ("arm,reward\n2,x\n", (), "reward in row 1 must be a number, got 'x'"),
        ("arm,reward\n2,3\n", (), "reward[0] must lie in [0, 1], got 3.0"),
        ("arm,reward\n2,1\n2,\n", (), "reward in row 2 must be a number, got ''"),
        ("arm,reward\n2,1\n2.5,1\n", (), "arm in row 2 must be one of the arms 2.0, 3.0"),
        ("arm,reward\n2,1\n", ("--confidence", "1.5"), "confidence must lie strictly between 0"),
        ("", (), "log must be a readable CSV file"),
        ("arm,reward\n2,1\n", ("--baseline", "9"), "baseline must be one of the arms 2.0, 3.0"),
        ("arm,reward\n2,1\n", ("--file", "no.json"), "no.json"),
    ],
)
def test_errors_are_reported_in_one_line(run, shop, content, arguments, message):
    (shop / "bad.csv").write_text(content, encoding="utf-8")
    code, out, err = run("bad.csv", *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_a_model_of_several_numbers(run, shop):
    model = gb.demand.exponential(PRICES, cost=1.5, level=(0.2, 1.0), slope=(0.02, 0.6))
    model.save(shop / "several.json")
    words = ["sales.csv", "--file", "several.json", "--arm", "price", "--reward", "sold"]
    code, out, _ = run(*words, "--baseline", "3", "--plot", "several.svg")
    assert code == 0
    lines = out.splitlines()
    assert lines[0].startswith("Take ")
    assert lines[1].startswith("level in [")
    assert "against always 3.0 over 1,400 decisions" in lines[-1]
    assert (shop / "several.svg").exists()
    facts = json.loads(run(*words, "--json")[1])
    assert facts["region"]["intervals"].keys() == {"level", "slope"}
    assert facts["model"]["theta"].keys() == {"level", "slope"}
    assert facts["changed"] is False
    assert "interval" not in facts
    best = model.best_arms(facts["model"]["theta"])[0]
    assert facts["arm"] == model.arms[best]


def test_a_model_with_contexts_is_refused(capsys, tmp_path):
    model, log = tmp_path / "shop.json", tmp_path / "log.csv"
    gb.RewardModel(
        "expit(2 + context - arm*theta)", [1.0, 2.0], (0.2, 3.0), contexts={"a": 0.0, "b": 1.0}
    ).save(model)
    log.write_text("arm,reward\n1,1\n2,0\n", encoding="utf-8")
    for words in (["advise", str(log)], ["what-if", str(log), "--always", "1"]):
        with pytest.raises(SystemExit) as stopped:
            main([*words, "--file", str(model)])
        assert stopped.value.code == 2
        assert "model must have no contexts here" in " ".join(capsys.readouterr().err.split())
