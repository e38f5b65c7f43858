"""Scores of groups that a fit has not seen."""

import numpy as np
import pytest

from globalbandits.fitting import histories
from globalbandits.fitting.assessment import held_out_scores
from globalbandits.fitting.assessment.held_out_scores import (
    Difference,
    Scores,
    choose_curves,
    difference,
    half_split_values,
    random_folds,
    score_groups,
    split_halves,
)
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation import factor_model
from globalbandits.fitting.estimation.factor_model import fit_shared, initial_populations
from globalbandits.fitting.estimation.group_posterior import log_scores
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel import Panel
from tests.fitting.panels import panel_of
from tests.oracles import fitting as oracle


@pytest.mark.parametrize("concentration", [None, 5.0], ids=["coins", "continuous"])
def test_scores_are_integrals_over_the_groups_own_means(concentration):
    history = histories.exponential_demand(3, 12, seed=4, uneven=True, concentration=concentration)
    panel = panel_of(history, (0.0, 1.0))
    fitted = initial_populations(panel, 1)[0]
    keep = slice(0, None, 12)  # six points of the grid: integrals take their time
    fitted = fitted._replace(
        rho=np.linspace(0.05, 0.2, panel.n_arms),
        phi=np.linspace(0.95, 0.8, panel.n_arms),
        weights=np.full(6, 1 / 6),
        grid=fitted.grid[keep],
        curves=fitted.curves[keep],
    )
    expected = [
        oracle.marginal_score(
            panel.counts[g], panel.sums[g], fitted.curves, fitted.weights, fitted.rho,
            fitted.phi, panel.binary,
        )
        for g in range(3)
    ]  # fmt: skip
    np.testing.assert_allclose(log_scores(panel, fitted), expected, rtol=1e-8)


def test_bernoulli_rewards_without_errors_have_the_binomial_score():
    panel = panel_of(histories.exponential_demand(5, 40, seed=1))
    fitted = initial_populations(panel, 1)[0]._replace(rho=np.zeros(7))
    nearly = fitted._replace(rho=np.full(7, 1e-7))
    np.testing.assert_allclose(log_scores(panel, fitted), log_scores(panel, nearly), rtol=1e-3)


def test_every_group_is_held_out_once():
    parts = random_folds(37, np.random.default_rng(1))
    assert len(parts) == 10
    assert sorted(np.concatenate(parts).tolist()) == list(range(37))
    assert {part.size for part in parts} == {3, 4}
    assert [part.size for part in random_folds(4, np.random.default_rng(1))] == [1] * 4


def test_a_shared_number_scores_better_where_there_is_one():
    panel = panel_of(histories.exponential_demand(50, 140, seed=10, rho=0.02))
    found = score_groups(panel, arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0)))
    assert found.over_independent().clear
    assert found.over_independent().mean > 3 * found.over_independent().se
    assert found.over_independent("same").mean < 0


def test_a_shared_number_scores_no_better_where_there_is_none():
    differences = []
    for seed in range(10, 12):
        panel = panel_of(histories.unstructured(50, 140, seed=seed))
        found = score_groups(panel, arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0)))
        differences.append(found.over_independent())
    mean = np.mean([each.mean for each in differences])
    error = np.sqrt(np.mean([each.se**2 for each in differences]) / 2)
    assert abs(mean) < 0.15
    assert mean < 2 * error


def test_scores_depend_on_the_seed_only_through_the_folds(monkeypatch):
    monkeypatch.setattr(held_out_scores, "N_FOLDS", 4)
    panel = panel_of(histories.exponential_demand(12, 70, seed=2))
    scale, worth = arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0))
    first, again, other = (
        score_groups(panel, scale, worth, seed=seed).log_scores["shared"] for seed in (3, 3, 4)
    )
    assert first.tolist() == again.tolist()
    assert first.tolist() != other.tolist()
    assert first.mean() == pytest.approx(other.mean(), rel=0.1)


def test_large_panels_are_scored_on_some_groups(monkeypatch):
    monkeypatch.setattr(held_out_scores, "MAX_GROUPS_IN_FULL", 100)
    monkeypatch.setattr(factor_model, "SAMPLED_GROUPS", 60)
    monkeypatch.setattr(held_out_scores, "N_FOLDS", 2)
    panel = panel_of(histories.exponential_demand(120, 21, seed=2))
    found = score_groups(panel, arm_scale(panel.arms), Worth(panel.arms, (0.0, 1.0)))
    assert found.log_scores["shared"].shape == (60,)


def test_a_difference_leaves_out_what_is_not_known():
    found = difference(np.array([1.0, 3.0, np.nan]), np.array([0.0, 0.0, 1.0]))
    assert found == Difference(2.0, pytest.approx(1.0), 2)
    assert found.clear
    assert np.isnan(difference(np.array([1.0]), np.array([0.0])).mean)


def test_the_users_curves_are_kept_unless_others_are_clearly_better():
    same, better = np.zeros(20), np.linspace(0.5, 1.5, 20)
    assert choose_curves(Scores({"shared": same, "independent": same}, {})) == "shared"
    assert choose_curves(Scores({"shared": same, "given": same}, {})) == "given"
    assert choose_curves(Scores({"shared": better, "given": same}, {})) == "shared"


def test_halves_of_bernoulli_rewards_add_up_and_have_the_right_mean():
    panel = panel_of(histories.exponential_demand(4, 63, seed=3))
    rng = np.random.default_rng(0)
    first_sums = []
    for _ in range(2_000):
        first, second = split_halves(panel, rng)
        assert np.array_equal(first.counts + second.counts, panel.counts)
        assert np.array_equal(first.sums + second.sums, panel.sums)
        assert np.abs(first.counts - second.counts).max() <= 1
        assert (first.sums <= first.counts).all()
        first_sums.append(first.sums / np.maximum(first.counts, 1))
    # Nine rewards a cell: a half of four or five has at most .17 of standard deviation.
    np.testing.assert_allclose(np.mean(first_sums, axis=0), panel.means, atol=4 * 0.17 / 2_000**0.5)


def continuous_panel(values):
    """One group, one arm."""
    values = np.array(values)
    counts, sums, squares = [[values.size]], [[values.sum()]], [[(values**2).sum()]]
    return Panel(
        np.array(counts, float), np.array(sums), np.array(squares), ("g",), (1.0,), (0.0, 1.0),
        binary=False,
    )  # fmt: skip


def test_two_continuous_rewards_are_split_exactly():
    panel = continuous_panel([0.2, 0.7])
    rng = np.random.default_rng(0)
    seen = {round(float(split_halves(panel, rng)[0].sums[0, 0]), 9) for _ in range(50)}
    assert seen == {0.2, 0.7}


def test_halves_of_continuous_rewards_vary_as_samples_do():
    rng = np.random.default_rng(5)
    values = rng.normal(0.5, 0.1, 10)
    panel = continuous_panel(values)
    found = [float(split_halves(panel, rng)[0].means[0, 0]) for _ in range(4_000)]
    drawn = [rng.permutation(values)[:5].mean() for _ in range(4_000)]
    assert np.mean(found) == pytest.approx(np.mean(drawn), abs=0.003)
    assert np.std(found) == pytest.approx(np.std(drawn), rel=0.08)


def test_a_single_reward_goes_to_one_half():
    panel = continuous_panel([0.4])
    rng = np.random.default_rng(0)
    first = {float(split_halves(panel, rng)[0].counts[0, 0]) for _ in range(40)}
    assert first == {0.0, 1.0}


def test_the_value_in_the_other_half_is_that_of_the_chosen_arm():
    """Groups whose best arm is plain: both ways of choosing find it, the pooled arm does not."""
    means = np.array([[0.9, 0.1], [0.1, 0.9]]).repeat(40, axis=0)
    rng = np.random.default_rng(1)
    history = histories.draw(np.zeros(80), means, (1.0, 2.0), 40, rng)
    panel = panel_of(history)
    scale = arm_scale(panel.arms)
    fitted = fit_shared(panel, scale)
    values = half_split_values(
        panel, fitted, fitted, panel.pooled, Worth(panel.arms, (0.0, 1.0)), rng
    )
    shared, independent, raw, pooled = values.mean(axis=0)
    assert shared == pytest.approx(0.9, abs=0.03)
    assert independent == shared
    assert raw == pytest.approx(0.9, abs=0.03)
    assert pooled == pytest.approx(0.5, abs=0.05)
