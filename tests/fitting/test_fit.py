"""From a table to a model and a verdict."""

import numpy as np
import pandas as pd
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting import fit, histories
from globalbandits.fitting.assessment import forecast, standard_errors
from globalbandits.fitting.assessment.forecast import (
    candidate_policies,
    error_prior,
    error_sizes,
    history_policy,
)
from globalbandits.fitting.assessment.standard_errors import expected_bias_scale
from globalbandits.fitting.assessment.verdict import OBSERVATIONAL
from tests.fitting.panels import COLUMNS, rows_of


@pytest.fixture(scope="module", autouse=True)
def _few_policies():
    """Three of the verdict's candidates; the documents' examples simulate all."""
    names = ("Elastic(history)", "IndependentGittins", "WAGP")

    def few(*which):
        return {n: p for n, p in candidate_policies(*which).items() if n in names}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forecast, "candidate_policies", few)
        yield


def quick(history, **options):
    return fit(history, **COLUMNS, verdict=False, **options)


@pytest.fixture(scope="module")
def shops():
    return histories.exponential_demand(50, 140, seed=3, rho=0.02)


@pytest.fixture(scope="module")
def found(shops):
    return fit(shops, **COLUMNS, value=lambda sold, price: (price - 1.0) * sold, runs=50)


def test_the_result_has_what_a_user_needs(found):
    assert 0.6 < found.share < 1.0
    assert found.bias_scale == pytest.approx(0.063, abs=0.03)
    assert found.bias.shape == found.noise.shape == (7,)
    assert found.homogeneity.differ()
    assert found.verdict.action == "elastic"
    scale = expected_bias_scale(found.fitted, found.errors)
    sizes = error_sizes(found.fitted, scale, found.offered, found.model)
    assert found.policy == history_policy(sizes)
    assert found.policy.horizon is None
    assert len(found.policy.arm_errors) == 7
    assert found.arms.index.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    assert found.arms["best"].sum() == pytest.approx(1.0)
    assert found.arms["rewards"].sum() == 7_000
    assert found.groups.shape[0] == 50
    assert (found.groups["low"] <= found.groups["theta"]).all()
    assert (found.groups["theta"] <= found.groups["high"]).all()
    assert repr(found).startswith("Fit(50 groups, 7 arms, share 0.")


def test_the_model_observes_sales_and_decides_by_profit(found):
    model = found.model
    assert model.domain == (0.0, 1.0)
    table = found.curves
    expected = table.means * (np.array(model.arms) - 1.0)
    np.testing.assert_allclose(model.means(table.theta), table.means, atol=1e-9)
    np.testing.assert_allclose(model.worth(table.theta), expected, atol=1e-9)
    assert model.reward_range == (0.0, 1.0)
    assert {region.arm for region in model.regions} == set(expected.argmax(axis=1).tolist())


def test_a_learner_starts_from_it(found):
    learner = gb.Learner(found.policy, found.model, seed=1)
    arm = learner.select()
    learner.update(arm, found.model.reward_range[1])
    assert 0 <= arm < 7
    assert learner.estimate is not None


def test_the_printout_answers_the_questions_in_words(found):
    text = str(found)
    for part in (
        "50 groups, 7 arms, 7000 rewards (0 or 1), fitted in",
        "Do groups differ?          chi²",
        "One number explains",
        "Held-out groups            log score +",
        "Worth of knowing the group",
        "per round beyond always",
        "through the one",
        "Arms                       2.0: info",
        "Verdict                    History is observational: ",
    ):
        assert part in text
    assert "One number explains groups" in " ".join(text.split())
    assert max(len(line) for line in text.splitlines()) <= 110


def test_standard_errors_are_about_right(found):
    """The bias scale varies by .010 between histories of 50 groups (measured over eight)."""
    errors = found.errors
    assert 0.004 < errors.bias_scale < 0.025
    assert 0.01 < errors.share < 0.2
    assert 0 < errors.through < errors.total < 0.3
    assert errors.bias_scale_high > found.bias_scale - errors.bias_scale


def test_everything_but_the_time_depends_on_the_seed_only(shops):
    small = {name: column[:2100] for name, column in shops.items()}
    first, again = (fit(small, **COLUMNS, seed=4, horizon=30, runs=5) for _ in range(2))
    assert first.errors == again.errors
    assert first.scores.equals(again.scores)
    assert first.value_of_information == again.value_of_information
    assert first.curves.means.tolist() == again.curves.means.tolist()


def test_the_posterior_of_a_history_s_group_is_its_row(found, shops):
    rows = pd.DataFrame(shops)
    rows = rows[rows["group"] == 7]
    posterior = found.posterior(rows)
    row = found.groups.loc[7]
    assert posterior.theta == pytest.approx(row["theta"])
    assert posterior.interval == pytest.approx((row["low"], row["high"]))
    assert posterior.best == row["best"]
    table = rows.groupby("arm")["reward"].agg(n="count", mean="mean").reset_index()
    assert found.posterior(table).means == pytest.approx(posterior.means)


def test_the_posterior_of_a_group_without_rewards_is_the_population(found):
    posterior = found.posterior({"arm": [], "reward": []})
    assert posterior.theta == pytest.approx(0.5, abs=0.01)
    assert posterior.interval == pytest.approx((0.05, 0.95), abs=0.01)
    assert list(posterior.means.values()) == pytest.approx(found.arms["mean"].tolist())
    assert posterior.worth[8.0] == pytest.approx(7 * posterior.means[8.0])


def test_the_posterior_moves_with_the_rewards_of_any_arm(found):
    sold = found.posterior({"arm": [8.0] * 10, "reward": [1] * 10})
    refused = found.posterior({"arm": [8.0] * 10, "reward": [0] * 10})
    assert sold.theta > 0.8 > 0.4 > refused.theta
    assert sold.means[2.0] > refused.means[2.0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ({"arm": [9.5], "reward": [1]}, "arm 9.5 must be one of the model's: 2.0, 3.0"),
        ({"arm": [2.0], "reward": [0.5]}, "rewards must be 0 or 1, as in the history"),
        ({"arm": [2.0]}, "history must have a column 'reward', has: arm"),
    ],
)
def test_rows_that_do_not_match_the_history_are_refused(found, rows, message):
    with pytest.raises(FitError) as caught:
        found.posterior(rows)
    assert str(caught.value).startswith(message)


def test_groups_that_do_not_differ_name_the_arm():
    same = quick(histories.identical_groups(20, 140, seed=1))
    assert same.verdict.action == "elastic"
    assert same.verdict.sentences[1] == (
        "Groups do not differ measurably: 2.0 is the best arm for all of them."
    )
    assert np.isnan(same.share)
    assert "nothing to explain" in str(same)
    assert same.model.n_arms == 7
    assert isinstance(same.policy, gb.Elastic), "a deployed policy always learns"


def test_arms_without_structure_are_played_independently():
    free = quick(histories.unstructured(50, 140, seed=3))
    assert free.verdict.action == "independent"
    assert "deploy IndependentGittins" in str(free.verdict).replace("Deploy", "deploy")
    assert free.policy == gb.IndependentGittins()


def test_few_groups_are_not_to_be_relied_on():
    few, many = (quick(histories.exponential_demand(n, 140, seed=3)).verdict for n in (20, 50))
    assert "With 20 groups, do not rely on policies that cannot unlearn a curve" in str(few)
    assert "do not rely" not in str(many)
    assert few.sentences[0] == many.sentences[0] == OBSERVATIONAL


def test_a_value_decides_and_the_outcome_is_fitted():
    """Sold with a price as value, or revenue as reward: the same regions where n is large."""
    history = histories.exponential_demand(60, 14_000, seed=4)
    revenue = {**history, "reward": history["reward"] * history["arm"]}
    outcome = quick(history, value=lambda sold, price: price * sold)
    money = quick(revenue, reward_range=(0.0, 8.0))
    regions = [
        {region.arm: region.high for region in each.model.regions} for each in (outcome, money)
    ]
    assert regions[0].keys() == regions[1].keys()
    for arm, edge in regions[0].items():
        assert edge == pytest.approx(regions[1][arm], abs=0.06)


def test_offset_and_cost_reach_the_model():
    doses = histories.emax(30, 140, seed=2)
    penalty = dict(zip(doses.arms, np.linspace(0, -0.3, 6), strict=True))
    plain, priced = quick(doses), quick(doses, offset=penalty)
    np.testing.assert_allclose(
        priced.model.worth(0.5) - plain.model.worth(0.5), list(penalty.values()), atol=1e-9
    )
    shops = quick(histories.exponential_demand(30, 140, seed=2), cost=1.5)
    assert shops.model.worth_range == (0.0, 6.5)
    # Errors are those of what is observed, whatever it is worth.
    sizes = error_sizes(shops.fitted, shops.bias_scale, shops.offered, shops.model)
    assert shops.policy.prior == error_prior(sizes.scale)


def test_the_policy_has_the_given_horizon():
    history = histories.exponential_demand(12, 70, seed=2, rho=0.02)
    assert quick(history).policy.horizon is None
    assert quick(history, horizon=500).policy.horizon == 500


def test_arms_can_be_chosen_and_added(shops):
    found = quick(shops, arms=[3.0, 4.5, 8.0])
    assert found.model.arms == (3.0, 4.5, 8.0)
    assert found.arms.loc[4.5, "rewards"] == 0
    low, middle, high = found.model.means(0.5)
    assert low > middle > high
    assert found.posterior({"arm": [4.5], "reward": [1]}).theta > 0.5


def test_a_panel_of_means_gives_the_same_fit(shops):
    table = pd.DataFrame(shops).groupby(["group", "arm"])["reward"].agg(n="count", mean="mean")
    first = quick(shops)
    second = fit(table.reset_index(), group="group", arm="arm", verdict=False)
    np.testing.assert_allclose(first.curves.means, second.curves.means, atol=1e-9)
    assert first.scores["difference"].tolist() == pytest.approx(
        second.scores["difference"].tolist()
    )
    rows = pd.DataFrame({"arm": [2.0], "n": [4], "mean": [0.5]})
    assert second.posterior(rows).theta == pytest.approx(first.posterior(rows).theta)


def test_a_file_gives_the_same_fit(shops, tmp_path):
    path = tmp_path / "history.csv"
    pd.DataFrame(shops).to_csv(path, index=False)
    first, second = quick(shops), quick(path)
    np.testing.assert_allclose(first.curves.means, second.curves.means, atol=1e-9)
    assert second.panel.groups == first.panel.groups


def test_continuous_rewards_in_their_own_units():
    history = histories.exponential_demand(40, 42, seed=2, rho=0.02, concentration=5.0)
    plain = quick(history, reward_range=(0.0, 1.0))
    money = quick({**history, "reward": 100 + 50 * history["reward"]}, reward_range=(100.0, 150.0))
    assert plain.share == pytest.approx(money.share, abs=1e-6)
    np.testing.assert_allclose(money.bias, 50 * plain.bias, rtol=1e-6)
    np.testing.assert_allclose(money.noise, 50 * plain.noise, rtol=1e-6)
    np.testing.assert_allclose(money.model.means(0.3), 100 + 50 * plain.model.means(0.3), rtol=1e-6)
    assert "(continuous)" in str(money)


def test_time_can_reverse_the_ranking():
    """Curves that hold for two thirds of the time, then every arm goes its own way."""
    early, late = (
        histories.exponential_demand(40, 140, seed=1),
        histories.unstructured(40, 70, seed=2),
    )
    mixed = {name: np.concatenate([early[name], late[name]]) for name in early}
    day = np.concatenate([np.zeros(40 * 140), np.ones(40 * 70)])
    steady = quick({**early, "day": np.arange(40 * 140) % 9}, time="day")
    assert steady.scores.loc[("last third", "shared - independent"), "difference"] > 0
    assert "Time reverses" not in str(steady.verdict)
    reversed_ = quick({**mixed, "day": day}, time="day")
    later = reversed_.later.over_independent()
    assert later.n_groups == 40
    assert ("Time reverses this" in str(reversed_.verdict)) == (later.mean < 0)
    assert later.mean < 0
    assert "Last third of the time" in str(reversed_)


def test_groups_can_be_left_out(shops):
    found = quick(shops, exclude=[3, 7])
    assert found.panel.n_groups == 48
    assert 3 not in found.groups.index
    with pytest.raises(FitError, match="exclude must name groups of the history, got 999"):
        quick(shops, exclude=[999])
    for wrong in ("3", 3):
        with pytest.raises(FitError, match=f"exclude must be a list of groups, got {wrong!r}"):
            quick(shops, exclude=wrong)
    with pytest.raises(FitError, match=r"history must have at least 3 groups .* has 0"):
        quick(shops, exclude=range(50))


def test_groups_can_be_named_by_their_texts(shops):
    by_number, by_text = (quick(shops, exclude=names).panel.groups for names in ([7], ["7"]))
    assert by_number == by_text
    codes = np.array([f"{number:02d}" for number in range(50)])
    coded = quick({**shops, "group": codes[shops["group"]]}, exclude=["07"]).panel.groups
    assert coded == (*(code for code in codes.tolist() if code != "07"),)


def bernoulli_rewards(n, ones):
    return [1] * ones + [0] * (n - ones)


def cells(n_groups, arms):
    """A few Bernoulli rewards for every group and arm, not all alike."""
    return {
        (g, arm): bernoulli_rewards(10, (3 * g + 2 * place) % 9 + 1)
        for g in range(n_groups)
        for place, arm in enumerate(arms)
    }


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        (cells(2, [1, 2]), {},
         "history must have at least 3 groups with rewards of 2 arms each, has 2"),
        ({(g, g): [0, 1] for g in range(5)}, {},
         "no group has rewards of two arms: nothing connects the arms"),
        (cells(3, [1, 2]) | {(g, arm): [0, 1] for g in (7, 8, 9) for arm in (5, 6)}, {},
         "arms must be connected by groups that tried both, but (1, 2) and (5, 6) are not"),
        (cells(4, ["a", "b"]) | {(0, "c"): [0, 1]}, {},
         "arm 'c' must have rewards in at least 3 groups where arms have no order, has 1"),
        (cells(4, [1, 2]), {"seed": -1}, "seed must be at least 0, got -1"),
        (cells(4, [1, 2]), {"arms": [1, 9]},
         "arm 9 lies outside of the history's arms [1, 2]: fit does not extrapolate"),
        (cells(4, [1, 2]), {"arms": 1}, "arms must be None, 'labels' or a list of arms, got 1"),
        (cells(4, [1, 2]), {"arms": "1"},
         "arms must be None, 'labels' or a list of arms, got '1'"),
        (cells(4, [1, 2]), {"curves": "exponential"},
         "curves must be a RewardModel or a VectorModel, got 'exponential'"),
        (cells(4, [1, 2]), {"time": 3}, "time must be the name of a column, got 3"),
        (cells(4, [1, 2]), {"cost": -1}, "cost must be at least 0, got -1"),
        (cells(4, [1, 2]), {"cost": 2},
         "value of arm 2 must not be 0: its profit would not depend on sales"),
    ],
)  # fmt: skip
def test_histories_that_cannot_be_fitted_are_refused(rows, options, message):
    with pytest.raises(FitError) as caught:
        quick(rows_of(rows), **options)
    assert str(caught.value) == message


def test_files_and_tables_need_the_right_arguments(tmp_path):
    with pytest.raises(FitError, match="reward must be given for a file, got None"):
        fit(tmp_path / "x.csv", group="g", arm="a")
    with pytest.raises(FitError, match="time must be left out where rows are aggregated"):
        fit({"g": [1], "a": [1], "n": [1], "mean": [1]}, group="g", arm="a", time="t")


def test_a_group_must_be_named(shops):
    with pytest.raises(FitError, match="group must be the name of a column, got None"):
        fit(shops, group=None, arm="arm", reward="reward")


def test_a_time_must_leave_something_to_fit(shops):
    early = np.where(shops["group"] < 30, 0, 1)
    message = "time must have at least 3 groups with rewards of 2 arms in its first two thirds, has"
    with pytest.raises(FitError, match=f"{message} 2"):
        quick({**shops, "day": early}, time="day", exclude=range(2, 30))
    mixed = early.astype(object)
    mixed[0] = "late"
    with pytest.raises(FitError, match="time must be values that can be compared, got a mixture"):
        quick({**shops, "day": mixed}, time="day")


def test_errors_are_those_of_the_offered_arms(monkeypatch):
    """Offered arms that the history lacks have a larger bias, and a larger upper bound of it."""
    monkeypatch.setattr(standard_errors, "N_REFITS", 3)
    history = histories.exponential_demand(12, 70, seed=3, rho=0.02)
    plain, wider = (
        fit(history, **COLUMNS, horizon=5, runs=2, arms=arms)
        for arms in (None, [2.0, 2.5, 3.5, 4.5])
    )
    assert wider.bias_scale > plain.bias_scale
    assert wider.errors.bias_scale_high > plain.errors.bias_scale_high


def test_few_groups_of_arms_without_order_are_warned_about():
    rows = rows_of(cells(8, ["a", "b", "c"]))
    message = "8 groups: arms without an order need about 20; intervals below are wide"
    with pytest.warns(UserWarning, match=message):
        found = quick(rows)
    assert message in found.notes
    ordered = quick(rows_of(cells(8, [1, 2, 3])))
    assert message not in ordered.notes


def note_of(found, start):
    return [note for note in found.notes if note.startswith(start)]


def test_groups_with_one_arm_are_kept_and_named():
    rows = rows_of(cells(6, [1, 2, 3]) | {(g, 2): bernoulli_rewards(5, 2) for g in (20, 21)})
    found = quick(rows)
    assert found.panel.n_groups == 8
    assert note_of(found, "2 of 8 groups tried one arm only: they say nothing about how arms")


def test_an_arm_in_one_group_is_kept_where_arms_have_values():
    found = quick(rows_of(cells(6, [1, 2, 3]) | {(0, 4): bernoulli_rewards(5, 2)}))
    assert found.arms.loc[4, "groups"] == 1
    assert np.isfinite(found.model.means(0.5)).all()


def test_arms_that_never_or_always_sold_are_named():
    rows = cells(6, [1, 2, 3]) | {(g, 9.99): bernoulli_rewards(9, 0) for g in range(6)}
    rows |= {(g, 0.5): bernoulli_rewards(9, 9) for g in range(6)}
    found = quick(rows_of(rows))
    assert note_of(found, "arm 9.99 never sold in history")
    assert note_of(found, "arm 0.5 always sold in history")
    assert found.model.n_arms == 5


def test_one_reward_per_cell_makes_the_bias_an_upper_bound():
    history = histories.exponential_demand(30, 7, seed=1, concentration=5.0)
    found = quick(history, reward_range=(0.0, 1.0))
    assert note_of(found, "noise and bias cannot be told apart: every group has one reward per arm")
    assert "cannot be told" in str(found)
    assert found.bias_scale > 0.1  # of which nothing is bias


def test_rows_without_a_reward_are_counted():
    history = histories.exponential_demand(10, 70, seed=1)
    history["reward"][[3, 17]] = np.nan
    with pytest.raises(FitError, match="reward must be finite, row 3 has nan"):
        quick(history)
    assert "2 rows without a reward were left out" in quick(history, dropna=True).notes


def test_negative_values_are_named():
    found = quick(histories.exponential_demand(20, 140, seed=1), cost=2.5)
    assert note_of(found, "value of arm 2.0 is negative: it is worth less the higher its mean is")
    slope = np.diff(found.model.worth(np.array([0.2, 0.8])), axis=0)[0]
    assert slope[0] < 0 < slope[1]


def test_groups_that_do_not_fit_are_listed_not_dropped():
    rows = pd.DataFrame(histories.exponential_demand(40, 280, seed=2))
    odd = rows["group"] == 11
    rows.loc[odd, "reward"] = (rows.loc[odd, "arm"] % 2).to_numpy()
    found = quick(rows)
    assert found.groups.loc[11, "misfit"]
    assert found.groups.loc[11, "arms_off"] > 3
    assert found.panel.n_groups == 40
    assert "Groups that do not fit     1 of 40" in str(found)


def test_the_prior_follows_the_bias_scale():
    for size in (0.01, 0.04, 0.16):
        weights = error_prior(size)
        assert len(weights) == 9
        assert weights[0] == 0.01
        assert min(weights) >= 0.001
        assert weights[[0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32].index(size)] == 1.0
    assert error_prior(0.0)[1:] == (0.001,) * 8


def small_history(seed):
    """A few rewards of a few groups: Bernoulli, shares, all alike, some groups always sold."""
    rng = np.random.default_rng(seed)
    n_groups, n_arms = int(rng.integers(4, 9)), int(rng.integers(2, 5))
    group, arm = (index.ravel() for index in np.indices((n_groups, n_arms)))
    repeats = int(rng.choice([1, 2, 9]))
    group, arm = np.repeat(group, repeats), np.repeat(arm, repeats)
    rewards = [
        (rng.random(group.size) < rng.random((n_groups, n_arms))[group, arm]).astype(float),
        rng.beta(2, 3, group.size),
        np.full(group.size, 0.25),
        (arm == 0).astype(float),
        np.where(group < 2, 1.0, rng.integers(0, 2, group.size)),
    ][seed % 5]
    values = np.array([[0.5, 2, 9, 40], [-3, 0, 2, 9]][seed % 2], float)
    return {"group": group, "arm": values[arm], "reward": rewards}


@pytest.mark.parametrize("seed", range(10))
def test_small_histories_give_a_model_and_finite_numbers(seed, monkeypatch):
    monkeypatch.setattr(standard_errors, "N_REFITS", 2)
    found = fit(small_history(seed), **COLUMNS, reward_range=(0.0, 1.0), horizon=20, runs=2)
    assert np.isfinite(found.model.means(np.linspace(0, 1, 5))).all()
    assert np.isfinite(found.arms.to_numpy(float)).all()
    assert np.isfinite(found.groups[["theta", "low", "high", "misfit_p"]].to_numpy()).all()
    assert found.share >= 0 or not found.homogeneity.differ()
    assert str(found)
