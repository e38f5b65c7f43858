"""The command as a person or a program calls it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.cli.analyze import analyze

PRICING = ["analyze", "--model", "linear-power", "--arms", "0.4:0.95:0.05"]


@pytest.fixture
def run(capsys, monkeypatch):
    """Call the program; gives (exit code, standard output, standard error)."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("TERM", "dumb")
    monkeypatch.delenv("FORCE_COLOR", raising=False)

    def call(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main(list(arguments))
        captured = capsys.readouterr()
        return stopped.value.code, captured.out, captured.err

    return call


def test_the_tables_show_arms_regions_constants_and_hardest_parameters(run):
    code, out, err = run(*PRICING, "--theta", "0.4")
    assert (code, err) == (0, "")
    assert "linear-power: 12 arms, θ in [0, 1], 12 regions, 0 arms never best" in out
    assert "informativeness γ = 1" in out
    assert "11.08" in out
    assert "1.805" in out
    assert "0.360404" in out
    assert "Hardest parameters: beside an edge Δmin falls to 0, at θ = 0.360404, 0.381004" in out
    assert "At θ = 0.4: best 0.85 with mean 0.37026, δmin = 0.00034, Δmin = 0.00410226" in out


def test_json_is_for_programs(run):
    code, out, err = run(*PRICING, "--theta", "0.4", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert facts["version"] == gb.__version__
    assert facts["n_arms"] == 12
    assert [region["arms"] for region in facts["regions"]] == [
        [price] for price in (0.95, 0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45, 0.4)
    ]
    assert facts["at_theta"]["best"] == [0.85]


def test_parameters_and_domain_reach_the_model(run):
    arguments = ["--parameter", "power=3", "--domain", "0.1:0.9", "--json"]
    facts = json.loads(run(*PRICING, *arguments)[1])
    model = gb.demand.linear_power([0.4 + 0.05 * k for k in range(12)], power=3, domain=(0.1, 0.9))
    assert facts["domain"] == [0.1, 0.9]
    assert [region["high"] for region in facts["regions"]] == pytest.approx(
        [region.high for region in model.regions]
    )


def test_dominated_arms_and_one_region(run, tmp_path):
    path = tmp_path / "flat.py"
    path.write_text(
        "import globalbandits as gb\n"
        "model = gb.RewardModel(lambda theta, arm: theta * arm, [1.0, 0.5])\n"
    )
    code, out, _ = run("analyze", "--file", str(path), "--theta", "0.5")
    assert code == 0
    assert "Never best: 0.5" in out
    assert "Hardest parameters: none, the same arms are best everywhere" in out
    assert "no other arm is ever best" in out


def test_labels_are_shown_as_they_are(run, tmp_path):
    path = tmp_path / "labels.py"
    path.write_text(
        "import globalbandits as gb\n"
        "functions = [lambda t: 0.2 + 0.5 * t, lambda t: 0.7 - 0.5 * t]\n"
        "model = gb.RewardModel.from_functions(functions, arms=['[red]', ':smile:'])\n"
    )
    out = run("analyze", "--file", str(path))[1]
    assert "[red]" in out
    assert ":smile:" in out


def test_long_tables_are_cut_and_say_so(run):
    code, out, _ = run("analyze", "--model", "linear-power", "--arms", "0.1:1:0.001")
    assert code == 0
    assert "878 more before the last; --json has all" in out
    assert len(out.splitlines()) < 100


@pytest.mark.parametrize("suffix", ["svg", "png"])
def test_the_plot_is_written(run, tmp_path, suffix):
    path = tmp_path / f"out.{suffix}"
    code, _, err = run(
        "analyze", "--model", "three-arms", "--theta", "0.5", "--plot", str(path), "--json"
    )
    assert (code, err) == (0, f"figure: {path}\n")
    assert path.stat().st_size > 5_000


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "analyze needs either --model or --file"),
        (["--model", "three-arms", "--file", "x.py"], "analyze needs either --model or --file"),
        (["--file", "x.py", "--arms", "1,2"], "--arms, --parameter and --domain belong to --model"),
        (["--model", "nope", "--arms", "1"], "model must be one of three-arms"),
        (["--model", "linear-power"], "linear-power needs arms"),
        (["--model", "linear-power", "--arms", "0.4:0.9"], "arms must be first:last:step"),
        (
            ["--model", "linear-power", "--arms", "0.4,0.4"],
            "prices[1] must differ from prices[0], got 0.4",
        ),
        (["--model", "three-arms", "--theta", "2"], "theta must lie in [0, 1], got 2.0"),
        (["--model", "three-arms", "--plot", "x.gif"], "figure path must end in .svg, .png or"),
        (["--model", "three-arms", "--plot", "/dev/null/x.svg"], "/dev/null"),
    ],
)
def test_an_error_is_one_line_and_exit_code_2(run, arguments, message):
    code, _, err = run("analyze", *arguments)
    assert code == 2
    assert err.startswith("error: ")
    assert message in err
    assert err.count("\n") == 1


def test_help_shows_an_example(run):
    code, out, _ = run("analyze", "--help")
    assert code == 0
    assert "globalbandits analyze --model linear-power --arms 0.4:0.95:0.05" in out


def test_every_example_of_the_help_runs(run, tmp_path, monkeypatch):
    (tmp_path / "examples").symlink_to(Path(__file__).parents[2] / "examples")
    monkeypatch.chdir(tmp_path)
    lines = [line.split() for line in analyze.__doc__.splitlines() if "globalbandits" in line]
    assert len(lines) == 4
    for _, *arguments in lines:
        assert run(*arguments)[0] == 0


def test_the_version(run):
    assert run("--version") == (0, f"globalbandits {gb.__version__}\n", "")


def test_the_installed_program_helps_without_loading_what_is_heavy():
    code = (
        "import sys; from globalbandits.cli import main\n"
        "try: main(['analyze', '--help'])\n"
        "except SystemExit as stop: assert stop.code == 0\n"
        "heavy = {'numpy', 'numba', 'scipy', 'matplotlib', 'pandas', 'xarray'}\n"
        "print('loaded', sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "loaded []"
