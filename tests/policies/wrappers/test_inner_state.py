"""A policy's state inside another one's: what is recomputed, and what is used as saved."""

from typing import NamedTuple

import numpy as np
import pytest

from globalbandits.policies.base import Rules
from globalbandits.policies.wrappers.inner_policy import resume_inside
from globalbandits.statistics import count, no_statistics


class Sums(NamedTuple):
    running: np.ndarray  # gathers rounding, so it is kept
    mean: np.ndarray


def init(setup):
    return Sums(np.zeros(1), np.zeros(1))


def rebuild(setup, stats, state):
    state.running[0] = stats.sums.sum()
    state.mean[0] = stats.sums.sum() / max(1, stats.total[0])


def unused(*arguments):
    raise AssertionError("not called on resuming")


RULES = Rules(init, unused, unused, unused, rebuild, kept=("running",))


@pytest.fixture
def stats():
    counted = no_statistics(2)
    count(counted, 0, 0.25)
    count(counted, 1, 0.75)
    return counted


def test_only_kept_fields_are_used_as_saved(stats):
    state = Sums(np.array([1.0 + 1e-10]), np.array([77.0]))
    assert resume_inside(RULES, None, stats, state)
    assert state.running[0] == 1.0 + 1e-10
    assert state.mean[0] == 0.5


@pytest.mark.parametrize("running", [1.001, np.nan])
def test_kept_fields_must_agree_with_the_statistics(stats, running):
    assert not resume_inside(RULES, None, stats, Sums(np.array([running]), np.zeros(1)))


def test_a_policy_judges_its_own_kept_fields(stats):
    def resume(setup, stats, state):
        return bool(state.running[0] < 2.0)

    rules = RULES._replace(resume=resume)
    assert resume_inside(rules, None, stats, Sums(np.array([1.5]), np.zeros(1)))
    assert not resume_inside(rules, None, stats, Sums(np.array([2.5]), np.zeros(1)))


def test_where_the_order_of_rewards_matters_everything_is_used_as_saved(stats):
    state = Sums(np.array([3.0]), np.array([4.0]))
    rules = RULES._replace(rebuild=None)
    assert resume_inside(rules, None, stats, state)
    assert (state.running[0], state.mean[0]) == (3.0, 4.0)
    assert not resume_inside(rules._replace(resume=lambda *_: False), None, stats, state)
