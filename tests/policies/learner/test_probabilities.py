"""The probabilities of the next arm, against the shares of many decisions."""

import dataclasses
import math

import numpy as np
import pytest

from globalbandits.errors import PolicyError, RewardError
from globalbandits.model import RewardModel, VectorModel
from globalbandits.model.catalogue import demand
from globalbandits.policies import (
    IDS,
    UCB1,
    WAGP,
    EpsilonGreedy,
    FixedArm,
    GridThompson,
    Guarded,
    Learner,
    Limited,
    Policy,
    RandomEffectsThompson,
    ThompsonSampling,
    Uniform,
    stateless,
)
from globalbandits.policies.learner.probabilities import follow_draws
from tests.policies.contract import observe
from tests.policies.ours import our_policies

SHOP = demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0], cost=1.5)
DRAWN = {"thompson_sampling", "random_effects_thompson", "ts_c"}


def shares(learner, n, seed=5):
    """The shares of decisions with independent generators."""
    rng = np.random.default_rng(seed)
    arms = [learner.select(rng=rng, record=False) for _ in range(n)]
    return np.bincount(arms, minlength=learner.model.n_arms) / n


def posterior_weights(learner, means):
    """Posterior weights of points with these means, from the likelihood and a uniform prior."""
    sums = learner.pulls * np.nan_to_num(learner.means)
    logs = np.log(means) @ sums + np.log1p(-means) @ (learner.pulls - sums)
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


@pytest.mark.parametrize("kind", sorted(our_policies()))
@pytest.mark.parametrize("n_rewards", [0, 25])
def test_every_policy_has_the_shares_of_its_decisions(kind, n_rewards):
    learner = Learner(our_policies()[kind], SHOP, seed=3, compiled=False)
    observe(learner, n_rewards)
    before = learner.state()["generator"]
    found = learner.probabilities(draws=300)
    assert learner.state()["generator"] == before
    assert sum(found) == pytest.approx(1.0)
    # A policy may start with one arm that needs no draw.
    assert found.exact or kind in DRAWN
    n = 300
    error = np.sqrt(np.maximum(np.asarray(found) * (1 - np.asarray(found)), 1 / n) * 2 / n)
    assert np.all(np.abs(shares(learner, n) - found) <= 5 * error)


def test_a_policy_that_draws_nothing_is_certain():
    learner = Learner(UCB1(), SHOP, seed=0)
    observe(learner, 20)
    found = learner.probabilities()
    assert (found.exact, found.draws, max(found)) == (True, 0, 1.0)
    assert found[learner.select()] == 1.0


def test_ties_share_evenly():
    steady = RewardModel.from_functions([lambda t: 0.3 * t, lambda t: 0.3 * t, lambda t: 0.1 * t])
    learner = Learner(WAGP(), steady, seed=0)
    assert learner.probabilities()[:] == pytest.approx([1 / 3] * 3)
    learner.update(0, 0.2)
    assert learner.probabilities()[:] == pytest.approx([0.5, 0.5, 0.0])


def test_mixtures_in_closed_form():
    greedy = Learner(EpsilonGreedy(epsilon=0.2), SHOP, seed=0)
    greedy.update([0, 1, 2, 3, 4], [0, 0, 1, 0, 0])
    assert greedy.probabilities()[:] == pytest.approx([0.04, 0.04, 0.84, 0.04, 0.04])
    assert Learner(Uniform(), SHOP).probabilities()[:] == pytest.approx([0.2] * 5)
    crossing = RewardModel.from_functions(
        [lambda t: 0.9 * t, lambda t: 0.9 - 0.9 * t, lambda t: 0.5 + 0.01 * t]
    )
    ids = Learner(IDS(), crossing, seed=0)
    rng = np.random.default_rng(0)
    for _ in range(25):
        ids.update(int(rng.integers(3)), float(rng.random() < 0.4))
    _, _, _, state = ids.parts
    assert 0.0 < state.chance[0] < 1.0
    mixed = np.zeros(3)
    np.add.at(mixed, state.pair, [state.chance[0], 1 - state.chance[0]])
    assert ids.probabilities()[:] == pytest.approx(mixed.tolist())


def test_grid_thompson_has_the_posterior_mass_of_the_regions():
    """The masses from the likelihood itself, on the middles of the grid's cells."""
    learner = Learner(GridThompson(cells=400), SHOP, seed=0)
    observe(learner, 30)
    low, high = SHOP.domain
    thetas = low + (high - low) * (np.arange(400) + 0.5) / 400
    weights = posterior_weights(learner, SHOP.means(thetas))
    best = [SHOP.best_arms(theta)[0] for theta in thetas]
    expected = np.bincount(best, weights, minlength=5)
    assert learner.probabilities()[:] == pytest.approx(expected.tolist(), abs=1e-9)


def test_grid_thompson_of_two_numbers_has_the_shares_of_its_decisions():
    model = VectorModel(
        "level * exp(-slope * arm)",
        [2.0, 4.0, 6.0],
        domain={"level": (0.1, 0.9), "slope": (0.05, 0.6)},
        value="arm * mean",
    )
    learner = Learner(GridThompson(), model, seed=0, compiled=False)
    learner.update([0, 1, 2, 0, 1, 2], [1, 0, 0, 0, 1, 0])
    found = learner.probabilities()
    assert found.exact
    error = np.sqrt(np.asarray(found) * (1 - np.asarray(found)) / 300) + 1e-3
    assert np.all(np.abs(shares(learner, 300) - found) < 5 * error)


def test_wrappers_follow_the_policy_inside():
    learner = Learner(Guarded(EpsilonGreedy(epsilon=0.5)), SHOP, seed=0, compiled=False)
    observe(learner, 10)
    found = learner.probabilities()
    assert found.exact
    assert min(found) > 0.1 / 5


@pytest.mark.parametrize("allowed", [[2, 4], [0, 1], [3], [0, 2, 3, 4]])
def test_grid_thompson_among_the_allowed_arms_is_exact(allowed):
    """By brute force on the middles of the grid's cells."""
    learner = Learner(GridThompson(cells=500), SHOP, seed=0)
    observe(learner, 6)
    found = learner.probabilities(allowed=allowed)
    assert found.exact
    low, high = SHOP.domain
    thetas = low + (high - low) * (np.arange(500) + 0.5) / 500
    weights = posterior_weights(learner, SHOP.means(thetas))
    best = np.array(allowed)[SHOP.worth(thetas)[:, allowed].argmax(axis=1)]
    expected = np.bincount(best, weights, minlength=5)
    assert found[:] == pytest.approx(expected.tolist(), abs=1e-9)


def test_grid_thompson_in_a_context_is_exact():
    model = RewardModel(
        lambda theta, p, context: (0.9 if context == "weekday" else 0.6) * np.exp(-theta * p),
        [2.0, 3.0, 4.0, 5.0],
        domain=(0.1, 0.8),
        contexts=["weekday", "weekend"],
        value=lambda mean, p, context: (p - (1.0 if context == "weekday" else 2.5)) * mean,
    )
    learner = Learner(GridThompson(cells=400), model, seed=0)
    for arm, reward, context in [(0, 1, "weekday"), (3, 0, "weekend"), (1, 0, "weekend")] * 2:
        learner.update(arm, reward, context=context)
    thetas = 0.1 + 0.7 * (np.arange(400) + 0.5) / 400
    prices = np.array(model.arms)
    demand_at = {"weekday": 0.9, "weekend": 0.6}
    means = {c: level * np.exp(-np.outer(thetas, prices)) for c, level in demand_at.items()}
    likelihood = means["weekday"][:, 0] ** 2
    likelihood *= ((1 - means["weekend"][:, 3]) * (1 - means["weekend"][:, 1])) ** 2
    for context, cost in [("weekday", 1.0), ("weekend", 2.5)]:
        for allowed in [None, [0, 2, 3]]:
            found = learner.probabilities(context=context, allowed=allowed)
            assert found.exact
            arms = np.arange(4) if allowed is None else np.array(allowed)
            best = arms[((prices - cost) * means[context])[:, arms].argmax(axis=1)]
            expected = np.bincount(best, likelihood, minlength=4) / likelihood.sum()
            assert found[:] == pytest.approx(expected.tolist(), abs=1e-9)


def test_grid_thompson_of_two_numbers_among_the_allowed_arms():
    model = demand.exponential([2.0, 3.0, 4.0, 5.0], cost=1.5, level=(0.05, 0.6))
    learner = Learner(GridThompson(), model, seed=0, compiled=False)
    learner.update([0, 1, 2, 0, 1, 2], [1, 0, 0, 0, 1, 0])
    found = learner.probabilities(allowed=[0, 3])
    assert found.exact
    assert found[1] == found[2] == 0.0
    rng = np.random.default_rng(5)
    arms = [learner.select(rng=rng, record=False, allowed=[0, 3]) for _ in range(600)]
    error = 5 * math.sqrt(found[3] * found[0] / 600)
    assert np.mean(np.array(arms) == 3) == pytest.approx(found[3], abs=error)
    assert 0.05 < found[3] < 0.95


def test_arms_that_tie_share_their_probability_under_a_mask():
    model = RewardModel.from_functions(
        [lambda t: 0.2 + 0.6 * t, lambda t: 0.1 + 0.5 * t, lambda t: 0.1 + 0.5 * t], arms=[0, 1, 2]
    )
    learner = Learner(GridThompson(), model, seed=0)
    assert learner.probabilities(allowed=[1, 2])[:] == pytest.approx([0, 0.5, 0.5])


@pytest.mark.parametrize("kind", sorted(our_policies()))
def test_probabilities_under_a_mask_are_the_shares_of_decisions(kind):
    learner = Learner(our_policies()[kind], SHOP, seed=0, compiled=False)
    observe(learner, 25)
    found = learner.probabilities(allowed=[0, 2, 3], draws=300)
    assert found.exact == (kind not in DRAWN)
    rng = np.random.default_rng(5)
    arms = [learner.select(rng=rng, record=False, allowed=[0, 2, 3]) for _ in range(300)]
    share = np.bincount(arms, minlength=5) / 300
    variance = np.asarray(found) * (1 - np.asarray(found))
    error = np.sqrt(variance / 300 * (1 if found.exact else 2)) + 2e-3
    assert np.all(np.abs(share - found) < 5 * error)


def test_probabilities_of_allowed_arms_in_closed_form():
    learner = Learner(Uniform(), SHOP, seed=0)
    assert learner.probabilities(allowed=[1, 4])[:] == pytest.approx([0, 0.5, 0, 0, 0.5])
    with pytest.raises(RewardError, match="allowed must"):
        learner.probabilities(allowed=[])


def test_draws_have_an_error_and_repeat():
    learner = Learner(ThompsonSampling(), SHOP, seed=0)
    observe(learner, 20)
    found = learner.probabilities(draws=500)
    assert not found.exact
    assert found.draws == 500
    assert found == learner.probabilities(draws=500)
    share = max(found)
    assert max(found.standard_errors) == pytest.approx(
        math.sqrt(share * (1 - share) / 500), rel=0.2
    )
    assert "500 draws" in str(found)
    other = learner.probabilities(draws=500, rng=np.random.default_rng(1))
    assert other != found
    with pytest.raises(PolicyError, match="draws must"):
        learner.probabilities(draws=0)


def test_compiled_rules_draw_the_same_shares():
    plain = Learner(ThompsonSampling(), SHOP, seed=0, compiled=False)
    fast = Learner(ThompsonSampling(), SHOP, seed=0, compiled=True)
    for learner in (plain, fast):
        observe(learner, 20)
    assert plain.probabilities(draws=200) == fast.probabilities(draws=200)
    assert plain.select() == fast.select()


def test_the_inverse_of_a_logged_probability_is_not_too_large_on_average():
    """E[1 / of_chosen] = (1 - (1 - p)^(n + 1)) / p, at most 1 / p."""
    learner = Learner(RandomEffectsThompson(), SHOP, seed=0, compiled=False)
    found = learner.probabilities(draws=10)
    never = next(arm for arm in range(5) if found[arm] == 0.0)
    assert found.of_chosen(never) == pytest.approx(1 / 11)
    n, p = 12, 0.2
    counts = np.arange(n + 1)
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in counts]
    logged = [
        dataclasses.replace(found, values=np.full(5, k / n), draws=n).of_chosen(0) for k in counts
    ]
    mean = sum(chance / log for chance, log in zip(chances, logged, strict=True))
    assert mean == pytest.approx((1 - (1 - p) ** (n + 1)) / p)


def test_a_policy_with_too_many_outcomes_is_drawn_from():
    assert follow_draws(lambda rng: int(rng.random() * 5_000) % 2, 2) is None
    assert follow_draws(lambda rng: int(rng.random() * rng.random() > 0.5), 2) is None
    assert follow_draws(lambda rng: int(np.sqrt(rng.random()) > 0.5), 2) is None


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda rng: int(1 - rng.random() < 0.3), 0.3),
        (lambda rng: int(2 * rng.random() - 0.5 >= 1.0), 0.25),
        (lambda rng: int(np.float64(2.0) * rng.random() > np.float64(0.5)), 0.75),
        (lambda rng: int(0.3 < rng.random() <= 0.4 or rng.random() < 0.5), 0.1 + 0.9 * 0.5),
        (lambda rng: int(max(rng.random(), 0.5) < 0.6), 0.6),
        (lambda rng: int(rng.random() / 2 < 0.2), 0.4),
        (lambda rng: int((u := rng.random()) * u * u * 8 < 0.3**3), 0.15),
    ],
)
def test_draws_are_followed_through_arithmetic(choose, expected):
    found = follow_draws(choose, 2)
    assert found is not None
    assert found[1] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("choose", "expected"),
    [
        (lambda u: int(4.0 * u) if u >= 0.5 else 0, [0.5, 0.0, 0.25, 0.25]),
        (lambda u: int(3.0 * u + 1.0) if u < 0.5 else 0, [0.5, 1 / 3, 1 / 6, 0.0]),
        (lambda u: int(4.0 * (u * u)), [0.5, 0.5**0.5 - 0.5, 0.75**0.5 - 0.5**0.5, 1 - 0.75**0.5]),
        (lambda u: int(3.0 - (-u)), [0.0, 0.0, 0.0, 1.0]),
        (lambda u: 1 if 0.0 * u + 0.5 < 0.6 else 0, [0.0, 1.0, 0.0, 0.0]),
        (lambda u: int(2.0 * u) + int(4.0 * u) // 3, [0.5, 0.25, 0.25, 0.0]),
    ],
)
def test_a_rounded_draw_has_the_shares_of_its_integers(choose, expected):
    found = follow_draws(lambda rng: choose(rng.random()), 4)
    assert found == pytest.approx(expected)


@pytest.mark.parametrize(
    "choose",
    [
        lambda u: int(-1.0 * u),  # falls
        lambda u: int(u - 0.5),  # may be negative
        lambda u: int(2_001 * u) % 2,  # too many integers
        lambda u: int(u / u),
        lambda u: int((u + 1.0) * u),
        lambda u: int(u / 0.0 < 1.0),
    ],
)
def test_other_arithmetic_is_not_followed(choose):
    assert follow_draws(lambda rng: choose(rng.random()), 2) is None


def test_one_draw_may_be_compared_several_times():
    def choose(rng):
        left, weights = rng.random() * 10.0, [1.0, 2.0, 3.0, 4.0]
        for arm, weight in enumerate(weights):
            left = left - weight
            if left < 0.0:
                return arm
        return 3

    assert follow_draws(choose, 4).tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4])


def test_a_policy_of_your_own():
    def select(setup, stats, state, rng):
        return int(rng.integers(2))

    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Coin(Policy):
        rules = stateless(select, lambda setup, stats, state: math.nan)
        compiled = False

        def setup(self, model):
            return (model.tables,)

    found = Learner(Coin(), SHOP, seed=0, compiled=False).probabilities(draws=400)
    assert not found.exact
    assert found[0] == pytest.approx(0.5, abs=5 * 0.025)


def test_a_policy_without_an_admissible_arm_has_no_probabilities():
    policy = Limited(FixedArm(arm=0), max_open=1)
    learner = Learner(policy, SHOP, seed=0)
    assert learner.probabilities()[0] == 1.0
    learner.select()
    with pytest.raises(PolicyError, match="allows no arm now"):
        learner.probabilities()


def test_a_sequence_a_text_and_a_table():
    found = Learner(Uniform(), SHOP, seed=0).probabilities()
    assert len(found) == 5
    assert np.asarray(found).sum() == pytest.approx(1.0)
    assert str(found) == "2: 0.2, 3: 0.2, 4: 0.2, 5: 0.2, 6: 0.2 (exact)"
    assert "<table>" in found._repr_html_()
