"""`simulate`, `spec`, `show` and `compare`: what they print, and their exit codes."""

import json
import tomllib

import pytest

from globalbandits.cli import main
from globalbandits.simulation.play.arena import Arena
from globalbandits.simulation.sweeps.examples import NAMES

SPEC = """
horizon = 30
runs = 4
checkpoints = 3
environment = {theta = 0.4}
model = {mean = "arm * (1 - arm*theta)**2", arms = [0.4, 0.6, 0.8]}
policies = {even = "uniform"}
[sweep]
environment.theta = [0.2, 0.4]
"""


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    """Call the program in a folder with a spec; gives (exit code, output, errors)."""
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return call


def test_from_a_spec_to_a_table_a_comparison_and_files(run, tmp_path):
    code, out, _ = run("simulate", "spec.toml", "--out", "a")
    assert code == 0
    assert out.startswith("finished: 2 of 2 tasks are finished")
    code, again, _ = run("show", "a")
    assert (code, again) == (0, out)
    lines = out.splitlines()
    assert lines[2].split() == ["theta", "policy", "regret", "±", "95", "%", "runs"]
    assert [line.split()[0] for line in lines[4:6]] == ["0.2", "0.4"]
    code, out, err = run("simulate", "spec.toml", "--out", "a", "--quiet")
    assert (code, out, err) == (0, "", "")
    code, out, _ = run("show", "a", "--json", "--csv", "rows.csv", "--parquet", "rows.parquet")
    shown = json.loads(out)
    assert (shown["tasks"], shown["missing"], len(shown["summary"])) == (2, [], 2)
    assert (tmp_path / "rows.csv").read_text().splitlines()[0] == "theta,policy,run,regret"
    assert (tmp_path / "rows.parquet").stat().st_size > 0
    (tmp_path / "other.toml").write_text(SPEC.replace("uniform", "explore_then_commit"))
    assert run("simulate", "other.toml", "--out", "b", "--quiet")[0] == 0
    code, out, _ = run("compare", "a", "b")
    assert code == 0
    assert "difference ± 95 %" in out
    code, out, _ = run("compare", "a", "b", "--json", "--policies", "even,even")
    rows = json.loads(out)
    assert [row["theta"] for row in rows] == [0.2, 0.4]
    assert rows[0]["difference_mean"] == pytest.approx(
        rows[0]["second_mean"] - rows[0]["first_mean"]
    )


def test_a_folder_of_another_spec_and_force(run, tmp_path):
    assert run("simulate", "spec.toml", "--out", "a", "--quiet")[0] == 0
    (tmp_path / "spec.toml").write_text(SPEC.replace("runs = 4", "runs = 3"))
    code, _, err = run("simulate", "spec.toml", "--out", "a", "--quiet")
    assert code == 2
    assert "a holds results of another spec: runs was 4, is 3; choose another folder, or" in err
    assert run("simulate", "spec.toml", "--out", "a", "--quiet", "--force")[0] == 0


def test_errors_are_one_line_and_exit_code_2(run, tmp_path):
    for words, message in [
        (["simulate", "none.toml", "--out", "a"], "none.toml cannot be read: No such file"),
        (["simulate", "spec.toml", "--out", "a", "--executor", "proceses"], "mean 'processes'?"),
        (["simulate", "spec.toml", "--out", "a", "--workers", "0"], "must be at least 1, got 0"),
        (["show", "nowhere"], "nowhere must be the folder of a sweep"),
        (["compare", "nowhere", "nowhere"], "nowhere must be the folder of a sweep"),
        (["spec"], "spec needs one of --example, --schema and --check"),
        (["spec", "--example", "pricng"], "did you mean 'pricing'?"),
    ]:  # fmt: skip
        code, out, err = run(*words)
        assert (code, out) == (2, "")
        assert message in err
        (line,) = err.strip().splitlines()
        assert line.startswith("error: ")
    (tmp_path / "spec.toml").write_text(SPEC.replace("horizon", "horizn"))
    code, _, err = run("simulate", "spec.toml", "--out", "new", "--quiet")
    assert code == 2
    assert "error: spec.toml: a key of the spec must be one of" in err
    assert not (tmp_path / "new").exists()


def test_failed_tasks_and_interrupts_have_codes_of_their_own(run, monkeypatch):
    def broken(*arguments):
        raise ZeroDivisionError("on purpose")

    monkeypatch.setattr(Arena, "play", broken)
    code, out, err = run("simulate", "spec.toml", "--out", "a", "--json")
    assert code == 3
    assert "2 of 2 tasks failed; the first at {'theta': 0.2}: ZeroDivisionError: on purpose" in err
    events = [json.loads(line) for line in out.splitlines()]
    assert [event["event"] for event in events] == ["start", "failed", "failed", "end"]

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Arena, "play", interrupted)
    code, _, err = run("simulate", "spec.toml", "--out", "a", "--quiet")
    assert code == 130
    said = "interrupted; what is finished is kept, and the same command continues from there"
    assert err == f"error: {said}\n"
    code, out, _ = run("show", "a")
    assert (code, out) == (
        0, "stopped: 0 of 2 tasks are finished; the same command continues\n"
    )  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_printed_and_pass_the_check(run, tmp_path, name):
    code, out, _ = run("spec", "--example", name)
    assert code == 0
    tomllib.loads(out)
    (tmp_path / "example.toml").write_text(out)
    code, said, _ = run("spec", "--check", "example.toml")
    assert code == 0
    assert " tasks, " in said


def test_the_schema_is_json(run):
    code, out, _ = run("spec", "--schema")
    assert code == 0
    assert json.loads(out)["title"] == "An experiment of globalbandits"
