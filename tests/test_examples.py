"""Every example runs as a script and prints the documented output."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs_and_prints(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out


def test_the_three_arms_of_the_paper(capsys):
    path = next(path for path in EXAMPLES if path.stem == "three_arms")
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out.splitlines() == [
        " 1 - √θ is best from 0.000000 to 0.430164",
        "  0.8 θ is best from 0.430164 to 0.800000",
        "     θ² is best from 0.800000 to 1.000000",
        "at 0.5: gap 0.1071, distance 0.0698",
    ]
