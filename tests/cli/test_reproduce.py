import json
import webbrowser

import pytest
from typer.testing import CliRunner

from globalbandits.cli.program import app, main
from globalbandits.lab.paper import run_experiment

SMALL = ["reproduce", "--experiment", "2", "--runs", "4", "--horizon", "30", "--seed", "5"]


def test_it_writes_page_figures_and_numbers(tmp_path):
    out = tmp_path / "deep" / "results"
    result = CliRunner().invoke(app, [*SMALL, "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert "Experiment 2" in result.output
    content = json.loads((out / "results.json").read_text())
    assert set(content) == {"about", "experiment_2"}
    words = "globalbandits reproduce --experiment 2 --runs 4 --horizon 30 --seed 5"
    assert content["about"]["command"] == words
    assert content["experiment_2"]["regret_0.5"]["runs"] == 4
    assert content["experiment_2"]["regret_0.5"]["paper"] == 2.47
    assert "Experiment 2" in (out / "report.html").read_text()
    assert len(list((out / "figures").glob("*.svg"))) == 3
    # The same seed gives the same numbers.
    again = run_experiment(2, runs=4, horizon=30, seed=5)
    assert content["experiment_2"] == {
        key: json.loads(json.dumps(entry.to_dict())) for key, entry in again.entries.items()
    }


def test_trust_is_run_on_request(tmp_path, monkeypatch, blank_figures):
    opened = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    words = [*SMALL, "--trust", "--out", str(tmp_path), "--open"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert opened == [(tmp_path / "report.html").resolve().as_uri()]
    assert "Can you trust it?" in result.output
    content = json.loads((tmp_path / "results.json").read_text())
    assert set(content) == {"about", "experiment_2", "trust"}
    assert content["about"]["command"].endswith("--horizon 30 --trust --seed 5")
    assert content["trust"]["coverage_10"]["runs"] == 4
    assert content["trust"]["alarm_ucb1_0_30"]["verdict"] == "not stated in the paper"
    page = (tmp_path / "report.html").read_text()
    assert '<a href="#trust">Can you trust it?</a>' in page


@pytest.mark.parametrize(("word", "asked"), [([], True), (["--no-trust"], False)])
def test_trust_comes_with_all_experiments(tmp_path, monkeypatch, blank_figures, word, asked):
    ran = []
    nothing = run_experiment(2, runs=2, horizon=5)
    for name in ("run_experiment", "run_trust"):
        monkeypatch.setattr(
            f"globalbandits.lab.paper.{name}",
            lambda *numbers, name=name, **options: ran.append((name, *numbers)) or nothing,
        )
    result = CliRunner().invoke(app, ["reproduce", *word, "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    experiments = [("run_experiment", number) for number in (1, 2, 3, 4)]
    assert ran == experiments + [("run_trust",)] * asked


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--experiment", "7"], "experiment must be one of 1, 2, 3, 4, got 7"),
        (["--runs", "1"], "runs must be at least 2, got 1"),
        (["--horizon", "0"], "horizon must be at least 1, got 0"),
    ],
)
def test_a_wrong_argument_is_one_line(tmp_path, capsys, words, message):
    with pytest.raises(SystemExit) as stop:
        main(["reproduce", *words, "--out", str(tmp_path)])
    assert stop.value.code == 2
    assert f"error: {message}" in capsys.readouterr().err


def test_help_shows_an_example():
    result = CliRunner().invoke(app, ["reproduce", "--help"])
    assert "globalbandits reproduce --experiment 1 --runs 200 --open" in " ".join(
        result.output.split()
    )
