"""Tables as wholes: the chi-square test against its closed form and against drawing."""

import math

import numpy as np
import pytest

from globalbandits.lab.paper import Entry, Published
from globalbandits.lab.paper.verdicts import Joint, judge_jointly


def entry(value, printed, stated=True, comparable=True):
    return Entry(
        label="",
        value=value,
        sem=0.1,
        runs=400,
        published=Published(printed=printed, stated=stated),
        comparable=comparable,
    )


def test_two_numbers_have_the_closed_form():
    joint = Joint(title="", deviations=(1.0, -2.0), assumed=False)
    assert joint.p_value == pytest.approx(math.exp(-2.5))


def test_numbers_that_pass_singly_can_be_unlikely_together():
    joint = Joint(title="UCB1", deviations=(-2.3, 2.6, 0.9), assumed=False)
    assert max(map(abs, joint.deviations)) < 3
    assert str(joint).startswith(
        "UCB1: unlikely together, chi-square 12.9 of 3 numbers, p = 0.0049"
    )


def test_tables_of_true_means_are_unlikely_as_often_as_they_should_be():
    rng = np.random.default_rng(0)
    draws = 2_000
    small = 0
    for _ in range(draws):
        # Ours: mean 10, error 0.1 of 400 runs; the paper's 100 runs have an error of 0.2.
        entries = {
            name: entry(10 + 0.1 * rng.standard_normal(), f"{10 + 0.2 * rng.standard_normal():.3f}")
            for name in "abc"
        }
        (joint,) = judge_jointly({"t": ("a", "b", "c")}, entries)
        small += joint.p_value < 0.1
    assert abs(small / draws - 0.1) < 4 * math.sqrt(0.09 / draws)


def test_assumed_runs_are_stated_and_other_horizons_left_out():
    entries = {"a": entry(1.0, "1.1", stated=False), "b": entry(1.0, "1.2")}
    (joint,) = judge_jointly({"t": ("a", "b")}, entries)
    assert "100 runs of the paper assumed" in str(joint)
    assert "compatible together" in str(joint)
    assert joint.to_dict()["runs"] == "assumed"
    entries["b"] = entry(1.0, "1.2", comparable=False)
    assert judge_jointly({"t": ("a", "b")}, entries) == ()
