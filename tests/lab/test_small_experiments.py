"""A small version of all four experiments against an independent simulation.

The numbers in ``oracle_numbers.json`` come from `tests.oracles.simulation`, which shares no
line with the package.
"""

import json
import math
from pathlib import Path

import pytest

from globalbandits.errors import ScenarioError
from globalbandits.lab.paper import EXPERIMENTS, Verdict, run_experiment, runs_to_do

ORACLE = json.loads((Path(__file__).parent / "oracle_numbers.json").read_text())
RUNS = 200


@pytest.fixture(scope="module", params=list(EXPERIMENTS))
def outcome(request):
    return run_experiment(request.param, runs=RUNS, horizon=ORACLE["horizon"], seed=1)


def test_every_number_lies_in_the_oracles_interval(outcome):
    expected = ORACLE[outcome.key]
    assert expected.keys() <= outcome.entries.keys()
    for key, number in expected.items():
        # Four standard errors of the difference of two means with the oracle's deviation: over
        # all numbers together about one seed in a hundred would fall outside.
        error = number["sd"] * math.sqrt(1.0 / RUNS + 1.0 / ORACLE["runs"])
        found = outcome.entries[key].value
        assert abs(found - number["mean"]) <= 4.0 * error, (key, found, number["mean"], error)


def test_standard_errors_are_those_of_the_oracle(outcome):
    for key, number in ORACLE[outcome.key].items():
        expected = number["sd"] / math.sqrt(RUNS)
        # The tails are heavy (a few runs learn late): 200 runs give it up to a factor of two.
        assert 0.5 * expected <= outcome.entries[key].sem <= 2.0 * expected, key


def test_simulated_numbers_of_another_horizon_get_no_verdict(outcome):
    for entry in outcome.entries.values():
        if entry.runs > 0:
            assert entry.verdict is Verdict.NOT_STATED
    assert "rounds, not 2,000" in outcome.notes[0]


def test_every_entry_is_shown_somewhere(outcome):
    shown = {key for grid in outcome.grids for _, keys in grid.rows for key in keys}
    told = {key for key, entry in outcome.entries.items() if entry.statement}
    assert outcome.entries.keys() == shown | told


def test_every_claim_of_the_spec_is_judged(outcome):
    assert outcome.spec.claims.keys() <= outcome.entries.keys()


def test_every_chart_can_be_drawn(outcome):
    for chart in outcome.charts:
        figure = chart.draw()
        assert figure.axes[-1].get_xlabel()
        title = figure.axes[0].get_title("left") or figure.get_suptitle()
        assert title
        if chart.name == "settled":
            rounds = [number for line in figure.axes[0].lines for number in line.get_xdata()]
            assert all(number >= 1 and number == round(number) for number in rounds)


def test_ticks_count_every_run_once():
    ticks = []
    run_experiment(3, runs=3, horizon=20, tick=ticks.append)
    assert sum(ticks) == runs_to_do([3], 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"number": 5}, "experiment must be one of 1, 2, 3, 4, got 5"),
        ({"number": 1, "runs": 1}, "runs must be at least 2, got 1"),
        ({"number": 1, "horizon": 0}, "horizon must be at least 1, got 0"),
        ({"number": 1, "seed": -1}, "seed must be at least 0, got -1"),
    ],
)
def test_wrong_arguments_are_refused(options, message):
    with pytest.raises(ScenarioError, match=message):
        run_experiment(**options)
