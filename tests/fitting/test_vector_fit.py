"""A prior of two unknown numbers from the history of groups."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting import VectorFit, fit
from globalbandits.fitting.assessment import held_out_scores
from globalbandits.fitting.estimation import normal_population

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
LOW, LENGTH = np.array([0.02, 0.02]), np.array([0.48, 0.58])
COLUMNS = {"group": "store", "arm": "price"}


@pytest.fixture(autouse=True)
def _coarse(monkeypatch):
    """Few folds and points; the fit is the same."""
    monkeypatch.setattr(held_out_scores, "N_FOLDS", 2)
    monkeypatch.setattr(normal_population, "N_CELLS", 32)


def make_shop():
    box = {"level": (0.02, 0.5), "slope": (0.02, 0.6)}
    return gb.demand.exponential(PRICES, cost=1.5, **box)


def history(thetas, n_rewards, seed=0):
    """One row per store and price: number and mean of its sales."""
    rng = np.random.default_rng(seed)
    means = make_shop().means(thetas)
    sold = rng.binomial(n_rewards, means) / n_rewards
    store, price = np.indices(means.shape)
    return {
        "store": store.ravel(),
        "price": np.array(PRICES)[price.ravel()],
        "n": np.full(store.size, n_rewards),
        "mean": sold.ravel(),
        "variance": (sold * (1 - sold)).ravel() * n_rewards / (n_rewards - 1),
    }


def draw_stores(n_groups, sd, correlation=0.0, seed=1):
    rng = np.random.default_rng(seed)
    covariance = np.diag(np.square(sd)) + 0.0
    covariance[0, 1] = covariance[1, 0] = correlation * sd[0] * sd[1]
    drawn = rng.multivariate_normal([0.4, 0.45], covariance, n_groups)
    return LOW + LENGTH * np.clip(drawn, 0.0, 1.0)


def test_the_prior_is_that_of_the_stores():
    stores = draw_stores(60, (0.12, 0.1), 0.6)
    found = fit(history(stores, 4_000), **COLUMNS, curves=make_shop())
    assert isinstance(found, VectorFit)
    # With this many rewards the numbers of each store are known to a twentieth of their spread.
    assert list(found.prior.mean.values()) == pytest.approx(stores.mean(axis=0), rel=0.03)
    assert list(found.prior.sd.values()) == pytest.approx(stores.std(axis=0), rel=0.2)
    assert found.prior.correlation == pytest.approx(np.corrcoef(stores.T)[0, 1], abs=0.15)
    assert found.groups["level"].to_numpy() == pytest.approx(stores[:, 0], abs=0.05)
    assert found.scores.loc["two - one", "difference"] > 1.0
    assert "The second number is needed" in str(found)
    assert found.numbers == 2
    assert found.model.prior == found.prior
    assert found.policy.prior is not None
    learner = gb.Learner(found.policy, found.model, seed=1, compiled=False)
    assert learner.select() in range(7)


def test_one_number_is_enough_for_stores_on_a_line():
    """Stores differ along the diagonal of the box; the horizon is short."""
    along = np.clip(np.random.default_rng(2).normal(0.5, 0.15, 40), 0.05, 0.95)
    stores = LOW + LENGTH * np.stack([along, 1.0 - along], axis=1)
    found = fit(history(stores, 300), **COLUMNS, curves=make_shop(), horizon=500)
    assert found.numbers == 1
    assert "one number, along the main axis" in found.verdict.sentences[0]
    assert isinstance(found.model, gb.RewardModel)
    direction = found.axis.direction
    assert abs(direction[0] * direction[1]) == pytest.approx(0.5, abs=0.1)
    assert direction[0] * direction[1] < 0.0
    assert found.policy.horizon == 500
    assert len(found.policy.theta_prior) == 20
    low, high = found.model.domain
    middle = found.model.means(0.5 * (low + high))
    assert middle == pytest.approx(make_shop().means(LOW + 0.5 * LENGTH), rel=0.3)
    learner = gb.Learner(found.policy, found.model, seed=1, compiled=False)
    learner.update(2, 1.0)
    assert low <= learner.estimate <= high


def test_curves_that_do_not_fit_are_not_deployed():
    rows = history(draw_stores(40, (0.1, 0.1)), 400)
    rng = np.random.default_rng(5)
    rows["mean"] = rng.uniform(0.05, 0.2, 7)[np.searchsorted(PRICES, rows["price"])]
    rows["variance"] = rows["mean"] * (1 - rows["mean"]) * 400 / 399
    found = fit(rows, **COLUMNS, curves=make_shop())
    assert (found.numbers, found.verdict.action) == (0, "independent")
    assert found.policy == gb.IndependentGittins()
    assert "do not fit" in str(found)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cost": 1.0}, "cost must be left out where curves are a VectorModel, got 1.0"),
        ({"by": "week"}, "by must be left out where curves are a VectorModel"),
        ({"curves": "exponential"}, "curves must be a RewardModel or a VectorModel, got 'exp"),
        (
            {"curves": gb.demand.exponential([2.0, 3.0], cost=1.5, level=(0.02, 0.5))},
            r"curves must have the history's arm 4.0, has: 2.0, 3.0",
        ),
        (
            {
                "curves": gb.VectorModel(
                    "a + b*exp(-c*arm)", PRICES, {"a": (0, 0.1), "b": (0.1, 0.5), "c": (0.1, 1)}
                )
            },
            r"curves must have two unknown numbers, got 3 \(a, b, c\): fix the others",
        ),
    ],
)
def test_wrong_arguments(changes, message):
    options = {"curves": make_shop()} | changes
    with pytest.raises(FitError, match=message):
        fit(history(draw_stores(6, (0.1, 0.1)), 50), **COLUMNS, **options)
