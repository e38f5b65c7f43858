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
    said = json.loads(run("sales.csv", *columns, "--baseline", "3.0", "--json")[1])
    assert list(said.values()) == lines


def test_it_says_what_the_evidence_says(run, shop):
    out = run("sales.csv", "--arm", "price", "--reward", "sold")[1]
    rows = [line.split(",") for line in (shop / "sales.csv").read_text().splitlines()[1:]]
    evidence = gb.evidence_from_log(
        gb.load_model(shop / "model.json"),
        rewards=[float(sold) for _, sold in rows],
        arm_values=[float(price) for price, _ in rows],
    )
    assert str(evidence.interval()) in out
    assert str(evidence.contenders()) in out


def test_a_refuted_model_gives_no_advice(run, shop):
    (shop / "wrong.csv").write_text("arm,reward\n" + "2,0\n8,1\n" * 400, encoding="utf-8")
    code, out, _ = run("wrong.csv")
    assert code == 0
    assert out.startswith("The rewards refute the model")


@pytest.mark.parametrize(
    ("content", "arguments", "message"),
    [
        ("a,b\n1,2\n", (), "log must have a column 'arm', has: a, b"),
        ("arm,reward\n", (), "log must have a row for every decision"),
        ("arm,reward\n2,x\n", (), "reward must be a number, row 1 has 'x'"),
        ("arm,reward\n2,3\n", (), "reward[0] must lie in [0, 1], got 3.0"),
        ("arm,reward\n2.5,1\n", (), "arm_value must be one of the arms 2.0, 3.0"),
        ("arm,reward\n2,1\n", ("--baseline", "9"), "baseline must be one of the arms 2.0, 3.0"),
        ("arm,reward\n2,1\n", ("--file", "no.json"), "no.json"),
    ],
)
def test_what_is_wrong_is_said_in_one_line(run, shop, content, arguments, message):
    (shop / "bad.csv").write_text(content, encoding="utf-8")
    code, out, err = run("bad.csv", *arguments)
    assert (code, out) == (2, "")
    assert message in err
