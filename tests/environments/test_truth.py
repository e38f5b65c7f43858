"""Invalid truths and populations: each raises an error that names the value."""

import itertools

import pytest

import globalbandits as gb

MODEL = gb.dose.logistic([1.0, 2.0, 4.0], target=0.25)
COUNTER = itertools.count()


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({}, "theta must be given where there is no truth, got None"),
        ({"truth": [0.1, 0.2]}, r"truth must be 3 means, one per arm, got \[0.1, 0.2\]"),
        ({"truth": [0.1, 0.2, 1.5]}, r"have means in the reward range \[0, 1\], got 1.5"),
        ({"truth": [0.1, 0.2, float("nan")]}, "truth must be .*nan"),
        ({"truth": "high"}, "truth must be .*'high'"),
        (
            {"truth": gb.dose.emax([1.0, 2.0]), "truth_theta": 3.0},
            r"truth must have the arms \(1.0, 2.0, 4.0\), got \(1.0, 2.0\)",
        ),
        (
            {"truth": gb.dose.emax([1.0, 2.0, 4.0])},
            "truth_theta must be given with a truth that is a model, got None",
        ),
        (
            {"truth": gb.dose.emax([1.0, 2.0, 4.0]), "truth_theta": -1},
            "truth_theta must lie in the truth's domain .* got -1",
        ),
        ({"theta": 0.4, "truth_theta": 0.4}, "truth_theta must come with a truth, got 0.4"),
        (
            {"truth": [0.1, 0.2, 0.3], "truth_theta": 0.4},
            "truth_theta must be None with a truth that is not a model, got 0.4",
        ),
        (
            {"theta": 0.4, "truth": [0.1, 0.2, 0.3], "drift": gb.RandomWalk(drift_time=100)},
            "drift must be None with a truth; a truth that moves is a function",
        ),
        (
            {"theta": gb.Population(), "truth": [0.1, 0.2, 0.3]},
            "theta must be one number, or None, with a truth, got Population",
        ),
        ({"truth": lambda time, arm: 2.0}, r"have means in the reward range \[0, 1\], got 2.0"),
        ({"truth": lambda time, arm: None}, "truth must be a finite number, got None|truth must"),
        (
            {"truth": lambda time, arm: (next(COUNTER) % 97) / 97},
            "truth must be the same at every call",
        ),
        (
            {"truth": lambda time, arm: 0.5, "bias": gb.UniformBias(0.1)},
            "bias must be None with a truth that is a function",
        ),
        (
            {"theta": gb.Population(), "drift": gb.RandomWalk(drift_time=100)},
            "theta must be one number with a drift, got Population",
        ),
        (
            {
                "theta": gb.Population(samples=[0.4], shifts=[[0.0, 0.1, 0.0]]),
                "bias": gb.UniformBias(0.1),
            },
            "bias must be None with a population that has shifts, got UniformBias",
        ),
        ({"theta": gb.Population(interval=(0, 99))}, r"interval must lie in the domain \[0, 5"),
        ({"theta": gb.Population(samples=[0.4, 9.0])}, "samples must lie in the domain .* got 9.0"),
        (
            {"theta": gb.Population(samples=[0.4], shifts=[[0.1]])},
            r"shifts must have 3 arms, got \(0.1,\)",
        ),
        ({"theta": gb.Population(quantile=lambda u: 9 * u)}, "quantile must give thetas in the"),
    ],
)
def test_unsuitable_truths_are_refused(parts, message):
    with pytest.raises(gb.ScenarioError, match=message):
        gb.Environment(MODEL, **parts)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"interval": (0, 1), "samples": [1]}, "population must be given by one of interval"),
        ({"samples": []}, "samples must be at least one"),
        ({"quantile": 0.5}, r"quantile must be a function of a number in \[0, 1\), got 0.5"),
        ({"weights": [1]}, r"weights must come with samples, got \[1\]"),
        ({"samples": [0.1, 0.2], "weights": [1]}, "weights must be 2, one per sample, got 1"),
        ({"samples": [0.1], "weights": [0]}, "weights must be 0 or more, and not all 0"),
        ({"samples": [0.1, 0.2], "weights": [-1, 2]}, "weights must be 0 or more, and not all 0"),
        ({"samples": [0.1], "shifts": [[0.1], [0.2]]}, "shifts must be 1, one per sample, got 2"),
        ({"samples": [0.1], "shifts": 3}, "shifts must be rows of numbers, got 3"),
    ],
)
def test_an_invalid_population_is_refused(parts, message):
    with pytest.raises(gb.ScenarioError, match=message):
        gb.Population(**parts)


def test_a_sample_without_weight_is_never_drawn():
    people = gb.Population(samples=[0.1, 0.2, 0.3], weights=[0, 1, 0])
    drawn = {people.theta_at(u, (0.0, 1.0)) for u in (0.0, 0.5, 1.0 - 2.0**-53)}
    assert drawn == {0.2}


def test_means_that_are_not_one_row_are_refused():
    with pytest.raises(gb.ScenarioError, match="theta must be one number for these means"):
        gb.Environment(MODEL, theta=gb.Population()).true_means()
    with pytest.raises(gb.ScenarioError, match="truth must not be a function of time for these"):
        gb.Environment(MODEL, truth=lambda time, arm: 0.5).true_means()
