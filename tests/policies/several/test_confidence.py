"""UCB-S, UCB-C and TS-C with two unknown numbers, against every point of a dense grid."""

import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.statistics import no_statistics
from tests.oracles.several import plausible_set
from tests.policies import contract
from tests.policies.several.drawn_rewards import draw_statistics

PRICES = np.linspace(2.0, 8.0, 7)
MARGINS = PRICES - 1.5
# Shops in which some 3 % and some 50 % of the visitors buy.
SHOPS = {"3 %": ((0.02, 0.2), (0.05, 0.2)), "50 %": ((0.5, 1.0), (0.8, 0.2))}


def make_shop(level):
    return gb.demand.exponential(PRICES.tolist(), cost=1.5, level=level, slope=(0.02, 0.6))


def state_of(policy, model, stats):
    setup = policy.setup(model)
    rules = policy.rules_of(setup)
    state = rules.init(setup)
    rules.rebuild(setup, stats, state)
    return setup, rules, state


def dense_set(model, stats, radii):
    return plausible_set(
        lambda x, y: model.means(model.from_unit(np.stack([x, y], axis=-1))),
        lambda means: MARGINS * means / MARGINS[-1],
        stats.sums / stats.counts,
        radii,
        n=500,
    )


@pytest.mark.parametrize("shop", SHOPS)
@pytest.mark.parametrize("best_only", [True, False])
@pytest.mark.parametrize("n_rewards", [200, 20_000, 1_000_000])
def test_the_set_is_that_of_a_dense_grid(shop, best_only, n_rewards):
    level, theta = SHOPS[shop]
    model = make_shop(level)
    stats = draw_statistics(
        model, theta, n_rewards, np.random.default_rng(n_rewards), best_only=best_only
    )
    _, _, state = state_of(gb.UCBS(), model, stats)
    # alpha is 3, and 1/4 the variance.
    radii = np.sqrt(0.75 * math.log(stats.total[0] + 1) / stats.counts)
    dense = dense_set(model, stats, radii)
    assert state.posterior.mass[0] == pytest.approx(dense.size, rel=0.05)
    assert state.indices == pytest.approx(dense.worths, rel=0.12)
    _, _, state = state_of(gb.UCBC(alpha=1.0, variance=0.0475), model, stats)
    radii = np.sqrt(2.0 * 0.0475 * math.log(stats.total[0] + 1) / stats.counts)
    dense = dense_set(model, stats, radii)
    competes = state.indices > -np.inf
    assert np.all(competes[dense.best > 0.005])
    assert not np.any(competes[dense.best == 0.0])
    own = stats.sums / stats.counts + radii
    assert state.indices[competes] == pytest.approx((MARGINS * own / MARGINS[-1])[competes])


@pytest.mark.parametrize("policy", [gb.UCBS(), gb.UCBC()], ids=lambda policy: policy.kind)
def test_a_mask_ranks_the_offered_arms_by_their_indices(policy):
    level, theta = SHOPS["50 %"]
    model = make_shop(level)
    stats = draw_statistics(model, theta, 2_000, np.random.default_rng(2_000), best_only=False)
    setup, rules, state = state_of(policy, model, stats)
    rng = np.random.default_rng(0)
    offered = np.array([0, 4, 5])
    best = offered[np.argmax(state.indices[offered])]
    assert rules.select_among(setup, stats, state, offered, rng) == best
    assert rules.select(setup, stats, state, rng) == np.argmax(state.indices)


def test_draws_are_among_the_competitive_arms_of_ucb_c():
    level, theta = SHOPS["50 %"]
    model = make_shop(level)
    stats = draw_statistics(model, theta, 2_000, np.random.default_rng(2_000), best_only=False)
    setup, rules, state = state_of(gb.TSC(variance=0.05), model, stats)
    competes = np.flatnonzero(state.indices > -np.inf)
    assert 1 < len(competes) < model.n_arms
    rng = np.random.default_rng(0)
    chosen = {rules.select(setup, stats, state, rng) for _ in range(300)}
    assert len(chosen) > 1
    assert chosen <= set(competes.tolist())
    assert rules.select_among(setup, stats, state, np.array([0, competes[0]]), rng) == competes[0]


def test_without_a_plausible_point_every_arm_is_possible():
    """Dear goods sell better than cheap ones, which no curve of the model allows."""
    model = make_shop((0.5, 1.0))
    stats = no_statistics(model.n_arms)
    stats.counts[:] = 1_000
    stats.sums[:] = np.linspace(100.0, 700.0, model.n_arms)
    stats.squares[:] = stats.sums
    stats.total[0] = 1_000 * model.n_arms
    setup, rules, state = state_of(gb.UCBS(), model, stats)
    rng = np.random.default_rng(0)
    chosen = {rules.select(setup, stats, state, rng) for _ in range(100)}
    assert chosen == set(range(model.n_arms))
    assert "the confidence set is empty" in gb.UCBS().reason(setup, stats, state)
    some = {rules.select_among(setup, stats, state, np.array([2, 5]), rng) for _ in range(30)}
    assert some == {2, 5}
    _, _, state = state_of(gb.UCBC(), model, stats)
    assert np.isfinite(state.indices).all()
    learner = gb.Learner(gb.UCBS(alpha=0.01), model, seed=0, compiled=False)
    learner.update(np.repeat([0, 6], 4), np.repeat([0.0, 1.0], 4))
    assert learner.estimate is None
    assert learner.explain().estimate is None


def test_every_context_has_competitive_arms():
    model = gb.VectorModel(
        "expit(level + context - slope*arm)",
        [1.0, 2.0, 3.0],
        domain={"level": (1.0, 3.0), "slope": (0.3, 3.0)},
        contexts={"many": 1.5, "few": -1.0},
        value="arm * mean",
    )
    learner = gb.Learner(gb.UCBC(), model, seed=1, compiled=False)
    competes = (learner.parts[3].indices > -np.inf).reshape(2, 3)
    shares = np.array([model.in_context(name).regions().shares for name in model.contexts])
    assert np.array_equal(competes, shares > 0.0)
    assert learner.select(context="few", allowed=[0, 2]) in (0, 2)


def test_compiled_rules_choose_the_same_arms():
    """UCB-C compiles all that the three have in common."""
    level, theta = SHOPS["50 %"]
    model = make_shop(level)
    env = gb.Environment(model, dict(zip(model.parameters, theta, strict=True)))
    contract.check_same_bits(gb.UCBC(), env, 12)
