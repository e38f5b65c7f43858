"""Operating characteristics: counted again by hand from the runs."""

import numpy as np
import pytest

import globalbandits as gb

DOSES = [1.0, 2.0, 3.0, 4.0]
MODEL = gb.dose.logistic(DOSES, target=0.3)
MEANS = np.array([0.1, 0.25, 0.45, 0.6])


@pytest.fixture(scope="module")
def result():
    env = gb.Environment(MODEL, truth=MEANS, noise=gb.BernoulliNoise())
    policies = {"limited": gb.Limited(gb.WAGP(), cohort=3), "any": gb.Uniform()}
    return gb.simulate(env, policies, horizon=24, runs=150, seed=4)


def test_selection_counts_what_would_be_chosen_at_the_end(result):
    choice = result.dataset["choice"].values
    table = result.selection()
    assert list(table.columns) == DOSES
    assert list(table.index) == ["limited", "any"]
    for row, name in enumerate(table.index):
        counted = [np.mean([c == arm for c in choice[row]]) for arm in range(4)]
        np.testing.assert_allclose(table.loc[name], counted)
    np.testing.assert_allclose(table.sum(axis=1), 1.0)


def test_the_choice_is_what_a_learner_would_select(result):
    """A deterministic policy on rewards without noise, played again by hand."""
    env = gb.Environment(MODEL, theta=0.5, noise=gb.NoNoise())
    policy = gb.Limited(gb.GridPlugIn(likelihood="bernoulli", cells=100), cohort=2)
    table = gb.simulate(env, [policy], horizon=10, runs=1).selection()
    learner = gb.Learner(policy, MODEL, seed=0)
    for _ in range(10):
        arm = learner.select()
        learner.update(arm, float(MODEL.means(0.5)[arm]))
    assert table.iloc[0].to_numpy()[learner.select()] == 1.0


def test_decisions_per_arm(result):
    table = result.decisions()
    np.testing.assert_allclose(table.sum(axis=1), 24.0)
    by_hand = result.dataset["pulls"].values[0].mean(axis=0)
    np.testing.assert_allclose(table.loc["limited"], by_hand)


def test_characteristics_by_hand(result):
    table = result.characteristics(target=0.3, more_than=6)
    data = result.dataset
    for row, name in enumerate(table.index):
        correct = np.mean([choice == 1 for choice in data["choice"].values[row]])
        above = [int(pulls[2] + pulls[3]) for pulls in data["pulls"].values[row]]
        assert table.loc[name, "correct"] == correct
        assert table.loc[name, "decisions"] == 24
        assert table.loc[name, "above"] == pytest.approx(sum(above) / (24 * 150))
        assert table.loc[name, "exceeded"] == np.mean([n > 6 for n in above])
    assert 0 < table.loc["limited", "exceeded"] < 1
    assert "stopped" not in table


def test_nearly_best_may_count(result):
    near = result.characteristics(within=0.101)["correct"]  # 0.45 falls short by 0.15 - 0.05
    shares = result.selection()
    np.testing.assert_allclose(near, shares[2.0] + shares[3.0])


def test_runs_with_their_own_truth():
    env = gb.Environment(MODEL, theta=gb.Population(), noise=gb.BernoulliNoise())
    result = gb.simulate(env, [gb.WAGP()], horizon=20, runs=60)
    data = result.dataset
    best = [MODEL.gaps(theta).argmin() for theta in data["theta"].values]
    expected = np.mean(data["choice"].values[0] == best)
    assert result.characteristics().loc["WAGP", "correct"] == pytest.approx(expected)
    assert data["true_mean"].dims == ("run", "arm")
    biased = gb.Environment(MODEL, 0.5, gb.BernoulliNoise(), bias=gb.UniformBias(0.2))
    data = gb.simulate(biased, [gb.WAGP()], horizon=20, runs=10).dataset
    paid = np.clip(MODEL.means(0.5) + data["bias"].values, 0, 1)
    np.testing.assert_allclose(data["true_mean"].values, paid)
    worth = -np.abs(paid - 0.3)
    np.testing.assert_allclose(data["gap"].values, worth.max(1, keepdims=True) - worth, atol=1e-12)


def test_results_without_characteristics_are_refused(result):
    env = gb.Environment(MODEL, truth=lambda time, arm: 0.3, noise=gb.BernoulliNoise())
    moving = gb.simulate(env, [gb.WAGP()], horizon=5, runs=2)
    with pytest.raises(gb.SimulationError, match="result must be one whose means stay during"):
        moving.characteristics()
    with pytest.raises(gb.SimulationError, match="within must be at least 0, got -1"):
        result.characteristics(within=-1)
    with pytest.raises(gb.SimulationError, match="target must be a number, got 'high'"):
        result.characteristics(target="high")


def test_it_is_drawn(result):
    figure = result.plot_selection()
    assert any("% of runs" in axes.get_ylabel() for axes in figure.axes)
