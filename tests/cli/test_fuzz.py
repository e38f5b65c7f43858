"""Random arguments give an answer, a usage error, or a one-line error.

More inputs than here: GLOBALBANDITS_FUZZ=20000 pytest tests/cli/test_fuzz.py
"""

import contextlib
import io
import os
import random

import pytest

from globalbandits.cli import main
from globalbandits.cli.arguments import parse_arms, parse_domain, parse_parameters
from globalbandits.errors import ScenarioError

N_INPUTS = int(os.environ.get("GLOBALBANDITS_FUZZ", "400"))
NUMBERS = ["0", "-1", "1", "2", "0.4", "0.5", "1e-310", "1e308", "1e400", "nan", "inf", "-inf"]
NUMBERS += ["1" + "0" * 400, "1" + "0" * 5000, "0x10", "1_0", "٣", "½", "1e", "--", "", " "]
TEXTS = ["high", "[/red]", "[bold]", "\x1b[31m", "two\nlines", "\u202e", "\udcff", "$\\frac{$", "é"]
LISTS = ["0.4:0.9:0.1", "0.4:0.9", "0:1:0", "1:0:0.1", "0:1:1e-400", "0:1e400:1", "a:b:c", ":", ","]
LISTS += [
    "0.4,0.6,0.8",
    "0.4,0.4",
    "1,2,high",
    "0.4:0.9:nan",
    "0:1:1e-9",
    "::",
    "1:2:3:4",
    "sNaN:1:1",
]
MODELS = [
    "three-arms",
    "linear-power",
    "emax",
    "logit",
    "exponential",
    "dose.linear",
    "linear",
    "x",
]
PARAMETERS = ["power=2", "power=0", "power=nan", "power=1e400", "power=", "=2", "a=b", "power=1:2"]
PARAMETERS += [
    "observe=sales",
    "observe=x",
    "penalty=0.03",
    "sensitivity=1e308",
    "domain=0:1",
    "é=1",
]
OPTIONS = {
    "analyze": {
        "--model": MODELS,
        "--arms": LISTS,
        "--parameter": PARAMETERS,
        "--domain": ["0:1", "0.1:0.9", "1:0", "0:inf", "-1e308:1e308", "nan:1", *LISTS],
        "--file": ["nowhere.py", "README.md", "tests", ":", "x.py:y:z", *TEXTS],
        "--theta": NUMBERS,
        "--plot": ["x.gif", "", "tests", "/", *TEXTS],
    },
    "reproduce": {
        "--experiment": NUMBERS,
        "--runs": NUMBERS,
        "--horizon": NUMBERS,
        "--seed": NUMBERS,
    },
    "league": {
        "--scenario": ["list", "pricing", *TEXTS],
        "--policy": ["WAGP", "UCB1", *TEXTS],
        "--runs": NUMBERS,
        "--seed": NUMBERS,
    },
}


def any_words(rng):
    command = rng.choice(["analyze", "analyze", "analyze", *OPTIONS])
    words = [command]
    if command == "analyze" and rng.random() < 0.6:  # a model that may exist
        words += ["--model", rng.choice(MODELS[:5]), "--arms", rng.choice(["0.4,0.6", "1,2"])]
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        option = rng.choice(list(OPTIONS[command]))
        values = OPTIONS[command][option] if rng.random() < 0.85 else [*NUMBERS, *TEXTS, *LISTS]
        words += [option, rng.choice(values)]
    if rng.random() < 0.2:
        words.insert(rng.randrange(len(words) + 1), rng.choice(["--json", "--help", "--x", *TEXTS]))
    return words


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """No experiment and no league is played, and nothing is written but here."""

    def refuse(*arguments, **options):
        raise ScenarioError("nothing is played here")

    for name in ("run_experiment", "run_trust"):
        monkeypatch.setattr(f"globalbandits.lab.paper.{name}", refuse)
    for name in ("compile_ahead", "play_league"):
        monkeypatch.setattr(f"globalbandits.lab.league.{name}", refuse)
    monkeypatch.chdir(tmp_path)


def test_random_arguments_give_an_answer_or_one_line(quick):
    rng = random.Random(21)
    codes = {0: 0, 1: 0, 2: 0}
    for _ in range(max(N_INPUTS // 10, 100)):
        words = any_words(rng)
        out, err = io.StringIO(), io.StringIO()
        streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
        with streams[0], streams[1], pytest.raises(SystemExit) as stopped:
            main(words)
        code = stopped.value.code
        codes[code] += 1
        assert code != 1, words
        if code == 2:
            said = err.getvalue().strip("\n")  # a bar that has shown nothing leaves an end of line
            assert said.startswith("Usage: ") or said.startswith("error: "), (words, said)
            assert said.startswith("Usage: ") or "\n" not in said, (words, said)
            assert "\x1b[31m" not in said
    assert min(codes[0], codes[2]) > 5


def test_random_values_are_parsed_or_refused():
    rng = random.Random(22)
    letters = "0123456789.:,-+e=naif_ \t\n\x00éx"
    for _ in range(N_INPUTS):
        text = "".join(rng.choice(letters) for _ in range(rng.randrange(12)))
        if rng.random() < 0.5:
            text = rng.choice([*NUMBERS, *LISTS, *PARAMETERS]) + text
        for parse in (parse_arms, parse_domain, lambda text: parse_parameters([text])):
            with contextlib.suppress(ScenarioError):
                parse(text)
