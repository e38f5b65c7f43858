"""Times of recording."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from globalbandits.errors import SimulationError
from globalbandits.simulation import checkpoint_times


@given(st.integers(1, 2**40), st.integers(1, 300), st.sampled_from(["linear", "log"]))
def test_times_increase_and_end_at_the_horizon(horizon, checkpoints, spacing):
    times = checkpoint_times(horizon, checkpoints, spacing)
    assert 1 <= len(times) <= checkpoints
    assert times[-1] == horizon
    assert times[0] >= 1
    assert np.all(np.diff(times) > 0)


def test_every_step_of_a_short_run():
    assert checkpoint_times(5, 200).tolist() == [1, 2, 3, 4, 5]


def test_logarithmic_times_are_dense_at_the_start():
    times = checkpoint_times(10_000, 50, "log")
    assert times[:5].tolist() == [1, 2, 3, 4, 5]
    assert len(times) > 35


def test_given_times():
    assert checkpoint_times(100, (1, 50)).tolist() == [1, 50]
    assert checkpoint_times(100, np.array([7])).tolist() == [7]


@pytest.mark.parametrize(
    ("checkpoints", "spacing", "message"),
    [
        (0, "linear", "checkpoints must be at least 1, got 0"),
        (2.5, "linear", "checkpoints must be an integer, got 2.5"),
        ([], "linear", r"checkpoints must be increasing time steps, got \[\]"),
        ([5, 5], "linear", r"checkpoints must be increasing time steps, got \[5, 5\]"),
        ([0], "linear", "checkpoints must be at least 1, got 0"),
        ([101], "linear", "checkpoints must end by the horizon 100, got 101"),
        (10, "cubic", "spacing must be 'linear' or 'log', got 'cubic'"),
        (10, np.array(["log", "log"]), "spacing must be 'linear' or 'log', got array"),
        (10**400, "linear", "checkpoints must be at most 1000000, got 1000"),
        ([10**400], "linear", "checkpoints must be at most 9223372036854775807, got 1000"),
        ({5, 7}, "linear", "checkpoints must be a number of times or a list of time steps, got {5"),
        (b"ab", "linear", "checkpoints must be a number of times or a list .*, got b'ab'"),
        (np.array(5), "linear", r"checkpoints must be a number of times or .*, got array\(5\)"),
        ([[1], [2]], "linear", r"checkpoints must be an integer, got \[1\]"),
    ],
)
def test_wrong_times(checkpoints, spacing, message):
    with pytest.raises(SimulationError, match=message):
        checkpoint_times(100, checkpoints, spacing)


def test_the_largest_numbers_of_times_and_steps():
    times = checkpoint_times(2**40, 10**6)
    assert (len(times), times[-1]) == (10**6, 2**40)
    assert np.all(np.diff(times) > 0)
