"""The whole fit: it is invariant under reordering, and recovers the parameters of simulations."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from globalbandits.fitting import histories
from globalbandits.fitting.assessment.held_out_scores import explained_share
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation import factor_model
from globalbandits.fitting.estimation.curve_model import z_at
from globalbandits.fitting.estimation.factor_model import (
    MAX_STEPS,
    fit_identical,
    fit_independent,
    fit_shared,
    initial_populations,
    run_em,
    with_rising_steepest_arm,
)
from globalbandits.fitting.estimation.group_posterior import log_scores
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel.rows import leave_out_groups, panel_from_table
from tests.fitting.panels import panel_of

SEEDS = range(100, 108)


def shared_fit(history, reward_range=None):
    panel = panel_of(history, reward_range)
    return fit_shared(panel, arm_scale(panel.arms))


def assert_same_fit(first, second, arms=slice(None)):
    for name in ("a", "c", "rho", "phi"):
        np.testing.assert_allclose(
            getattr(first, name)[arms], getattr(second, name), atol=1e-9, err_msg=name
        )
    np.testing.assert_allclose(first.weights, second.weights, atol=1e-9)
    np.testing.assert_allclose(first.curves[:, arms], second.curves, atol=1e-9)


@pytest.fixture(scope="module")
def history():
    return histories.exponential_demand(30, 60, seed=7, rho=0.02, uneven=True)


@pytest.fixture(scope="module")
def fitted(history):
    return shared_fit(history)


def test_the_order_of_rows_and_groups_does_not_matter(history, fitted):
    frame = pd.DataFrame(history).sample(frac=1.0, random_state=3)
    renamed = frame.assign(group=(frame["group"] * 7919) % 104729)
    assert_same_fit(fitted, shared_fit(renamed))


def test_the_order_of_arms_does_not_matter(history, fitted):
    panel = panel_of(history)
    order = [3, 0, 6, 1, 5, 2, 4]
    permuted = panel.with_arms([panel.arms[place] for place in order])
    assert_same_fit(fitted, fit_shared(permuted, arm_scale(permuted.arms)), arms=order)


def test_an_empty_group_does_not_matter(history, fitted):
    frame = pd.DataFrame(history)
    frame.loc[frame["group"] == 4, "reward"] = np.nan
    table = frame.groupby(["group", "arm"])["reward"].agg(n="count", mean="mean").reset_index()
    panel = panel_from_table(table, group="group", arm="arm")
    assert panel.n_groups == 30
    kept, _ = leave_out_groups(panel, None, ())
    assert kept.n_groups == 29
    expected = shared_fit(frame.dropna())
    assert_same_fit(expected, fit_shared(kept, arm_scale(kept.arms)))


def test_the_sign_of_the_shared_number_does_not_matter(history, fitted):
    panel = panel_of(history)
    scale = arm_scale(panel.arms)
    start = initial_populations(panel, 1)[0]
    mirrored = start._replace(c=-start.c, curves=start.curves[::-1])
    fits = [run_em(panel, scale, each, MAX_STEPS) for each in (start, mirrored)]
    ends = [with_rising_steepest_arm(each) for each in fits]
    assert_same_fit(*ends)
    assert ends[0].c[np.argmax(np.abs(ends[0].c))] > 0


def test_a_start_that_ends_below_the_best_is_given_up():
    """Two factors, three arms each: the main direction leads to the weaker one."""
    rng = np.random.default_rng(8)
    factors = rng.standard_normal((24, 2)).repeat(3, axis=1)
    history = histories.draw(
        np.full(24, np.nan), 1 / (1 + np.exp(-factors)), tuple(range(6)), 60, rng
    )
    panel = panel_of(history)
    scale = arm_scale(panel.arms, labels=True)
    ends = [run_em(panel, scale, start, MAX_STEPS) for start in initial_populations(panel, 3)]
    first, second, third = (log_scores(panel, end).sum() for end in ends)
    best = max(first, second, third)
    assert first < best - 5
    assert log_scores(panel, fit_shared(panel, scale)).sum() > best - 0.1


def bias_scales(world, rewards, n_groups=50, reward_range=None, **how):
    generate = getattr(histories, world)
    return np.array(
        [
            shared_fit(generate(n_groups, rewards, seed=seed, **how), reward_range).bias_scale
            for seed in SEEDS
        ]
    )


@pytest.mark.parametrize(
    ("world", "rewards", "how", "expected", "spread"),
    [
        ("exponential_demand", 140, {"rho": 0.02}, 0.065, 0.006),
        ("emax", 140, {"rho": 0.02}, 0.062, 0.006),
        ("exponential_demand", 20, {"rho": 0.02, "uneven": True}, 0.086, 0.026),
        ("exponential_demand", 42, {"rho": 0.02, "concentration": 5.0}, 0.063, 0.005),
    ],
)
def test_the_bias_is_found_within_three_standard_deviations(world, rewards, how, expected, spread):
    reward_range = (0.0, 1.0) if "concentration" in how else None
    found = bias_scales(world, rewards, reward_range=reward_range, **how)
    assert abs(found.mean() - expected) < 3 * spread


def test_exact_curves_are_found_to_be_nearly_exact():
    assert bias_scales("exponential_demand", 140).mean() < 0.022 + 3 * 0.006
    assert (
        bias_scales("exponential_demand", 42, reward_range=(0.0, 1.0), concentration=5.0).mean()
        < 0.035
    )


def test_the_noise_of_other_rewards_is_found():
    phis = [
        shared_fit(
            histories.exponential_demand(50, 42, seed=seed, concentration=5.0), (0.0, 1.0)
        ).phi.mean()
        for seed in SEEDS
    ]
    assert np.mean(phis) == pytest.approx(1 / 6, abs=3 * 0.005)


def test_the_curves_are_found():
    """At every quantile of theta, against the true curve at that quantile: rms below .03."""
    errors = []
    levels = np.linspace(0.05, 0.95, 19)
    theta = np.exp(np.log(0.22) + 0.35 * stats.norm.ppf(levels))
    for seed in SEEDS:
        fitted = shared_fit(histories.exponential_demand(100, 140, seed=seed))
        z = z_at(fitted, (1 - levels - 0.005) / 0.99)  # more is sold where theta is small
        curves = 1 / (1 + np.exp(-(fitted.a + z[:, None] * fitted.c)))
        true = np.exp(-theta[:, None] * np.arange(2.0, 9.0))
        errors.append(np.mean((curves - true) ** 2))
    assert np.sqrt(np.mean(errors)) < 0.03


@pytest.mark.parametrize(
    ("world", "low", "high"), [("exponential_demand", 0.85, 1.0), ("unstructured", 0.0, 0.3)]
)
def test_the_share_is_large_with_structure_and_small_without(world, low, high):
    shares = []
    for seed in SEEDS:
        panel = panel_of(getattr(histories, world)(50, 140, seed=seed))
        scale = arm_scale(panel.arms)
        worth = Worth(panel.arms, (0.0, 1.0))
        shares.append(
            explained_share(fit_shared(panel, scale), fit_independent(panel, scale), worth)
        )
    assert low < np.mean(shares) < high


def test_independent_arms_have_the_variation_between_groups():
    """Its bias is the standard deviation of the true means, over many groups."""
    history = histories.unstructured(400, 700, seed=1)
    panel = panel_of(history)
    alone = fit_independent(panel, arm_scale(panel.arms))
    assert alone.c.tolist() == [0.0] * 7
    assert alone.weights.tolist() == [1.0]
    np.testing.assert_allclose(alone.curves[0], history.means.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(alone.bias, history.means.std(axis=0), rtol=0.12)


def test_identical_groups_have_no_variation():
    panel = panel_of(histories.identical_groups(30, 140, seed=1))
    alike = fit_identical(panel, arm_scale(panel.arms))
    assert alike.bias_scale == 0.0
    np.testing.assert_allclose(alike.curves[0], panel.pooled, atol=0.02)


def test_many_groups_are_fitted_on_some_and_finished_on_all(monkeypatch):
    panel = panel_of(histories.exponential_demand(900, 40, seed=5, rho=0.02))
    scale = arm_scale(panel.arms)
    whole = fit_shared(panel, scale)
    monkeypatch.setattr(factor_model, "MAX_GROUPS_IN_FULL", 600)
    monkeypatch.setattr(factor_model, "SAMPLED_GROUPS", 300)
    quick = fit_shared(panel, scale, seed=2)
    assert 10 < quick.n_steps <= MAX_STEPS + factor_model.FINAL_STEPS
    assert np.sqrt(np.mean((quick.means - whole.means) ** 2)) < 0.005
    assert quick.bias_scale == pytest.approx(whole.bias_scale, abs=0.015)
    assert fit_shared(panel, scale, seed=2).a.tolist() == quick.a.tolist()


def test_an_arm_that_never_sells_stays_finite():
    history = histories.exponential_demand(20, 140, seed=3)
    history["reward"][history["arm"] == 8.0] = 0.0
    fitted = shared_fit(history)
    assert np.isfinite(fitted.a).all()
    assert 0 < fitted.means[-1] < 0.02
