"""`globalbandits advise`: from a log and a model file to an answer."""

import json
import math
import random

import pytest

import globalbandits as gb
from globalbandits.cli import main

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


def test_a_program_gets_numbers(run, shop):
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


def test_it_says_what_the_evidence_says(run, shop):
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
    assert "By the rewards alone, take 8.0: worth 6.5 a decision." in first
    assert "Not tried: 3.0, 4.0, 5.0, 6.0, 7.0." in first
    assert "8.0 is the highest arm on offer: a higher one may be better." in first
    # 400 sales at 8 earn 6.5 each, and none at 2.
    assert last.startswith("+2600 against always 2.0 by the rewards alone")
    said = json.loads(run("wrong.csv", "--json")[1])
    assert (said["arm"], said["worth"], said["refuted"]) == (8.0, 6.5, True)


EXPORT = [
    {"type": "log", "format": "globalbandits.log", "version": 1, "library": "0"},
    {"type": "bandit", "id": 7, "tenant": "t", "name": "shop", "seed": 1, "version": 4, "at": 0},
    {"type": "event", "bandit": 7, "seq": 1, "kind": "reward", "decision": "a", "arm": 1,
     "value": 1.0, "at": 0},
    {"type": "event", "bandit": 7, "seq": 2, "kind": "reward", "decision": "b", "arm": 2,
     "value": 1.0, "at": 0},
    {"type": "event", "bandit": 7, "seq": 3, "kind": "default", "decision": "c", "arm": 6,
     "value": 0.0, "at": 0},
    {"type": "event", "bandit": 7, "seq": 4, "kind": "retraction", "decision": "b", "arm": 2,
     "value": 1.0, "at": 0},
]  # fmt: skip


def write_export(folder, rows):
    spec = (folder / "model.json").read_text()
    lines = [json.dumps(row | {"spec": spec} if row["type"] == "bandit" else row) for row in rows]
    (folder / "export.ndjson").write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_the_export_of_the_service_is_read(run, shop):
    write_export(shop, EXPORT)
    said = json.loads(run("export.ndjson", "--baseline", "3", "--json")[1])
    same = gb.evidence_from_log(gb.load_model(shop / "model.json"), [1, 6], [1.0, 0.0])
    assert said["interval"]["n_observations"] == 2
    assert said["interval"]["low"] == same.interval().low
    assert said["earnings"]["model_free"]["n_baseline"] == 1
    assert run("export.ndjson", "--file", "model.json")[0] == 0


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([*EXPORT, EXPORT[1] | {"id": 8, "name": "two"}], (), "bandit must be given for several"),
        (EXPORT, ("--bandit", "b"), "bandit must be one of the export's, shop, got 'b'"),
        (EXPORT[:2], (), "log must have a reward, got none of 'shop'"),
        ([*EXPORT, {"type": "base", "bandit": 7}], (), "got a pruned bandit 'shop'"),
    ],
)
def test_exports_that_cannot_be_read(run, shop, rows, options, message):
    write_export(shop, rows)
    code, _, err = run("export.ndjson", *options)
    assert code != 0
    assert message in " ".join(err.split())


def test_the_figure_has_title_units_and_error_bars(shop):
    axes = logged(shop).plot_worth(title="Kiosk", arm_name="price", currency="€").axes[0]
    assert axes.get_title("left").startswith("Kiosk: best: ")
    assert "€ a decision" in axes.get_title("left")
    assert axes.get_xlabel() == "price, € (1,400 decisions, confidence 0.95)"
    assert axes.get_ylabel() == "worth of a decision, €"
    (bars,) = [one for one in axes.collections if one.get_label().startswith("interval")]
    assert len(bars.get_segments()) == 7


def test_advice_says_that_theta_has_changed(run, shop):
    rows = "2,1\n" * 600 + "2,0\n2,1\n2,0\n" * 400  # one arm alone cannot refute the curves
    (shop / "moved.csv").write_text(f"arm,reward\n{rows}", encoding="utf-8")
    answer = run("moved.csv")[1].splitlines()[0]
    assert answer.startswith("Take ")
    assert answer.endswith("But theta has changed: repeat with the rows since then.")


def test_arms_are_what_the_file_says_letter_by_letter(run, shop):
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
def test_what_is_wrong_is_said_in_one_line(run, shop, content, arguments, message):
    (shop / "bad.csv").write_text(content, encoding="utf-8")
    code, out, err = run("bad.csv", *arguments)
    assert (code, out) == (2, "")
    assert message in err
