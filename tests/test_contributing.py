"""The policy of CONTRIBUTING.md is run as it stands."""

import re
from pathlib import Path

TEXT = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text("utf-8")


def test_the_tutorial_policy_keeps_the_contract_and_plays(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    namespace = {"__name__": "tutorial"}
    exec(compile(code, "CONTRIBUTING.md", "exec"), namespace)
    printed = capsys.readouterr().out
    assert "CuriousWAGP" in printed
    assert namespace["CuriousWAGP"].kind == "curious_wagp"


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
