"""Every example of CONTRIBUTING.md runs as it stands."""

import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from globalbandits import extend

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")


def run_example(section):
    """The names that the example of a section defines."""
    (text,) = re.findall(rf"^## {section}(.*?)^## ", TEXT, flags=re.DOTALL | re.MULTILINE)
    (code,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    namespace = {"__name__": "tutorial"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), namespace)
    return namespace


def test_the_policy_keeps_the_contract_and_plays(capsys):
    names = run_example("Add a policy")
    assert "CuriousWAGP" in capsys.readouterr().out
    assert names["CuriousWAGP"].kind == "curious_wagp"


def test_the_noise_has_the_mean_it_is_given(capsys):
    names = run_example("Add a noise")
    assert "WAGP" in capsys.readouterr().out
    noise = extend.Noise.from_dict("uniform")
    assert isinstance(noise, names["UniformNoise"])
    for mean in (0.0, 0.2, 0.9, 1.0):
        shape = noise.rules.prepare(None, 0, mean)
        draws = [noise.rules.draw(None, 0, shape, (i + 0.5) / 100) for i in range(100)]
        assert sum(draws) / 100 == pytest.approx(mean)
        assert min(draws) >= 0.0
        assert max(draws) <= 1.0


def test_the_family_makes_models_that_can_be_saved(capsys):
    names = run_example("Add a family of models")
    assert capsys.readouterr().out == "[0.17, 0.25, 0.4]\n"
    model = names["saturating"]([0.5, 1.0], half=2.0)
    again = extend.RewardModel.from_dict(model.to_dict())
    assert again.fingerprint == model.fingerprint


def test_the_command_helps_and_runs():
    app = typer.Typer()
    app.command()(run_example("Add a command")["regions"])
    assert "globalbandits regions 0.4 0.6 0.8" in CliRunner().invoke(app, ["--help"]).output
    shown = CliRunner().invoke(app, ["0.4", "0.6", "0.8"])
    assert shown.exit_code == 0
    assert shown.output.splitlines()[0] == "0.000 to 0.714: 0.8"


def test_every_path_it_names_exists():
    source = Path(__file__).parents[1] / "src" / "globalbandits"
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+[a-z_0-9]*(?:\.[a-z]+)?)`", TEXT))
    assert len(named) > 8
    missing = [
        name
        for name in named
        if not (source / name).exists() and not (source.parents[1] / name).exists()
    ]
    assert not missing
