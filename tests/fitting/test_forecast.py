"""What policies lose in new groups: the world, the numbers, the break-even."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting.assessment import forecast as forecasting
from globalbandits.fitting.assessment.forecast import (
    MIN_GROUPS_TO_TRUST_CURVES,
    ErrorSizes,
    Forecast,
    ForecastSettings,
    candidate_policies,
    error_prior,
    error_sizes,
    forecast_new_groups,
    forecast_regret,
    groups_environment,
    history_policy,
    simulate_groups,
)
from globalbandits.fitting.assessment.standard_errors import StandardErrors, expected_bias_scale
from globalbandits.fitting.estimation.fitted_population import draw_groups
from tests.fitting.panels import COLUMNS


@pytest.fixture(scope="module")
def found():
    history = gb.histories.exponential_demand(groups=12, rewards=70, seed=2, rho=0.02)
    return gb.fit(history, **COLUMNS, cost=1.0, verdict=False)


@pytest.fixture(scope="module")
def measured():
    """Continuous rewards, in units of their own."""
    history = gb.histories.paper(groups=12, rewards=60, seed=2, rho=0.02, concentration=5.0)
    return gb.fit(
        {**history, "reward": 10 + 20 * history["reward"]},
        **COLUMNS,
        reward_range=(10, 30),
        verdict=False,
    )


def drawn_of(fit, number):
    return draw_groups(fit.fitted, number, np.random.default_rng(1))


def world(fit, drawn):
    return groups_environment(drawn, fit.fitted, fit.model, fit.offered, fit.theta_scale)


@pytest.mark.parametrize("name", ["found", "measured"])
def test_a_run_has_the_means_of_a_drawn_group(name, request):
    fit = request.getfixturevalue(name)
    drawn = drawn_of(fit, 5)
    result = gb.simulate(world(fit, drawn), [gb.FixedArm(1)], horizon=3, runs=40)
    low, high = fit.panel.reward_range
    means = result.dataset["true_mean"].values
    distance = np.abs(means[:, None] - (low + (high - low) * drawn.means)).max(axis=2)
    assert distance.min(axis=1).max() < 1e-9
    assert set(distance.argmin(axis=1).tolist()) == set(range(5))
    worth = fit.worth((means - low) / (high - low))
    regret = result.dataset["regret"].values[0]
    np.testing.assert_allclose(regret[:, -1], 3 * (worth.max(axis=1) - worth[:, 1]), atol=1e-9)


def test_the_noise_is_that_of_the_outcome(found, measured):
    assert world(found, drawn_of(found, 2)).noise == gb.BernoulliNoise()
    noise = world(measured, drawn_of(measured, 2)).noise
    assert noise == gb.ScaledCoinNoise(tuple(measured.fitted.phi.tolist()))
    # Beta(5 m, 5 (1 - m)) has a sixth of the Bernoulli variance.
    assert np.mean(noise.share) == pytest.approx(1 / 6, rel=0.15)


def test_the_fixed_arm_needs_no_simulation(found):
    fixed = gb.FixedArm(found.value_of_information.fixed)
    got = forecast_regret(
        found.fitted, found.model, found.worth, found.theta_scale,
        {"IndependentGittins": gb.UCB1(), "simulated": fixed},
        ForecastSettings(horizon=50, runs=400),
    )  # fmt: skip
    always = f"always {found.offered[found.value_of_information.fixed]!r}"
    assert got.fixed == always
    assert got.means[always][-1] == pytest.approx(50 * found.value_of_information.total, rel=1e-12)
    difference = got.means["simulated"][-1] - got.means[always][-1]
    assert abs(difference) < 4 * got.errors["simulated"][-1]
    assert got.errors[always][-1] < got.errors["simulated"][-1]
    frame = got.frame
    assert frame.index.names == ["policy", "rounds"]
    assert frame.loc[(always, 50), "regret"] == got.means[always][-1]
    assert frame.index.get_level_values("rounds").max() == got.horizon == 50


def curves(**ends):
    times = np.array([1, 10, 100, 1000])
    jitter = np.array([[-1.0], [1.0]])
    runs = {name: np.array(curve) + jitter for name, curve in ends.items()}
    return Forecast(times, runs, "always 1", np.full(9, 0.02))


def test_break_even_is_where_a_policy_stays_behind():
    got = curves(
        IndependentGittins=[1, 5, 10, 15],
        late=[0.5, 4, 11, 40],
        never=[2, 6, 9, 14],
        at_once=[2, 6, 11, 16],
        again=[2, 4, 11, 16],
    )
    assert got.break_even("late") == 100
    assert got.break_even("never") is None
    assert got.break_even("at_once") == 1
    assert got.break_even("again") == 100
    assert got.break_even("always 1") == 1000
    assert got.break_even("IndependentGittins") is None
    assert got.beyond("late", "never") == (26.0, 0.0, 2)
    assert list(got.means) == [
        "never",
        "IndependentGittins",
        "at_once",
        "again",
        "always 1",
        "late",
    ]


def test_a_difference_within_its_error_is_no_break_even():
    times = np.array([1, 10])
    runs = {
        "IndependentGittins": np.array([[1.0, 5.0], [1.0, 7.0]]),
        "other": np.array([[1.0, 4.0], [1.0, 9.0]]),
    }
    got = Forecast(times, runs, "always 1", np.full(9, 1.0))
    assert got.beyond("other", "IndependentGittins").mean == 0.5
    assert got.break_even("other") is None


def test_policies_that_cannot_play_a_model_are_left_out(found):
    sizes = error_sizes(found.fitted, 0.05, found.offered, found.model)
    assert set(candidate_policies(sizes, found.model)) == {
        "Elastic(history)", "Elastic", "RandomEffectsThompson(history)", "IndependentGittins",
        "IDS", "WAGP", "ThompsonSampling",
    }  # fmt: skip
    turning = gb.RewardModel(lambda t, p: 0.2 + p * t * (1 - t), [0.3, 0.6], monotone=False)
    assert "WAGP" not in candidate_policies(ErrorSizes(0.05, (1.0, 1.0)), turning)


def test_error_sizes_are_log_odds_over_four_and_those_of_the_arms(found):
    fitted = found.fitted
    sizes = error_sizes(fitted, 2 * found.bias_scale, found.offered, found.model)
    # A Beta with variance rho f (1 - f) has about the variance rho / (f (1 - f)) in log-odds.
    by_hand = 2 * np.sqrt(fitted.rho / fitted.spread) / 4
    assert sizes.scale == pytest.approx(np.sqrt(np.mean(by_hand**2)))
    own = np.sqrt((1 + (by_hand / sizes.scale) ** 2) / 2)
    np.testing.assert_allclose(sizes.relative, own, atol=1e-4)
    # An arm that the history lacks has an error of the usual size.
    more = gb.RewardModel(lambda t, p: t / (1 + p), [*found.offered, 99.0])
    assert error_sizes(fitted, found.bias_scale, found.offered, more).relative[-1] == 1.0


def test_the_history_policy_has_a_horizon_only_if_one_was_given():
    open_end, known = (ForecastSettings.checked(horizon, 10, 0, False) for horizon in (None, 50))
    assert (open_end.horizon, open_end.known_horizon) == (1_000, None)
    assert (known.horizon, known.known_horizon) == (50, 50)
    policy = history_policy(ErrorSizes(0.04, (1.0, 2.0)), known.known_horizon)
    assert policy.horizon == 50
    assert policy.arm_errors == (1.0, 2.0)
    assert policy.prior == error_prior(0.04)


def test_a_larger_bias_is_simulated_where_curves_may_be_exact(found, monkeypatch):
    played = []

    def record(fitted, model, worth, scale, policies, settings):
        played.append((fitted.bias_scale, sorted(policies)))
        times = np.array([1, 10])
        ends = {name: 1.0 if name == "WAGP" else 9.0 for name in policies}
        runs = {name: np.full((2, 2), end) for name, end in ends.items()}
        return Forecast(times, runs, "always 1", np.full(9, 1.0))

    monkeypatch.setattr(forecasting, "forecast_regret", record)
    size = found.bias_scale
    errors = StandardErrors(0.1, 0.1, 0.1, 0.1, 2 * size)
    parts = (found.fitted, found.model, found.worth, found.theta_scale, errors)
    few = forecast_new_groups(*parts, MIN_GROUPS_TO_TRUST_CURVES - 1, ForecastSettings())
    assert few.cautious is None
    assert len(played) == 1
    many = forecast_new_groups(*parts, MIN_GROUPS_TO_TRUST_CURVES, ForecastSettings())
    assert many.cautious is not None
    assert played[2][0] == pytest.approx(2 * size, rel=1e-6)
    assert played[2][1] == ["Elastic(history)", "WAGP"]


def test_a_larger_bias_keeps_the_noise_factor_of_bernoulli_rewards_at_one(found):
    wider = found.fitted.with_bias_scale(1.5 * found.bias_scale)
    assert wider.bias_scale == pytest.approx(1.5 * found.bias_scale)
    np.testing.assert_allclose(wider.phi + wider.rho, 1.0)


def test_the_verdict_of_a_fit_rests_on_the_forecast(monkeypatch, capsys):
    monkeypatch.setattr(forecasting, "N_DRAWN_GROUPS", 500)
    names = ("Elastic(history)", "IndependentGittins", "WAGP")
    monkeypatch.setattr(
        forecasting,
        "candidate_policies",
        lambda *which: {n: p for n, p in candidate_policies(*which).items() if n in names},
    )
    history = gb.histories.paper(groups=20, rewards=90, seed=1)
    options = {"horizon": 60, "runs": 30, "seed": 5}
    first = gb.fit(history, **COLUMNS, **options, progress=True)
    said = capsys.readouterr().err
    for stage in ("reading the history", "fitting 20 groups", "scoring", "simulating 30 new"):
        assert stage in said
    again = gb.fit(history, **COLUMNS, **options)
    assert capsys.readouterr().err.count("simulating") == 0
    assert first.regret.equals(again.regret)
    assert first.verdict == again.verdict
    policies = set(first.regret.index.get_level_values("policy"))
    assert policies == {*names, first.forecast.fixed}
    assert first.regret.index.get_level_values("rounds").max() == 60
    text = str(first)
    assert "Lost in a new group        after 6 / 60 rounds (30 simulated)" in text
    assert "Break-even                 Elastic(history)" in text
    assert "In 60 rounds of a new group it is expected to lose" in text
    assert first.verdict.runner_up == "IndependentGittins"  # WAGP cannot unlearn
    learner = gb.Learner(first.policy, first.model, seed=0)
    assert learner.select() in range(3)


def test_without_a_verdict_there_is_no_regret(found):
    assert found.prospects is None
    assert "Lost in a new group" not in str(found)
    with pytest.raises(FitError, match="regret must be simulated first: fit with verdict=True"):
        found.regret  # noqa: B018


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"horizon": 0}, "horizon must be at least 1, got 0"),
        ({"runs": 1}, "runs must be at least 2, got 1"),
    ],
)
def test_wrong_simulations_are_refused(options, message):
    with pytest.raises(FitError, match=message):
        gb.fit({}, **COLUMNS, **options)


def test_the_standard_error_of_the_bias_counts_as_bias(found):
    """A sparse history may happen to show no errors: Elastic must not take curves for exact."""
    errors = StandardErrors(0.1, 0.04, 0.1, 0.1, 0.1)
    none = found.fitted._replace(rho=np.full(7, 1e-9))
    assert expected_bias_scale(none, None) < 1e-4
    assert expected_bias_scale(none, errors) == pytest.approx(0.04, rel=1e-3)
    assert expected_bias_scale(found.fitted, errors) == pytest.approx(
        np.hypot(found.bias_scale, 0.04)
    )


def test_an_interrupted_simulation_interrupts(monkeypatch):
    simulate = gb.simulate

    def interrupted(env, policies, horizon, runs, seed, **options):
        return simulate(env, policies, horizon, runs - 1, seed, **options)

    monkeypatch.setattr("globalbandits.simulation.simulate", interrupted)
    env = gb.Environment(gb.demand.linear([0.4, 0.6]), theta=0.4)
    with pytest.raises(KeyboardInterrupt):
        simulate_groups(env, {"any": gb.Uniform()}, ForecastSettings(horizon=20, runs=3))
