"""The command as a person or a program calls it."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import globalbandits as gb
from globalbandits.cli import main
from globalbandits.cli.commands.analyze import analyze

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
    assert "Hardest parameters: Δmin falls to 0 at the edges θ = 0.360404, 0.381004" in out
    assert "At θ = 0.4: best 0.85 with mean 0.37026, δmin = 0.00034, Δmin = 0.00410226" in out


def test_answers_come_first_and_fit_eighty_columns(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    arguments = ["analyze", "--model", "exponential", "--arms", "2:8:1", "--cost", "1.5"]
    out = run(*arguments, "--theta", "0.22")[1]
    places = [out.index(text) for text in ("At θ = 0.22", "Regions", "Arms", "Hardest", "D1")]
    assert places == sorted(places)
    assert "…" not in out
    assert max(map(len, out.splitlines())) <= 80


def test_means_that_turn_have_regions_and_no_constants(run, tmp_path):
    gb.RewardModel(
        "0.5 + arm * theta * (1 - theta)", [0.5, 1.0], value="arm * mean", monotone=False
    ).save(tmp_path / "turns.json")
    code, out, err = run("analyze", "--file", str(tmp_path / "turns.json"))
    assert (code, err) == (0, "")
    assert "Regions" in out
    assert "there are no constants" in out
    facts = json.loads(run("analyze", "--file", str(tmp_path / "turns.json"), "--json")[1])
    assert (facts["monotone"], facts["constants"], facts["informativeness"]) == (False, None, None)


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


def test_a_cost_makes_profit_count(run):
    arguments = ["analyze", "--model", "exponential", "--arms", "2:8:1", "--cost", "1.5"]
    code, out, err = run(*arguments, "--theta", "0.22")
    assert (code, err) == (0, "")
    assert "a decision is worth 0 to 6.5" in out
    assert "Regions: where which arm is worth most" in out
    assert "At θ = 0.22: best 6 with mean 0.267135 and worth 1.20211, δmin = 0.0230128" in out
    facts = json.loads(run(*arguments, "--json")[1])
    model = gb.demand.exponential([float(price) for price in range(2, 9)], cost=1.5)
    assert facts["valued"]
    assert facts["worth_range"] == [0.0, 6.5]
    assert [region["low"] for region in facts["regions"]] == pytest.approx(
        [region.low for region in model.regions]
    )
    assert facts["arms"][0]["worth_at_low"] == pytest.approx(0.5)
    assert facts["arms"][0]["worth_at_high"] == pytest.approx(
        0.5 * facts["arms"][0]["mean_at_high"]
    )


def test_a_target_makes_the_distance_from_it_count(run):
    arguments = ["analyze", "--model", "logistic", "--arms", "1:6:1", "--target", "0.25"]
    facts = json.loads(run(*arguments, "--theta", "0.55", "--json")[1])
    model = gb.dose.logistic([float(dose) for dose in range(1, 7)], target=0.25)
    assert facts["at_theta"]["best"] == [3.0]
    assert facts["at_theta"]["best_mean"] == pytest.approx(model.means(0.55)[2])
    assert facts["at_theta"]["best_worth"] == pytest.approx(model.worth(0.55)[2])


def test_suspicious_settings_get_a_remark(run):
    out = run("analyze", "--model", "exponential", "--arms", "2,3", "--cost", "9")[1]
    assert "note: cost 9 is above every price: each sale loses money" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "logistic", "--cost", "3"], "a parameter of dose.logistic must be one of"),
        (
            ["--model", "exponential", "--target", "0.3"],
            "a parameter of demand.exponential must be o",
        ),
        (["--model", "exponential", "--cost", "nan"], "cost must be finite, got nan"),
        (["--model", "logistic", "--target", "1.5"], "target must lie strictly between 0 and 1"),
        (
            ["--model", "exponential", "--cost", "1", "--parameter", "cost=2"],
            "cost must be given once, got --cost and --parameter cost=",
        ),
    ],
)
def test_a_cost_or_target_that_does_not_fit_is_refused(run, words, message):
    code, out, err = run("analyze", "--arms", "1,2,3", *words)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: {message}")


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


def test_labels_cannot_steer_a_terminal_or_a_figure(run, tmp_path):
    path = tmp_path / "[" / "red].py"
    path.parent.mkdir()
    path.write_text(
        "import globalbandits as gb\n"
        "functions = [lambda t: 0.2 + 0.5 * t, lambda t: 0.7 - 0.5 * t]\n"
        r"arms = ['[/red]\x1b[31m $\\frac{$', 'two\nlines\u202e\udcff']" + "\n"
        "model = gb.RewardModel.from_functions(functions, arms=arms)\n"
    )
    picture = str(tmp_path / "out.svg")
    code, out, err = run("analyze", "--file", str(path), "--theta", "0.1", "--plot", picture)
    assert (code, err) == (0, f"figure: {picture}\n")
    assert "\x1b" not in out
    assert r"[/red]\x1b[31m $\frac{$" in out
    assert r"two\nlines\u202e\udcff" in out
    code, out, err = run("analyze", "--file", str(path), "--json")
    assert (code, err) == (0, "")
    assert json.loads(out)["arms"][0]["arm"] == "[/red]\x1b[31m $\\frac{$"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(0)", "SystemExit: 0 (line 1)"),
        ("import sys; sys.exit('bye')", "SystemExit: bye (line 1)"),
        ("raise SystemExit", "SystemExit:  (line 1)"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise RuntimeError('two\\nlines\\x1b[31m')", r"RuntimeError: two\nlines\x1b[31m"),
        ("model = (", "SyntaxError: '(' was never closed"),
    ],
)
def test_a_file_that_raises_or_exits_is_an_error(run, tmp_path, code, message):
    path = tmp_path / "own.py"
    path.write_text(code + "\n")
    code, out, err = run("analyze", "--file", str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"error: file: {path} cannot be loaded: ")
    assert message in err
    assert err.count("\n") == 1


LATE = """
import sys
import globalbandits as gb

class Mean:
    ready = False

    def __call__(self, theta, arm):
        if self.ready:
            {failure}
        return theta * arm

class Arm(float):
    def __str__(self):
        if mean.ready:
            {failure}
        return "arm"

    __format__ = __repr__ = lambda self, *spec: str(self)

mean = Mean()
model = gb.RewardModel(mean, {arms})
mean.ready = True
"""


@pytest.mark.parametrize("arms", ["[1.0, 0.5]", "[Arm(1.0), Arm(0.5)]"])
@pytest.mark.parametrize("failure", ["1 / 0", "sys.exit(0)", "raise OSError('no such table')"])
@pytest.mark.parametrize("words", [[], ["--theta", "0.3"], ["--plot", "out.svg"]], ids=str)
def test_a_model_that_fails_late(run, tmp_path, monkeypatch, arms, failure, words):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "own.py"
    path.write_text(LATE.format(failure=failure, arms=arms))
    code, out, err = run("analyze", "--file", f"{path}:model", *words)
    if code == 0:  # allowed where the model did not need the function again: all is shown
        assert arms == "[1.0, 0.5]"
        assert "2 arms" in out
        return
    assert (code, out) == (2, "")
    if "mean of arm" in err:  # the model has detected the failure of its function
        assert err.startswith("error: mean of arm ")
    else:
        assert err.startswith(f"error: {path} cannot be used: ")
        assert "(line 10)" in err or "(line 16)" in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out.svg").exists()


def test_nonfinite_numbers_are_null_in_json(run, tmp_path):
    path = tmp_path / "own.py"
    path.write_text(
        "import globalbandits as gb\n"
        "model = gb.RewardModel.from_functions([lambda t: t], arms=[float('inf')])\n"
    )
    code, out, _ = run("analyze", "--file", str(path), "--json")
    assert code == 0
    assert json.loads(out)["arms"][0]["arm"] is None


def test_long_tables_are_cut_with_a_note(run):
    code, out, _ = run("analyze", "--model", "linear-power", "--arms", "0.1:1:0.001")
    assert code == 0
    assert "882 more before the last; --json has all" in out
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
        ([], "analyze needs one of --model, --mean and --file"),
        (
            ["--model", "three-arms", "--file", "x.py"],
            "analyze needs one of --model, --mean and --file",
        ),
        (
            ["--file", "x.py", "--arms", "1,2"],
            "--arms, --parameter, --cost, --target and --domain belong to --model",
        ),
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
    gb.RewardModel("arm * theta", [0.5, 1.0]).save(tmp_path / "model.json")
    lines = [shlex.split(line) for line in analyze.__doc__.splitlines() if "globalbandits" in line]
    assert len(lines) == 10
    for _, *arguments in lines:
        assert run(*arguments)[0] == 0


def test_a_formula_and_a_model_file_agree(run, tmp_path):
    words = ["--mean", "(1 - arm*theta)**2", "--value", "(arm - 0.3)*mean", "--arms", "0.4,0.6,0.8"]
    code, out, _ = run("analyze", *words, "--json")
    assert code == 0
    shop = gb.RewardModel("(1 - arm*theta)**2", [0.4, 0.6, 0.8], value="(arm - 0.3)*mean")
    shop.save(tmp_path / "shop.json")
    code, again, _ = run("analyze", "--file", str(tmp_path / "shop.json"), "--json")
    assert code == 0
    typed, read = json.loads(out), json.loads(again)
    assert (typed.pop("model"), read.pop("model")) == (words[1], str(tmp_path / "shop.json"))
    assert typed == read
    for wrong, message in [
        (["--mean", "arm*thta", "--arms", "1,2"], "mean must use only theta and arm"),
        (["--mean", "arm*theta"], "--mean needs arms, for example --arms"),
        (["--value", "mean", "--model", "emax", "--arms", "1,2"], "--value belongs to --mean"),
        (["--file", str(tmp_path / "none.toml")], "none.toml cannot be read: No such file"),
    ]:
        code, out, err = run("analyze", *wrong)
        assert (code, out) == (2, "")
        assert message in err


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


SHOP = (
    "analyze", "--model", "exponential", "--arms", "2:8:1", "--cost", "1.5",
    "--parameter", "level=0.02:0.2", "--parameter", "slope=0.02:0.6",
)  # fmt: skip


def test_several_numbers_are_analysed(run, tmp_path):
    picture = tmp_path / "map.svg"
    code, out, _ = run(*SHOP, "--theta", "level=0.1,slope=0.3", "--plot", str(picture))
    assert code == 0
    text = " ".join(out.split())
    assert "exponential: 7 arms, level in [0.02, 0.2], slope in [0.02, 0.6], 1 arm never" in text
    assert "At level 0.1, slope 0.3: best 5 with mean 0.022313" in text
    assert "a greedy policy can stay with a wrong arm. Example:" in text
    assert picture.read_text().startswith("<?xml")


def test_several_numbers_as_json_agree_with_the_model(run):
    model = gb.demand.exponential(
        [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], cost=1.5, level=(0.02, 0.2), slope=(0.02, 0.6)
    )
    facts = json.loads(run(*SHOP, "--theta", "level=0.1,slope=0.3", "--json")[1])
    assert facts["parameters"] == ["level", "slope"]
    assert [arm["share"] for arm in facts["arms"]] == model.regions().shares.tolist()
    assert facts["traps"]["absorbing"] == model.traps().absorbing
    assert facts["identification"][0]["plays"] == model.identification().plays[0]
    at = facts["at_theta"]
    assert at["lower_bound"] == pytest.approx(model.lower_bound([0.1, 0.3]).constant)
    assert at["best"] == [5.0]


def test_a_formula_with_named_numbers(run):
    words = ["--mean", "level*exp(-slope*arm)", "--value", "(arm - 1.5)*mean", "--arms", "2:8:1"]
    code, out, _ = run("analyze", *words, "--domain", "level=0.1:0.2,slope=0.02:0.6", "--json")
    assert code == 0
    assert json.loads(out)["domain"] == {"level": [0.1, 0.2], "slope": [0.02, 0.6]}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--theta", "x"], "theta must be a number, or several such as level=0.1,slope=0.3"),
        (["--theta", "0.1"], "theta must have 2 numbers, level, slope, got 0.1"),
        (["--theta", "level=0.1"], "theta must have a number for each of level, slope"),
        (["--theta", "level=0.1,slope=3"], "theta['slope'] must lie in [0.02, 0.6], got 3.0"),
    ],
)
def test_bad_vectors_are_named(run, words, message):
    code, _, err = run(*SHOP, *words)
    assert code == 2
    assert message in err


def test_contexts_are_analysed_one_by_one(run, tmp_path):
    shop = gb.RewardModel(
        "expit(2 + context - arm*theta)",
        [1.0, 2.0, 3.0],
        (0.2, 3.0),
        contexts={"weekday": 0.0, "weekend": 1.0},
        value="arm * mean",
    )
    file = str(tmp_path / "shop.json")
    shop.save(file)
    facts = json.loads(run("analyze", "--file", file, "--json")[1])
    assert list(facts) == [f"{file}, weekday", f"{file}, weekend"]
    for name, found in zip(shop.contexts, facts.values(), strict=True):
        assert len(found["regions"]) == len(shop.in_context(name).regions)
    code, out, _ = run("analyze", "--file", file)
    assert code == 0
    assert "weekday: 3 arms" in out
    assert "weekend: 3 arms" in out
    figure = tmp_path / "weekend.png"
    assert run("analyze", "--file", file, "--context", "weekend", "--plot", str(figure))[0] == 0
    assert figure.exists()
    for words, message in (
        (["--context", "monday"], "context must be one of 'weekday', 'weekend', got 'monday'"),
        (["--plot", str(figure)], "context must be given for a figure"),
    ):
        code, _, err = run("analyze", "--file", file, *words)
        assert code == 2
        assert message in err
    code, _, err = run(*PRICING, "--context", "weekend")
    assert code == 2
    assert "context must be left out" in err
