"""``globalbandits fit``: the printout, the files, and commands that use them."""

import csv
import json
import warnings

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.cli.program import main
from globalbandits.fitting.assessment import forecast, held_out_scores
from globalbandits.fitting.assessment.forecast import candidate_policies

NAMES = ("Elastic(history)", "IndependentGittins", "WAGP")


def run(arguments):
    with pytest.raises(SystemExit) as stop:
        main([str(argument) for argument in arguments])
    return stop.value.code


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """Two folds, three candidates: the documents' examples have all of them."""
    monkeypatch.setattr(held_out_scores, "N_FOLDS", 2)
    monkeypatch.setattr(
        forecast,
        "candidate_policies",
        lambda *which: {n: p for n, p in candidate_policies(*which).items() if n in NAMES},
    )


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    path = tmp_path_factory.mktemp("fit") / "history.csv"
    rows = gb.histories.exponential_demand(groups=12, rewards=70, seed=3, rho=0.02)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["store", "price", "sold"])
        for store, price, sold in zip(*rows.values(), strict=True):
            writer.writerow([f"shop {store}", price, int(sold)])
    return path


COLUMNS = ["--group", "store", "--arm", "price", "--reward", "sold"]


def test_printout_model_page_and_figure_in_one_call(history, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    files = [tmp_path / name for name in ("model.json", "fit.html", "fit.svg")]
    options = ["--cost", "1", "--horizon", "40", "--runs", "10"]
    outputs = ["--out", files[0], "--page", files[1], "--plot", files[2]]
    assert run(["fit", history, *COLUMNS, *options, *outputs]) == 0
    shown = capsys.readouterr()
    assert max(map(len, shown.out.splitlines())) <= 80
    for text in ("12 groups, 7 arms, 840 rewards (0 or 1)", "Verdict", "Lost in a new group",
                 "History is observational"):  # fmt: skip
        assert text in " ".join(shown.out.split())
    written = [line.split(":")[0] for line in shown.err.splitlines()]
    assert written == ["model", "policy", "page", "figure"]
    assert "<svg" in files[2].read_text()
    assert "What is lost in a new group" in files[1].read_text()

    rows = list(csv.DictReader(history.read_text().splitlines()))
    frame = {
        "store": [row["store"] for row in rows],
        "price": [float(row["price"]) for row in rows],
        "sold": [float(row["sold"]) for row in rows],
    }
    same = gb.fit(frame, group="store", arm="price", reward="sold", cost=1.0, verdict=False)
    model = gb.load_model(files[0])
    np.testing.assert_allclose(model.worth(0.4), same.model.worth(0.4), atol=1e-9)

    assert run(["analyze", "--file", files[0]]) == 0
    assert "7 arms" in capsys.readouterr().out


def test_json_holds_the_policy_and_the_numbers(history, capsys):
    assert run(["fit", history, *COLUMNS, "--horizon", "30", "--runs", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    policy = gb.Policy.from_dict(found["policy"])
    assert policy.kind in ("elastic", "independent_gittins", "fixed_arm")
    assert found["n_groups"] == 12
    assert set(found["new_group"]["regret"]) >= set(NAMES)
    assert found["new_group"]["rounds"][-1] == 30
    assert len(found["groups"]) == 12
    assert found["groups"][0]["group"] == "shop 0"
    assert [row["arm"] for row in found["arms"]] == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def test_quick_leaves_the_simulation_out(history, capsys, tmp_path):
    figure = tmp_path / "fit.png"
    options = ["--quick", "--arms", "2,4.5,8", "--value", "(arm - 1) * mean", "--plot", figure]
    assert run(["fit", history, *COLUMNS, *options, "--exclude", "shop 3"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("11 groups, 3 arms")
    assert "Lost in a new group" not in out
    assert figure.stat().st_size > 10_000


def test_groups_and_arms_are_named_as_in_the_file(tmp_path, capsys):
    """A code with zeros is a text, and so is a number among texts."""
    rows = gb.histories.exponential_demand(groups=12, rewards=70, seed=3, rho=0.02)
    stores = [f"{store:02d}" if store < 9 else f"A{store}" for store in range(12)]
    path = tmp_path / "codes.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["store", "price", "sold"])
        for store, price, sold in zip(*rows.values(), strict=True):
            writer.writerow([stores[store], f"{price:02.0f}", int(sold)])
    options = ["--quick", "--exclude", "07", "--exclude", "A9", "--arms", "02, 05,08"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert run(["fit", path, *COLUMNS, *options]) == 0
    out = capsys.readouterr().out
    assert out.startswith("10 groups, 3 arms")
    assert "10 groups: arms without an order need about 20" in " ".join(out.split())
    assert "'05': info" in out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--range", "0"], "range must be low:high, got '0'"),
        (["--out", "model.toml"], "model path must end in .json, got 'model.toml'"),
        (["--page", "fit.pdf"], "page path must end in .html, got 'fit.pdf'"),
        (["--plot", "fit.gif"], "figure path must end in .svg, .png or .pdf, got 'fit.gif'"),
        (["--cost", "5"], "value of arm 5.0 must not be 0"),
        (["--cost", "1", "--value", "mean"], "value must be left out where cost is given"),
        (["--value", "mean * cost"], "value must use only mean and arm"),
        (["--horizon", "0"], "horizon must be at least 1, got 0"),
        (["--exclude", "shop 99"], "exclude must name groups of the history, got 'shop 99'"),
        (["--reward", "slod"], "history must have a column 'slod', has: store, price, sold"),
    ],
)
def test_errors_are_reported_in_one_line(history, options, message, capsys, monkeypatch):
    assert run(["fit", history, *COLUMNS, *options]) == 2
    shown = capsys.readouterr()
    assert message in shown.err
    assert len(shown.err.splitlines()) == 1
    assert shown.out == ""


def test_help_shows_an_example(capsys):
    assert run(["fit", "--help"]) == 0
    assert "globalbandits fit history.csv --group store" in " ".join(
        capsys.readouterr().out.split()
    )
