import numpy as np
import pytest

from globalbandits.errors import ScenarioError
from globalbandits.lab.paper.experiment_spec import parse_spec
from globalbandits.lab.paper.measurements import decrease_per_decade, differences, measured
from globalbandits.lab.paper.outcome import Outcome, count_verdicts
from globalbandits.lab.paper.verdicts import Entry, Published, Verdict

SPEC = parse_spec(
    """
number = 9
title = "t"
text = "t"
horizon = 10
runs = 5
model = "pricing"
[settings]
[policies.a]
label = "A"
policy = "wagp"
[policies.b]
label = "B"
policy = "ucb1"
[published]
regret = { printed = "2.0" }
[statements]
b_minus_a = { text = "A is better" }
b_minus_a_late = { text = "A is better later" }
""",
    "test",
)


def test_a_measured_entry_has_the_mean_and_the_papers_number():
    entry = measured(SPEC, "regret", np.array([1.0, 2.0, 3.0]), label="regret")
    assert (entry.value, entry.runs) == (2.0, 3)
    assert entry.sem == pytest.approx(1 / np.sqrt(3))
    assert entry.published == Published(printed="2.0")
    assert measured(SPEC, "other", np.array([1.0, 2.0]), label="x").published is None


def test_decrease_per_decade_is_the_slope_of_least_squares():
    rng = np.random.default_rng(1)
    positions = np.array([1.0, 3.0, 10.0, 50.0])
    values = rng.normal(size=(4, 3))
    for run in range(3):
        slope = np.polyfit(np.log10(positions), values[:, run], 1)[0]
        assert decrease_per_decade(values, positions)[run] == pytest.approx(-slope)


def test_statements_are_judged_on_paired_differences():
    noise = np.random.default_rng(2).normal(0, 10, size=100)
    regrets = {"a": noise, "b": noise + 1.0 + 0.01 * np.arange(100)}
    entries = differences(SPEC, regrets, suffix="_late")
    assert list(entries) == ["b_minus_a_late"]
    entry = entries["b_minus_a_late"]
    assert entry.label == "B - A"
    assert entry.value == pytest.approx(1.495)
    assert entry.verdict is Verdict.REPRODUCED


def test_a_statement_about_an_unknown_policy_is_refused():
    message = "statements.b_minus_a must name two of a, got b and a"
    with pytest.raises(ScenarioError, match=message):
        differences(SPEC, {"a": np.zeros(3)})


def test_a_number_with_several_readings_counts_once_and_its_best_verdict():
    def entry(value, number):
        return Entry(
            label="", value=value, sem=0.0, runs=0, published=Published(printed="2"), number=number
        )

    outcome = Outcome(
        spec=SPEC,
        horizon=10,
        runs=5,
        seconds=0.0,
        entries={
            "first": entry(7.0, "one"),
            "second": entry(2.0, "one"),
            "third": entry(8.0, "one"),
            "fourth": entry(9.0, "two"),
        },
        grids=(),
        charts=(),
    )
    counted = count_verdicts([outcome])
    assert {verdict: n for verdict, n in counted.items() if n} == {
        Verdict.REPRODUCED: 1,
        Verdict.NOT_REPRODUCED: 1,
    }
