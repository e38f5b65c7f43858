"""CRM, TITE-CRM and BLRM: figures of dfcrm and of the literature, direct integration, learners."""

import copy
import itertools
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate
from scipy.special import betainc, expit

import globalbandits as gb
from globalbandits.policies.shared.elimination import probability_above
from globalbandits.policies.structured.cohort_design import NO_DOSE
from globalbandits.statistics import count
from globalbandits.trial.tite import Patient

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
STEEP = [0.01, 0.02, 0.05, 0.25, 0.60, 0.85]
AMOUNTS = [5.0, 10.0, 20.0, 40.0, 60.0, 80.0]
BLRM = {"reference": 40.0, "prior_mean": (-1.0, 0.0), "prior_sd": (2.0, 1.0)}


@pytest.fixture(scope="module")
def blrm():
    return gb.trial.blrm(AMOUNTS, 0.25, **BLRM)


def test_restricted_decisions_are_those_of_dfcrm():
    """Trials that dfcrm 0.2-2.1 simulated (onetrial, restrict=TRUE) in R 4.2.

    A line has the model, the size of cohorts, the recommended dose, the doses and the DLTs of 36
    patients. Doses are counted from 1.
    """
    designs = {
        (model, size): gb.trial.crm(SKELETON, 0.25, cohort=int(size), intercept=intercept)
        for model, intercept in (("empiric", None), ("logistic", 3.0))
        for size in "13"
    }
    lines = (Path(__file__).parent / "dfcrm_trials.txt").read_text("utf-8").splitlines()
    assert len(lines) == 40
    for line in lines:
        model, size, mtd, doses, toxic = line.split()
        design, n = designs[model, size], int(size)
        history = []
        for first in range(0, 36, n):
            given = int(doses[first]) - 1
            assert design.next_dose(history) == given
            history.append((given, toxic[first : first + n].count("1")))
        counts = np.zeros((2, 1, 6), int)
        for given, events in history:
            counts[:, 0, given] += n, events
        assert design._cohorts.posterior.wishes(*counts)[0] == int(mtd) - 1


def test_pathways_are_those_of_the_viola_trial():
    """All decisions after one, two and three cohorts, by dtpcrm 0.1.1 (Yap et al. 2017).

    Doses are counted from 1; each line is in the order of the DLTs of its cohorts.
    """
    expected = (
        "421154213211111111116543532132112111432121111111111121111111111111111111111111111111"
    )
    guesses = [0.03, 0.07, 0.12, 0.20, 0.30, 0.40, 0.52]
    design = gb.trial.crm(guesses, 0.2, cohort=3, prior_variance=0.75, start=2)
    found = ""
    for cohorts in (1, 2, 3):
        following = design.pathways(cohorts)["next"]
        found += "".join(label.removeprefix("dose ") for label in following)
    assert found == expected


@pytest.mark.parametrize(
    ("intercept", "weights", "estimate", "rates"),
    [
        (None, "linear", -0.1327865514, [0.0725689, 0.1331521, 0.2443124, 0.3988065, 0.5450075]),
        (None, "adaptive", -0.1345180665, [0.0728990, 0.1336174, 0.2449088, 0.3994413, 0.5455801]),
        (3.0, "linear", -0.0705049141, [0.0731174, 0.1366480, 0.2520536, 0.4078969, 0.5508809]),
        (3.0, "adaptive", -0.0720950885, [0.0737162, 0.1375585, 0.2532801, 0.4091918, 0.5519797]),
    ],
)
def test_tite_examples_of_dfcrm(intercept, weights, estimate, rates):
    """The examples of titecrm's manual page, run in dfcrm 0.2-2.1."""
    guesses = [0.05, 0.10, 0.20, 0.35, 0.50, 0.70]
    doses = [3, 3, 3, 4, 4, 3, 2, 2, 2, 3]
    toxic = [0, 0, 1, 0, 1, 0, 0, 0, 0, 0]
    times = [178, 181, 168, 181, 24, 181, 179, 102, 42, 3]
    design = gb.trial.tite_crm(
        guesses, 0.2, window=180, every=30, weights=weights, intercept=intercept
    )
    patients = [(k - 1, u, y) for k, u, y in zip(doses, times, toxic, strict=True)]
    setup = design.rule.setup(design.model)
    weighed = design.rule.posterior_of(setup, [Patient(k, u, bool(y)) for k, u, y in patients])
    theta = weighed @ setup.numbers[:, 0]
    assert theta == pytest.approx(estimate, abs=1e-8)
    assert design.model.means(theta)[:5] == pytest.approx(rates, abs=1e-7)
    assert design.next_patient(patients) == 2


def test_blrm_has_the_posterior_of_neuenschwander():
    """Neuenschwander, Branson and Gsponer (2008), figure 1, with independent normal priors."""
    amounts = [1, 2.5, 5, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 250]
    design = gb.trial.blrm(
        amounts,
        0.3,
        reference=250,
        prior_mean=(2.15, 0.52),
        prior_sd=(0.84, 0.80),
        overdose=None,
        largest_step_up=None,
        coherent=False,
    )
    learner = design.learner()
    learner.update([0] * 3 + [1] * 4 + [2] * 4 + [3] * 4 + [6] * 2, [0.0] * 15 + [1.0] * 2)
    published = [0.0124, 0.0316, 0.0655, 0.1348, 0.2018, 0.2641, 0.3212, 0.3729, 0.4614]
    shown = learner.explain()
    assert shown.posterior["rate"][:9] == pytest.approx(published, abs=1e-4)
    # Dose 7 is next: 25 mg.
    assert learner.recommend() == 6
    assert shown.choice == 6


STEP = 0.02


def exact_blrm(patients, events, limit, correlation=0.0):
    """Posterior means, and probabilities above a limit, on a fine grid of the two numbers."""
    (m1, m2), (s1, s2) = BLRM["prior_mean"], BLRM["prior_sd"]
    z1, z2 = np.meshgrid(np.arange(-5, 5, STEP), np.arange(-5, 5, STEP), indexing="ij")
    odds = (m1 + s1 * z1)[..., None] + np.exp(
        m2 + s2 * (correlation * z1 + np.sqrt(1 - correlation**2) * z2)
    )[..., None] * np.log(np.array(AMOUNTS) / BLRM["reference"])
    logs = -0.5 * (z1**2 + z2**2)
    logs -= (events * np.logaddexp(0, -odds)).sum(-1)
    logs -= ((patients - events) * np.logaddexp(0, odds)).sum(-1)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    # The share of a cell above the limit: one step of the first number changes the log-odds by s1.
    above = np.clip((odds - np.log(limit / (1 - limit))) / (s1 * STEP) + 0.5, 0.0, 1.0)
    return [np.einsum("ij,ijk->k", weights, values) for values in (expit(odds), above)]


@pytest.mark.parametrize("correlation", [0.0, -0.5])
def test_blrm_by_direct_integration(correlation):
    design = gb.trial.blrm(AMOUNTS, 0.25, **BLRM, correlation=correlation)
    for patients, events in (
        ([3, 3, 6, 0, 0, 0], [0, 0, 1, 0, 0, 0]),
        ([3, 3, 9, 15, 6, 0], [0, 0, 1, 4, 3, 0]),
    ):
        learner = design.learner()
        for dose, (n, y) in enumerate(zip(patients, events, strict=True)):
            learner.update([dose] * n, [1.0] * y + [0.0] * (n - y))
        means, over = exact_blrm(np.array(patients), np.array(events), 0.33, correlation)
        shown = learner.explain().posterior
        np.testing.assert_allclose(shown["rate"], means, atol=1e-4)
        np.testing.assert_allclose(shown["P(overdose)"], over, atol=2e-3)
        assert sum(shown["P(MTD)"]) == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("rule", ["plug_in", "mean"])
def test_an_exponential_prior_by_direct_integration(rule):
    design = gb.trial.crm(SKELETON, 0.25, prior="exponential", rule=rule)
    patients, events = np.array([3, 3, 6, 0, 0, 0]), np.array([0, 0, 2, 0, 0, 0])
    guesses = np.array(SKELETON)

    def weight(exponent):
        rates = guesses**exponent
        return np.exp(-exponent) * np.prod(rates**events * (1 - rates) ** (patients - events))

    mass = integrate.quad(weight, 0, 40)[0]
    theta = integrate.quad(lambda x: np.log(x) * weight(x), 0, 40)[0] / mass
    means = [integrate.quad(lambda x, g=g: g**x * weight(x), 0, 40)[0] / mass for g in guesses]
    posterior = design._cohorts.posterior
    found = posterior.weights(patients[None].astype(float), events[None].astype(float))[0]
    assert found @ posterior.numbers[:, 0] == pytest.approx(theta, abs=1e-6)
    np.testing.assert_allclose(found @ posterior.rates, means, atol=1e-6)
    rates = guesses ** np.exp(theta) if rule == "plug_in" else np.array(means)
    wish = np.abs(rates - 0.25).argmin()
    assert posterior.wishes(patients[None], events[None])[0] == wish


@pytest.mark.parametrize("kind", ["crm", "blrm", "elimination"])
def test_a_learner_takes_the_decisions_of_the_design(kind, blrm):
    design = {
        "crm": lambda: gb.trial.crm(SKELETON, 0.25, overdose=(0.4, 0.3), rule="mean"),
        "blrm": lambda: blrm,
        "elimination": lambda: gb.trial.crm(SKELETON, 0.25, elimination=0.9, cohort=2),
    }[kind]()
    rules, setup, stats, state = design.learner().parts
    rng, size = np.random.default_rng(0), design.cohort
    n_stops = 0

    def follow(path, stats, state):
        """Treat all cohorts that may follow a path, to a depth of three."""
        nonlocal n_stops
        given = design.next_dose(path)
        assert int(rules.select(setup, stats, state, rng)) == given
        if given == NO_DOSE or len(path) == 3:
            n_stops += given == NO_DOSE
            return
        for events in range(size + 1):
            after, later = copy.deepcopy((stats, state))
            for _ in range(size):
                assert int(rules.select(setup, after, later, rng)) == given
                rules.decide(setup, after, later, given)
            for number in range(size):
                count(after, given, float(number < events))
                rules.update(setup, after, later, given, float(number < events))
            follow([*path, (given, events)], after, later)

    follow([], stats, state)
    assert n_stops > 0


def test_overdose_control_gives_admissible_doses_only(blrm):
    posterior = blrm._cohorts.posterior
    rng = np.random.default_rng(5)
    treated = 3 * rng.integers(0, 4, (200, 6))
    events = rng.binomial(treated, 0.25)
    wishes = posterior.wishes(treated, events)
    risks = posterior.weights(treated.astype(float), events.astype(float)) @ posterior.over
    for wish, risk in zip(wishes, risks, strict=True):
        assert risk[wish] < 0.25 if wish >= 0 else np.all(risk >= 0.25)
    learner = blrm.learner()
    learner.update([0, 0, 0], [1.0, 1.0, 1.0])
    with pytest.raises(gb.PolicyError, match=r"allows no dose now: every mean is above 0\.33 with"):
        learner.select()
    assert "no dose, every mean" in str(learner.explain())


def test_elimination_is_the_beta_binomial_rule():
    for n, y, target in itertools.product((1, 3, 6, 12), (0, 1, 3), (0.2, 0.3)):
        expected = 1.0 - betainc(1.0 + y, 1.0 + n - y, target) if y <= n else 1.0
        if y <= n:
            assert probability_above(n, float(y), target) == pytest.approx(expected, abs=1e-12)
    design = gb.trial.crm(SKELETON, 0.25, elimination=0.95, start=1)
    assert design.next_dose([(1, 0), (2, 3)]) <= 1
    # Three of three at the lowest dose are above 0.25 with probability 0.996.
    assert gb.trial.crm(SKELETON, 0.25, elimination=0.95).next_dose([(0, 3)]) == NO_DOSE
    learner = gb.trial.crm(SKELETON, 0.25, elimination=0.95).learner()
    learner.update([0, 0, 0], [1.0, 1.0, 1.0])
    with pytest.raises(gb.PolicyError, match="dose 1, the lowest, is eliminated; stop"):
        learner.select()
    found = design.simulate(STEEP, runs=200)
    assert found.selected[5] == 0.0


def test_several_stopping_rules_at_once():
    stop = gb.StopWhen(above=0.25, confidence=0.9, at_recommended=9, at_any=12, decisions=33)
    design = gb.trial.crm(SKELETON, 0.25, stop=stop)
    found = design.simulate(STEEP, runs=500, seed=3)
    assert sum(found.reasons.values()) == pytest.approx(1.0)
    assert found.reasons["patients at the next dose"] > 0.5
    assert found.patients.max() <= 33
    learner = design.learner()
    for _ in range(3):
        learner.update([0, 0, 0], [0.0, 0.0, 1.0])
    # The next dose is the lowest, which has nine patients.
    assert learner.explain().choice == 0
    assert learner.should_stop(design.stop) == "at recommended"
    assert design.next_dose([(0, 1)] * 3) == NO_DOSE
    other = gb.StopWhen(at_any=9)
    assert learner.should_stop(other) == "at any"
    assert learner.should_stop(gb.StopWhen(at_any=10)) is None
    summary = design.summary({"steep": STEEP}, runs=200)
    ends = [column for column in summary.columns if column.startswith("ended: ")]
    assert summary[ends].sum(axis=1).tolist() == pytest.approx([1.0])
    world = gb.Environment(design.model, truth=STEEP, noise=gb.BernoulliNoise())
    with pytest.raises(gb.GlobalBanditsError, match="stop must have no at_recommended, at_any"):
        gb.simulate(world, [gb.UCB1()], 36, stop=stop)


def test_precision_is_the_width_of_an_interval(blrm):
    learner = gb.trial.crm(SKELETON, 0.25).learner()
    learner.update([0] * 3 + [1] * 9, [0.0] * 9 + [1.0] * 3)
    shown = learner.explain()
    low, high = (shown.posterior[name][shown.choice] for name in ("low", "high"))
    options = {"confidence": 0.9, "prior_variance": 1.34}
    for width, reason in ((high - low + 0.02, "precise"), (high - low - 0.02, None)):
        assert learner.should_stop(gb.StopWhen(precision=width, **options)) == reason


@pytest.mark.parametrize("by", ["posterior", "anytime"])
def test_stopping_many_trials_is_stopping_each(by):
    """The compiled rule for one run, and the one for many runs at once."""
    from globalbandits.evidence.stop_rules import reason_to_stop, reasons_to_stop
    from globalbandits.statistics import no_statistics

    model = gb.dose.power(SKELETON, target=0.25, domain=(-6.0, 6.0))
    rule = gb.StopWhen(
        above=0.25, one_contender=True, decisions=30, confidence=0.8, by=by, prior_variance=1.34
    )
    stop, rng = rule.setup(model), np.random.default_rng(1)
    counts = 3 * rng.integers(0, 4, (60, 6))
    sums = rng.binomial(counts, rng.uniform(0.05, 0.7, (60, 1)))
    many = reasons_to_stop(stop, counts * 1.0, sums * 1.0, np.zeros(60, int))
    assert len(set(many.tolist())) > 2
    for n, y, found in zip(counts, sums, many, strict=True):
        stats = no_statistics(6)
        stats.counts[:], stats.sums[:], stats.total[0] = n, y, n.sum()
        assert reason_to_stop(stop, stats) == found


def test_a_stopping_rule_takes_the_prior_of_the_design(blrm):
    stop = gb.StopWhen(above=0.33, confidence=0.25)
    design = gb.trial.blrm(AMOUNTS, 0.25, **BLRM, stop=stop)
    assert design.stop.prior == (("normal", -1.0, 2.0), ("lognormal", 0.0, 1.0))
    # Overdose control admits no dose exactly if the lowest one is too risky.
    for path in ([(0, 1)], [(0, 0)], [(0, 2)], [(0, 0), (1, 2)]):
        assert (design.next_dose(path) == NO_DOSE) == (blrm.next_dose(path) == NO_DOSE)


def plain_tite(rates, design, seed):
    """One trial, patient after patient; follow-up and weights by hand."""
    rng = np.random.default_rng(seed)
    tolerance = rng.random((1, design.patients))[0]
    delay = 28.0 * rng.random((1, design.patients))[0]
    theta = np.linspace(-6, 6, 1201)
    guesses = np.array(SKELETON)[:, None] ** np.exp(theta)
    given, onset = [0], []
    for number in range(design.patients):
        now = 14.0 * (number + 1)
        if number > 0:
            logs = -0.5 * theta**2 / 1.34
            for i, dose in enumerate(given):
                if onset[i] <= now:
                    logs = logs + np.log(guesses[dose])
                else:
                    part = min((now - 14.0 * (i + 1)) / 28.0, 1.0)
                    logs = logs + np.log1p(-part * guesses[dose])
            weights = np.exp(logs - logs.max())
            mean = weights @ theta / weights.sum()
            wish = np.abs(np.array(SKELETON) ** np.exp(mean) - 0.25).argmin()
            previous = 14.0 * number
            reported = any(previous < time <= now for time in onset)
            given.append(min(int(wish), given[-1] + (0 if reported else 1)))
        toxic = tolerance[number] < rates[given[number]]
        onset.append(now + delay[number] if toxic else np.inf)
    return np.bincount(given, minlength=6)


def test_a_tite_learner_takes_the_decisions_of_the_design():
    """Patients every 9 days; DLTs are reported when they happen, windows end after 28 days."""
    design = gb.trial.tite_crm(SKELETON, 0.25, window=28, every=9)
    rng = np.random.default_rng(2)
    for _ in range(6):
        learner, pending = design.learner(), gb.Pending(gb.UniformDelay(28, deadline=28))
        given, entered, onset = [], [], []
        for number in range(16):
            now, recent = 9.0 * number, False
            for patient in range(number):
                known = min(onset[patient], entered[patient] + 28.0)
                if now - 9.0 < known <= now:
                    dlt = known == onset[patient]
                    learner.update(given[patient], float(dlt))
                    pending.close(patient, at=known, happened=dlt)
                    recent |= dlt
            learner.set_pending(*pending.weights(now))
            seen = [
                (dose, min(min(time, now) - start, 28.0), time <= now)
                for dose, start, time in zip(given, entered, onset, strict=True)
            ]
            given.append(learner.select())
            assert given[-1] == design.next_patient(seen, recent=recent)
            entered.append(now)
            pending.add(number, given[-1], now)
            toxic = rng.random() < STEEP[given[-1]] + 0.1
            onset.append(now + rng.uniform(0.5, 28.0) if toxic else np.inf)
    # No step up straight after the report of a DLT, also of an earlier patient.
    seen = [(1, 5.0, 1), (0, 28.0, 0), (0, 28.0, 0), (0, 28.0, 0)]
    assert [design.next_patient(seen, recent=recent) for recent in (False, True)] == [1, 0]
    learner = design.learner()
    for dose, _, _ in seen:
        learner.decide(dose)
    learner.update([0, 0, 0, 1], [0.0, 0.0, 0.0, 1.0])
    assert learner.explain().choice == 0


def test_a_tite_trial_stops():
    stop = gb.StopWhen(above=0.25, confidence=0.9, at_recommended=9)
    design = gb.trial.tite_crm(SKELETON, 0.25, window=28, every=14, patients=24, stop=stop)
    found = design.simulate([0.6, 0.7, 0.8, 0.9, 0.9, 0.9], runs=200, seed=1)
    assert found.none > 0.9
    assert found.reasons["too toxic"] > 0.9
    assert design.simulate(STEEP, runs=200, seed=1).reasons["patients at the next dose"] > 0.5
    toxic = [(0, 3.0, 1), (0, 5.0, 1), (0, 4.0, 1)]
    assert design.next_patient(toxic) == NO_DOSE
    assert design.next_patient([(0, 28.0, 0), (0, 14.0, 0)]) == 1


def test_simulated_tite_trials_are_the_plain_ones():
    design = gb.trial.tite_crm(SKELETON, 0.25, window=28, every=14, patients=20)
    for seed in range(8):
        found = design.simulate(STEEP, runs=1, seed=seed)
        assert found.treated.tolist() == plain_tite(STEEP, design, seed).tolist()
    many = design.simulate(STEEP, runs=400)
    assert many.selected[3] > 0.5
    poisson = gb.trial.tite_crm(
        SKELETON, 0.25, window=28, every=14, patients=20, arrivals="poisson", weights="adaptive"
    )
    assert poisson.simulate(STEEP, runs=100).patients.tolist() == [20] * 100


def test_designs_of_one_seed_treat_the_same_patients():
    one = gb.trial.crm(SKELETON, 0.25)
    other = gb.trial.Design(doses=one.doses, target=0.25, rule=gb.trial.BOIN())
    nothing, everything = [0.0] * 6, [1.0] * 6
    assert one.simulate(nothing, runs=50).events.sum() == 0.0
    assert other.simulate(everything, runs=50).none == 1.0
    table = one.characteristics({"steep": STEEP}, runs=400, comparators={"BOIN": other})
    over = table.xs(("steep", "design"))["overdosed"]
    assert over.iloc[:4].sum() == 0.0
    assert over.iloc[4:].tolist() == table.xs(("steep", "design"))["treated"].iloc[4:].tolist()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gb.DoseEscalation(rule="best"), "rule must be one of .* got 'best'"),
        (lambda: gb.DoseEscalation(prior=[("normal", 0.0)]), r"prior\[0\] must have 2 parameters"),
        (lambda: gb.DoseEscalation(prior=["normal"]), r"prior\[0\] must be a kind and its"),
        (lambda: gb.DoseEscalation(prior=[("normal", 0.0, -1.0)]), r"prior\[0\] sd must be"),
        (lambda: gb.DoseEscalation(correlation=0.5), "correlation must be 0 unless the prior has"),
        (lambda: gb.DoseEscalation(overdose=(0.33, 1.5)), "overdose must be a limit and a prob"),
        (lambda: gb.DoseEscalation(rule="interval"), "interval must be given for the rule"),
        (lambda: gb.DoseEscalation(cells=2), "cells must be at least 5, got 2"),
        (lambda: gb.trial.crm(SKELETON, 0.25, prior="gamma"), "prior must be one of"),
        (
            lambda: gb.trial.blrm(AMOUNTS, 0.25, **BLRM | {"prior_sd": (1.0,)}),
            "prior_sd must have two numbers, of log_alpha and of log_beta",
        ),
        (
            lambda: gb.trial.blrm(AMOUNTS, 0.25, **BLRM, rule="plug_in"),
            "rule must be 'mean' or 'interval' for several unknown numbers, got 'plug_in'",
        ),
        (
            lambda: gb.trial.tite_crm(SKELETON, 0.25, window=0, every=14),
            "window must be .*positive.* got 0",
        ),
        (
            lambda: gb.trial.tite_crm(SKELETON, 0.25, window=28, every=14).pathways(),
            "rule must be a rule of cohorts",
        ),
        (
            lambda: gb.trial.tite_crm(SKELETON, 0.25, window=28, every=14).next_patient(
                [(9, 1, 0)]
            ),
            r"patients\[0\] dose must be at most 5, got 9",
        ),
        (lambda: gb.Limited(gb.UCB1(), elimination=2.0), "elimination must .* got 2.0"),
        (lambda: gb.Limited(gb.UCB1(), least_weight=1.5), r"least_weight must lie in \[0, 1\]"),
        (
            lambda: gb.Learner(gb.Limited(gb.UCB1(), elimination=0.9), gb.dose.power(SKELETON)),
            "elimination must be given for a model with a target",
        ),
    ],
)
def test_invalid_designs_are_refused(make, message):
    with pytest.raises(gb.GlobalBanditsError, match=message):
        make()


def test_the_estimate_of_a_design_begins_with_the_first_outcome():
    learner = gb.Learner(gb.DoseEscalation(), gb.dose.power(SKELETON, target=0.25))
    assert learner.estimate is None
    learner.update(0, 0.0)
    assert learner.estimate is not None
