import math

import pytest

from globalbandits.errors import ScenarioError
from globalbandits.lab.paper.verdicts import (
    Entry,
    Published,
    Verdict,
    deviation,
    judge_number,
    judge_statement,
    tolerance,
)


@pytest.mark.parametrize(
    ("printed", "half_unit"), [("81.7", 0.05), ("0.3", 0.05), ("291.40", 0.005), ("100", 0.5)]
)
def test_rounding_is_read_off_the_printed_digits(printed, half_unit):
    assert Published(printed=printed).half_unit == pytest.approx(half_unit)


@pytest.mark.parametrize("printed", ["", "about 5", "nan", "inf"])
def test_a_published_number_is_a_finite_number_as_text(printed):
    with pytest.raises(ScenarioError, match="printed must be the text of a number, got"):
        Published(printed=printed)


def test_tolerance_is_three_combined_standard_errors_and_the_rounding():
    sem, runs = 0.04, 1_000
    deviation = sem * math.sqrt(runs)
    expected = 3 * math.sqrt(sem**2 + deviation**2 / 100) + 0.005
    assert tolerance(Published(printed="1.58"), sem, runs) == pytest.approx(expected)


def test_a_number_is_reproduced_up_to_its_tolerance_and_no_further():
    published = Published(printed="10.00")
    edge = tolerance(published, 0.1, 400)
    assert judge_number(10.0 + 0.999 * edge, 0.1, 400, published) is Verdict.REPRODUCED
    assert judge_number(10.0 - 1.001 * edge, 0.1, 400, published) is Verdict.NOT_REPRODUCED
    assert judge_number(10.0, 0.1, 400, None) is Verdict.NOT_STATED


def test_assumed_runs_may_be_as_few_as_one():
    sem, runs = 0.03, 1_000  # a standard deviation of 0.95 over runs
    stated = Published(printed="2.02")
    assumed = Published(printed="2.02", stated=False)
    assert judge_number(0.8, sem, runs, stated) is Verdict.NOT_REPRODUCED
    assert judge_number(0.8, sem, runs, assumed) is Verdict.TOO_NOISY
    assert judge_number(5.5, sem, runs, assumed) is Verdict.NOT_REPRODUCED
    precise = Published(printed="200", stated=False)
    assert judge_number(200.1, sem, runs, precise) is Verdict.REPRODUCED
    # Out of reach of 100 runs, within that of one: the assumption would decide.
    assert judge_number(202.0, sem, runs, precise) is Verdict.TOO_NOISY


def test_a_tolerance_of_more_than_half_the_number_is_too_noisy():
    published = Published(printed="10.0")
    narrow, wide = 0.47, 0.53  # times 3 * sqrt(11) is 4.7 and 5.3
    assert judge_number(10.0, narrow, 1_000, published) is Verdict.REPRODUCED
    assert judge_number(10.0, wide, 1_000, published) is Verdict.TOO_NOISY
    assert judge_number(30.0, wide, 1_000, published) is Verdict.NOT_REPRODUCED


def test_a_deviation_counts_both_errors_and_the_rounding():
    expected = -1.55 / math.sqrt(0.2**2 * 11 + 0.005**2 / 3)
    published = Published(printed="164.85")
    assert deviation(166.4, 0.2, 1_000, published) == pytest.approx(expected)


def test_an_exact_number_must_agree_after_rounding():
    assert judge_number(0.0152, 0.0, 0, Published(printed="0.02")) is Verdict.REPRODUCED
    assert judge_number(0.015, 0.0, 0, Published(printed="0.02")) is Verdict.REPRODUCED
    assert judge_number(0.0149, 0.0, 0, Published(printed="0.02")) is Verdict.NOT_REPRODUCED


def test_a_statement_needs_the_whole_interval_above_zero():
    assert judge_statement(1.0, 0.5) is Verdict.REPRODUCED
    assert judge_statement(1.0, 0.52) is Verdict.NOT_REPRODUCED
    assert judge_statement(-1.0, 0.1) is Verdict.NOT_REPRODUCED


def test_an_entry_shows_its_interval_verdict_and_reason():
    entry = Entry(
        label="regret",
        value=2.0,
        sem=0.1,
        runs=100,
        published=Published(printed="5"),
        why="because",
    )
    content = entry.to_dict()
    assert content["paper"] == 5.0
    assert (content["paper_runs"], content["paper_runs_are"]) == (100, "stated")
    assert content["verdict"] == "not reproduced"
    assert content["why"] == "because"
    assert content["high"] - content["low"] == pytest.approx(2 * 1.96 * 0.1, rel=1e-3)
    agreeing = Entry(
        label="regret",
        value=5.1,
        sem=0.1,
        runs=100,
        published=Published(printed="5"),
        why="because",
    )
    assert "why" not in agreeing.to_dict()
    assert "paper" not in Entry(label="regret", value=2.0, sem=0.1, runs=100).to_dict()
