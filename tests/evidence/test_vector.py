"""Evidence of several unknown numbers, against dense grids and in adaptive play."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.special import betaln

import globalbandits as gb
from benchmarks import coverage
from globalbandits.errors import EvidenceError
from globalbandits.evidence import Evidence, vector_inference
from globalbandits.evidence.vector_inference import VectorInference, log_gamma
from globalbandits.model.catalogue import demand
from globalbandits.model.objectives import Benefit
from tests.soak import length

PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def shop():
    return gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 0.2), slope=(0.02, 0.6))


def hump():
    # The mean of each arm turns in the first number.
    return gb.VectorModel(
        "0.05 + b*exp(-9*(a - arm)**2)", [0.2, 0.5, 0.8], {"a": (0.0, 1.0), "b": (0.2, 0.9)}
    )


def trial():
    return gb.dose.logistic(
        [1.0, 2.5, 5.0, 10.0], intercept=(-4.0, 1.0), slope=(0.3, 3.0), reference=5.0, target=0.25
    )


def inference(model, counts, sums):
    counts, sums = np.asarray(counts), np.asarray(sums, float)
    return VectorInference(model, counts, sums, np.stack([counts - sums, sums], axis=1))


def played(model, n, seed):
    """Counts and sums of a good policy: mostly the best arm, a few of the others."""
    rng = np.random.default_rng(seed)
    theta = model.from_unit(rng.random(model.n_parameters))
    counts = np.full(model.n_arms, max(1, round(2 * math.log(n))))
    counts[model.best_arms(theta)[0]] = n
    return theta, counts, rng.binomial(counts, model.means(theta))


def dense(model, counts, sums, n=1_000):
    """log L on the middles of n x n cells, and the best arm there."""
    middles = (np.arange(n) + 0.5) / n
    values, best = [], []
    for x in middles:
        thetas = model.from_unit(np.stack([np.full(n, x), middles], axis=1))
        means = np.clip(model.means(thetas), 1e-6, 1 - 1e-6)
        values.append(np.log(means) @ sums + np.log1p(-means) @ (counts - sums))
        best.append(model.worth(thetas).argmax(axis=1))
    return np.array(values), np.array(best)


CASES = list(itertools.product([shop, hump, trial], [30, 1_000, 30_000]))


@pytest.mark.parametrize(("build", "n"), CASES, ids=lambda case: getattr(case, "__name__", case))
def test_statements_agree_with_a_dense_grid(build, n):
    model = build()
    _, counts, sums = played(model, n, seed=n)
    found = inference(model, counts, sums)
    values, best = dense(model, counts, sums)
    # The marginal likelihood is bounded from below, and close.
    marginal = np.logaddexp.reduce(values.ravel()) - math.log(values.size)
    assert marginal - 0.3 <= found.log_marginal <= marginal + 1e-3
    # The largest likelihood is bounded from above, and close.
    assert values.max() - 1e-9 <= found.top[0] <= values.max() + 0.3
    # p-values are rounded up.
    p_values = found.p_values()
    for arm in range(model.n_arms):
        largest = values[best == arm].max(initial=-math.inf)
        p_value = min(1.0, math.exp(min(largest - found.log_marginal, 0.0)))
        assert p_values[arm] >= p_value * (1 - 1e-9)
        # Small p-values may be rounded up more, where an arm is best on a thin part of the box.
        slack = 0.3 if p_value > 1e-3 else 1.5
        assert p_values[arm] <= max(p_value * math.exp(slack), 2e-6)
    # The cover contains every point of the set, and not much else.
    cover = found.cover(0.95)
    inside = values >= found.log_marginal + math.log(0.05)
    assert inside.mean() - 1e-9 <= cover.share <= 1.3 * inside.mean() + 0.004
    places = (np.argwhere(inside)[:: max(1, int(inside.sum()) // 200)] + 0.5) / len(values)
    for place in places:
        assert ((cover.low <= place) & (place <= cover.high)).all(axis=1).any()


def test_three_numbers_against_random_points():
    model = gb.VectorModel(
        "top * expit(level - slope*arm)",
        np.linspace(1.0, 4.0, 6),
        {"level": (-1, 4), "slope": (0.25, 3), "top": (0.3, 1)},
        value="(arm - 0.5) * mean",
    )
    theta, counts, sums = played(model, 100, seed=5)
    found = inference(model, counts, sums)
    points = np.random.default_rng(0).random((100_000, 3))
    means = model.means(model.from_unit(points))
    values = np.log(means) @ sums + np.log1p(-means) @ (counts - sums)
    weights = np.exp(values - values.max())
    error = weights.std() / weights.mean() / math.sqrt(len(weights))
    marginal = values.max() + math.log(weights.mean())
    assert marginal - 0.5 <= found.log_marginal <= marginal + 4 * error
    assert values.max() <= found.top[0] <= values.max() + 0.5
    assert found.holds(theta, 0.95)
    best = model.worth(model.from_unit(points)).argmax(axis=1)
    p_values = found.p_values()
    for arm in range(6):
        largest = values[best == arm].max(initial=-math.inf)
        assert p_values[arm] >= math.exp(min(largest - found.log_marginal, 0.0)) * (1 - 1e-9)


def test_contenders_of_a_context_agree_with_a_dense_grid():
    model = gb.VectorModel(
        "level * exp(-slope*arm) * (1 + context)",
        [2.0, 3.0, 4.0, 5.0, 6.0],
        {"level": (0.02, 0.2), "slope": (0.02, 0.6)},
        contexts={"weekday": 0.0, "holiday": 1.0},
        # Service costs more on holidays, so that another price is best.
        value="(arm - 1.5 - context) * mean",
    )
    cells, n_rewards = model.cells, 4_000
    rng = np.random.default_rng(3)
    learner = gb.Learner(gb.Uniform(), model, seed=0)
    truth = cells.means([0.12, 0.35])
    sums = np.zeros(cells.n_arms)
    for place, context in enumerate(model.contexts):
        arms = rng.integers(model.n_arms, size=n_rewards)
        rewards = (rng.random(n_rewards) < truth[place * model.n_arms + arms]).astype(float)
        learner.update(arms, rewards, context=context)
        np.add.at(sums, place * model.n_arms + arms, rewards)
    values, _ = dense(cells, learner.pulls.ravel(), sums, n=400)
    marginal = np.logaddexp.reduce(values.ravel()) - math.log(values.size)
    middles = (np.arange(400) + 0.5) / 400
    points = np.stack(np.meshgrid(middles, middles, indexing="ij"), axis=-1).reshape(-1, 2)
    worth = cells.worth(cells.from_unit(points)).reshape(400, 400, 2, model.n_arms)
    answers = []
    for place, context in enumerate(model.contexts):
        best = worth[:, :, place].argmax(axis=-1)
        found = learner.contenders(context=context)
        for arm, p_value in enumerate(found.p_values):
            largest = values[best == arm].max(initial=-math.inf)
            naive = math.exp(min(largest - marginal, 0.0))
            # Rounded up: a box in which two arms can be best counts for both.
            assert naive * (1 - 1e-2) <= p_value <= max(8 * naive, 2e-6)
        assert found.values == model.arms
        assert model.best_arms([0.12, 0.35], context=context)[0] in found.arms
        answers.append(found.arms)
    assert answers[0] != answers[1]


def bets_by_hand(model, counts, sums, n_points):
    """Log of the mixture likelihood that bets on means near n_points by n_points of the family."""
    seen = counts > 0
    wins, losses = sums[seen], (counts - sums)[seen]
    free = float((betaln(wins + 0.5, losses + 0.5) - betaln(0.5, 0.5)).sum())
    middles = (np.arange(n_points) + 0.5) / n_points
    near = []
    for x, y in itertools.product(middles, middles):
        means = model.means(model.from_unit([x, y]))[seen]
        for a in (20.0, 80.0, 320.0, 1280.0):
            terms = betaln(a * means + wins, a * (1 - means) + losses) - betaln(
                a * means, a * (1 - means)
            )
            near.append(terms.sum())
    family = np.logaddexp.reduce(near) - math.log(len(near))
    return float(np.logaddexp(free, family)) - math.log(2.0)


def test_the_e_value_by_hand():
    model = shop()
    counts, sums = np.array([40, 0, 0, 30, 0, 0, 20]), np.array([3.0, 0, 0, 2.0, 0, 0, 1.0])
    values, _ = dense(model, counts, sums, n=800)
    expected = bets_by_hand(model, counts, sums, 24) - values.max()
    assert inference(model, counts, sums).log_e_against == pytest.approx(expected, abs=0.1)


def test_a_wrong_family_is_refuted_and_its_curves_are_not_used():
    model = shop()
    evidence = gb.Evidence(model)
    rng = np.random.default_rng(4)
    # Demand that rises with the price.
    means = np.linspace(0.02, 0.14, 7)
    for arm in range(7):
        evidence.add_many(np.full(3_000, arm), (rng.random(3_000) < means[arm]).astype(float))
    against = evidence.against_model()
    assert against.refuted(0.001)
    assert set(against.theta) == {"level", "slope"}
    assert sum(against.shares) == pytest.approx(1.0)
    contenders = evidence.contenders()
    assert contenders.model_free
    assert 6 in contenders
    assert math.isnan(evidence.earnings(0).low)
    assert "sees little of what is wrong" in against.explain()


@pytest.mark.parametrize("pseudo_counts", [0.0, 4.0], ids=["Bernoulli", "Beta"])
def test_coverage_in_adaptive_play(pseudo_counts):
    # The benchmark `coverage` plays 2,000 runs. Here 24 runs of two models: with an error rate
    # of 5 % more than 7 of 48 runs are wrong with probability 0.002.
    wrong = np.zeros(3, int)
    for number, model in enumerate((shop(), trial())):
        played = coverage.play(model, 24, seed=number, pseudo_counts=pseudo_counts)
        wrong += np.array(coverage.errors(model, played))
    assert wrong.max() <= 7


def test_the_set_shrinks_around_the_truth():
    model = shop()
    truth = {"level": 0.1, "slope": 0.2}
    rng = np.random.default_rng(1)
    evidence = gb.Evidence(model)
    shares = []
    for n in (100, 1_000, 10_000):
        for arm, mean in enumerate(model.means(truth)):
            evidence.add_many(np.full(n, arm), (rng.random(n) < mean).astype(float))
        region = evidence.region()
        assert truth in region
        for name, (low, high) in region.intervals.items():
            assert low <= truth[name] <= high
        shares.append(region.share)
    assert shares[0] > 4 * shares[1] > 16 * shares[2]
    assert [0.15, 0.5] not in region
    assert str(region).startswith("level in [")
    assert "projections" in region.explain()


def test_nothing_is_known_without_rewards():
    evidence = gb.Evidence(shop())
    region = evidence.region()
    assert region.intervals == {"level": (0.02, 0.2), "slope": (0.02, 0.6)}
    assert region.share == pytest.approx(1.0)
    assert evidence.against_model().log_e_value == 0.0
    # The lowest price is not best anywhere in this box.
    assert evidence.contenders().arms == (1, 2, 3, 4, 5, 6)
    assert evidence.earnings(2).amount == 0.0
    assert inference(trial(), [0] * 4, [0] * 4).log_marginal == 0.0


def test_earnings_lie_between_those_of_the_set():
    model = shop()
    rng = np.random.default_rng(2)
    truth = [0.1, 0.2]
    evidence = gb.Evidence(model)
    for arm, mean in enumerate(model.means(truth)):
        evidence.add_many(np.full(2_000, arm), (rng.random(2_000) < mean).astype(float))
    found = evidence.earnings(0)
    worth = model.worth(truth)
    assert found.low <= 2_000 * float((worth - worth[0]).sum()) <= found.high
    assert found.low <= found.amount <= found.high


def test_worths_have_the_bounds_of_a_dense_grid():
    model = shop()
    _, counts, sums = played(model, 1_000, seed=5)
    evidence = gb.Evidence(model)
    for arm, (n, ones) in enumerate(zip(counts, sums, strict=True)):
        evidence.add_many(np.full(n, arm), np.repeat([1.0, 0.0], [ones, n - ones]))
    found = evidence.worths()
    values, _ = dense(model, counts, sums, n=300)
    inside = np.argwhere(values >= inference(model, counts, sums).log_marginal + math.log(0.05))
    worths = model.worth(model.from_unit((inside + 0.5) / 300))
    assert (found[:, 1] <= worths.min(axis=0)).all()
    assert (found[:, 2] >= worths.max(axis=0)).all()
    # Bounds are those of small boxes around the set, so that they are a little too wide.
    assert (found[:, 2] - found[:, 1] <= 1.25 * np.ptp(worths, axis=0)).all()
    assert found[:, 0] == pytest.approx(model.worth(evidence.against_model().theta))


def test_one_number_has_a_region_too():
    model = gb.demand.exponential(PRICES, cost=1.5)
    evidence = gb.Evidence(model)
    evidence.update(0, 1.0)
    region, interval = evidence.region(), evidence.interval()
    assert region.intervals == {"theta": (interval.low, interval.high)}
    assert 0.1 in region


@pytest.mark.parametrize("ask", ["interval", "drift", "plot_evidence"])
def test_methods_for_one_number_name_their_replacement(ask):
    with pytest.raises(EvidenceError) as caught:
        getattr(gb.Evidence(shop()), ask)()
    text = str(caught.value)
    assert text.startswith("model must have one unknown number for ")
    assert "got 2 (level, slope): use " in text


def test_a_state_survives_json():
    model = shop()
    evidence = gb.Evidence(model)
    for arm, reward in [(0, 1.0), (3, 0.0), (6, 1.0)] * 20:
        evidence.update(arm, reward)
    again = gb.Evidence.restore(model, json.loads(json.dumps(evidence.state())))
    assert again.region() == evidence.region()
    other = gb.demand.exponential(PRICES, cost=1.5, level=(0.02, 0.3), slope=(0.02, 0.6))
    with pytest.raises(gb.StateError, match="must be of a model with the same curves"):
        gb.Evidence.restore(other, evidence.state())


def test_a_target_uses_the_peak_of_the_value():
    # At the peak both neighbours of an interval's ends are worth less.
    model = gb.VectorModel(
        "a + b*arm", [0.1, 0.5], {"a": (0, 0.3), "b": (0, 0.6)}, value=Benefit(0.25)
    )
    found = inference(model, [10, 10], [2, 4])
    least, most = found.worth_ranges(np.array([[0.1, 0.3]]), np.array([[0.4, 0.5]]))
    assert least[0] == pytest.approx([-0.15, -0.25])
    assert most[0] == pytest.approx([0.0, -0.05], abs=1e-9)


def test_plots_of_worth():
    model = shop()
    evidence = gb.Evidence(model)
    for arm in range(7):
        evidence.update(arm, 0.0)
    figure = evidence.plot_worth(baseline=1)
    assert len(figure.axes) == 1


def test_log_gamma_agrees_with_the_standard_library():
    x = np.geomspace(1e-9, 1e7, 301)
    expected = np.array([math.lgamma(number) for number in x])
    assert log_gamma(x) == pytest.approx(expected, rel=1e-13, abs=1e-13)


def test_very_many_arms_have_fewer_bets_near_the_family():
    n_arms, n = length(1_000, 3_000), length(60, 400)
    prices = np.linspace(1.0, 9.0, n_arms).tolist()
    model = demand.exponential(prices, cost=0.5, level=(0.02, 0.9))
    theta = np.array([0.5, 0.2])
    rng = np.random.default_rng(0)
    arms = rng.integers(0, n_arms, n)
    rewards = (rng.random(n) < model.means(theta)[arms]).astype(float)
    evidence = Evidence(model)
    evidence.add_many(arms, rewards)
    assert not evidence.against_model().refuted()
    # 17 by 17 points have at most 300,000 means of 1,000 arms, and 10 by 10 those of 3,000 arms.
    counts, sums = np.bincount(arms, minlength=n_arms), np.bincount(arms, rewards, n_arms)
    found = inference(model, counts, sums)
    expected = bets_by_hand(model, counts, sums, length(17, 10)) - found.log_likelihood(theta)
    assert found.log_e_at(theta) == pytest.approx(expected, abs=1e-9)


SEARCHES = {
    "top": lambda found: found.top,
    "log_marginal": lambda found: found.log_marginal,
    "cover": lambda found: found.cover(0.95),
    "p_values": lambda found: found.p_values(),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_searches_halve_as_many_cells_as_are_allowed(name, monkeypatch):
    """Exactly the allowed number of cells is halved; with one less the search ends before."""
    model = shop()
    _, counts, sums = played(model, 1_000, seed=2)
    sizes, halved = [], VectorInference._halved

    def note(self, cells):
        sizes.append(4 * len(cells.low))
        return halved(self, cells)

    def halvings(most):
        found = inference(model, counts, sums)
        monkeypatch.setattr(vector_inference, "_MAX_CELLS", {2: 60_000})
        if name != "log_marginal":
            assert found.log_marginal < 0.0
        monkeypatch.setattr(vector_inference, "_MAX_CELLS", {2: most})
        sizes.clear()
        SEARCHES[name](found)
        return list(sizes)

    monkeypatch.setattr(VectorInference, "_halved", note)
    all_sizes = halvings(60_000)
    largest = max(all_sizes)
    at = all_sizes.index(largest)
    assert at > 0
    assert halvings(largest) == all_sizes
    assert halvings(largest - 1) == all_sizes[:at]


def test_a_search_with_few_cells_gives_wider_statements(monkeypatch):
    model = shop()
    _, counts, sums = played(model, 1_000, seed=2)
    full = inference(model, counts, sums)
    wide, narrow = {}, {name: search(full) for name, search in SEARCHES.items()}
    few = inference(model, counts, sums)
    for name, search in SEARCHES.items():
        monkeypatch.setattr(vector_inference, "_MAX_CELLS", {2: 30})
        wide[name] = search(few)
    assert wide["top"][0] > narrow["top"][0]
    assert wide["log_marginal"] < narrow["log_marginal"]
    assert wide["cover"].share > narrow["cover"].share
    assert (wide["p_values"] >= narrow["p_values"]).all()
