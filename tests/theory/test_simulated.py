"""Every bound against regret simulated by the oracle, at all times."""

import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits import theory
from tests.oracles.simulation import (
    NonStationaryWagp,
    Ucb1,
    Wagp,
    bernoulli,
    constant_world,
    lines,
    play,
    power_pair,
    walking_world,
)
from tests.theory.models import CASES, crossing_lines, pricing

HORIZON, RUNS = 1_000, 200


@pytest.fixture(scope="module", params=list(CASES))
def wagp(request):
    case = CASES[request.param]()
    rng = np.random.default_rng(11)
    world = constant_world(case.problem, case.theta, HORIZON, RUNS, case.draw)
    return case, play(case.problem, Wagp(case.problem, RUNS, rng), world, rng)


def upper_confidence(values):
    """Mean over runs plus three standard errors: what a valid bound still has to exceed."""
    return values.mean(axis=1) + 3.0 * values.std(axis=1, ddof=1) / math.sqrt(values.shape[1])


TIMES = np.arange(1, HORIZON + 1)


def test_theorem_1_exceeds_the_mean_squared_error(wagp):
    case, outcome = wagp
    bound = theory.mean_squared_error(case.model, TIMES)
    assert np.all(upper_confidence(outcome.squared_error) <= bound)


def test_theorem_2_exceeds_the_regret_of_each_step(wagp):
    case, outcome = wagp
    steps = np.diff(outcome.regret, axis=0, prepend=0.0)
    assert np.all(upper_confidence(steps) <= theory.one_step_regret(case.model, TIMES))


def test_theorems_3_and_4_exceed_the_cumulative_regret(wagp):
    case, outcome = wagp
    regret = upper_confidence(outcome.regret)
    assert np.all(regret <= theory.worst_case_regret(case.model, TIMES))
    assert np.all(regret <= theory.regimes(case.model, case.theta).bound(TIMES))


def test_theorem_4_exceeds_the_growth_inside_each_regime():
    case = crossing_lines(0.95)
    found = theory.regimes(case.model, case.theta)
    first, second = int(found.logarithmic_from), int(found.bounded_from)
    assert 1 < first < second < HORIZON  # the run sees all three regimes
    rng = np.random.default_rng(12)
    world = constant_world(case.problem, case.theta, HORIZON, RUNS, bernoulli)
    regret = play(case.problem, Wagp(case.problem, RUNS, rng), world, rng).regret
    middle = upper_confidence(regret[first - 1 : second - 1] - regret[first - 2])
    times = TIMES[first - 1 : second - 1]
    assert np.all(middle <= 1.0 + 2.0 * found.n_arms * np.log(times / first))
    late = upper_confidence(regret[second - 1 :] - regret[second - 2])
    assert np.all(late <= found.n_arms * math.pi**2 / 3.0)


def test_theorem_8_exceeds_the_regret_under_drift():
    case, drift_time, half_window = pricing(), 1_000.0, 100
    rng = np.random.default_rng(13)
    world = walking_world(case.problem, 0.5, drift_time, HORIZON, RUNS, rng)
    policy = NonStationaryWagp(case.problem, RUNS, rng, half_window)
    regret = upper_confidence(play(case.problem, policy, world, rng).regret)
    assert np.all(regret <= theory.regret_under_drift(case.model, drift_time, TIMES))
    assert np.all(regret <= theory.regret_under_drift(case.model, drift_time, TIMES, half_window))


@pytest.mark.parametrize("exponent", [1, 3])
@pytest.mark.parametrize("policy", [Wagp, Ucb1])
def test_theorem_6_stays_below_the_regret_in_the_two_worlds(exponent, policy):
    distance = 1.0 / math.sqrt(HORIZON)
    found = theory.lower_bound_instance(exponent=exponent, distance=distance)
    problem = power_pair(exponent)
    rng = np.random.default_rng(14)
    total = np.zeros((HORIZON, RUNS))
    for theta in found.thetas:
        world = constant_world(problem, theta, HORIZON, RUNS, bernoulli)
        total += play(problem, policy(problem, RUNS, rng), world, rng).regret
    lower = total.mean(axis=1) - 3.0 * total.std(axis=1, ddof=1) / math.sqrt(RUNS)
    # In the first steps the bound equals the regret of random play, so there is no margin.
    late = TIMES >= 8
    assert np.all(lower[late] >= found.bound(TIMES)[late])


def test_wagp_flattens_while_ucb1_grows_with_the_logarithm():
    problem, horizon, runs = lines([1.0, -1.0]), 10_000, 100
    rng = np.random.default_rng(15)
    world = constant_world(problem, 0.6, horizon, runs, bernoulli)
    greedy = play(problem, Wagp(problem, runs, rng), world, rng).regret
    optimist = play(problem, Ucb1(problem, runs, rng), world, rng).regret

    def decade(regret, end):
        """Mean and standard error of the regret gained between end / 10 and end."""
        gained = regret[end - 1] - regret[end // 10 - 1]
        return gained.mean(), gained.std(ddof=1) / math.sqrt(runs)

    slope, error = decade(optimist, horizon)
    # UCB1 pulls the wrong arm at least about 2 log(T) / (4 gap**2) times, gap = 0.2: regret
    # per decade stays above half of 2 log(10) / (4 * 0.2).
    assert slope - 3.0 * error > math.log(10.0) / (4.0 * 0.2)
    gained, error = decade(greedy, horizon)
    before, _ = decade(greedy, horizon // 10)
    assert gained + 3.0 * error < 0.1 * slope
    assert gained + 3.0 * error < 0.5 * before


NOISES = {"pricing": gb.BetaNoise(), "lines": gb.BernoulliNoise(), "power": gb.BernoulliNoise()}


@pytest.mark.parametrize("name", list(CASES))
def test_theorem_7_exceeds_the_regret_of_buw(name):
    case = CASES[name]()
    world = gb.Environment(case.model, theta=case.theta, noise=NOISES[name])
    result = gb.simulate(world, [gb.BUW()], horizon=HORIZON, runs=RUNS, seed=16, checkpoints=100)
    times = result.dataset["time"].to_numpy()
    regret = upper_confidence(result.dataset["regret"].to_numpy()[0].T)
    assert np.all(regret <= theory.buw_regret(case.model, case.theta, times))
    assert np.all(regret <= theory.buw_worst_case_regret(case.model, times))


def test_theorem_7_exceeds_the_regret_after_the_switch():
    model, theta = gb.RewardModel.from_functions([lambda x: x, lambda x: 1 - x]), 0.95
    switch = int(theory.buw_switch_time(model, theta))
    world = gb.Environment(model, theta=theta, noise=gb.BernoulliNoise())
    result = gb.simulate(
        world, [gb.BUW()], horizon=2 * switch, runs=RUNS, checkpoints=[switch, 2 * switch]
    )
    gained = np.diff(result.dataset["regret"].to_numpy()[0], axis=1).T
    assert upper_confidence(gained) <= model.n_arms * math.pi**2


def test_the_instance_of_theorem_6_can_be_simulated():
    found = theory.lower_bound_instance(exponent=3, distance=1.0 / math.sqrt(HORIZON))
    policies = [gb.WAGP(), gb.UCB1(), gb.BUW(), gb.ThompsonSampling()]
    total = sum(
        gb.simulate(
            gb.Environment(found.model, theta=theta, noise=gb.BernoulliNoise()),
            policies,
            horizon=HORIZON,
            runs=RUNS,
            seed=17,
            checkpoints=[10, 100, HORIZON],
        ).dataset["regret"]
        for theta in found.thetas
    )
    low = total.mean("run") - 3.0 * total.std("run", ddof=1) / math.sqrt(RUNS)
    assert np.all(low.to_numpy() >= found.bound([10, 100, HORIZON]))
