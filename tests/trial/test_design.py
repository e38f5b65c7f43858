"""Designs of `gb.trial`: published boundaries, closed forms, pathways and characteristics."""

import itertools
import math

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.policies.structured.cohort_design import NO_DOSE, isotonic_rates
from tests.oracles.crm import PlainCRM

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
LABELS = ["5 mg", "10 mg", "20 mg", "40 mg", "60 mg", "80 mg"]
STEEP = [0.01, 0.02, 0.05, 0.25, 0.60, 0.85]


def design_of(rule, **options):
    return gb.trial.Design(doses=LABELS, target=0.25, rule=rule, **options)


# The largest number of DLTs to escalate, the smallest ones to de-escalate and to eliminate, for 3
# to 18 patients: printed by get.boundary of the R package BOIN 2.7.2, and by get.boundary.kb of
# Keyboard 0.1.3, both run in R 4.2.
BOIN_TABLES = {
    0.20: ("0000111111222222", "1122223333444455", "2333444555566677"),
    0.25: ("0001111122222333", "1222333344455566", "3334445566677788"),
    0.30: ("0011112222333344", "2223334445566677", "3344555667788899"),
    0.33: ("0111122223333444", "2223344455666778", "334455667788899A"),
}
KEYBOARD_TABLES = {
    0.20: ("0000011111112222", "1122223333444455"),
    0.25: ("0001111122222333", "1222333344455566"),
    0.30: ("0011112222333344", "2223334445556667"),
    0.33: ("0111122233334444", "2223344455566777"),
}


@pytest.mark.parametrize(
    ("target", "up", "down"),
    [
        (0.2, 0.1572423, 0.2384624),
        (0.25, 0.1968009, 0.2983922),
        (0.3, 0.2364907, 0.3585195),
        (0.33, 0.2603767, 0.3947159),
    ],
)
def test_boin_has_the_published_boundaries(target, up, down):
    """Liu and Yuan (2015): .197 and .298 for .25, .236 and .359 for .3; here with more digits."""
    assert gb.trial.BOIN().boundaries(target) == pytest.approx((up, down), abs=5e-8)


@pytest.mark.parametrize("target", BOIN_TABLES)
def test_boin_escalates_and_eliminates_as_in_its_table(target):
    rule, (ups, downs, outs) = gb.trial.BOIN(), BOIN_TABLES[target]
    for n, up, down, out in zip(range(3, 19), ups, downs, outs, strict=True):
        y = np.arange(n + 1)
        steps = rule.steps(np.full(n + 1, n), y, target)
        assert y[steps == 1].max() == int(up, 16)
        assert y[steps == -1].min() == int(down, 16)
        out_of = rule.eliminated(np.full((n + 1, 1), n), y[:, np.newaxis], target)[:, 0]
        assert y[out_of].min() == int(out, 16)


@pytest.mark.parametrize("target", KEYBOARD_TABLES)
def test_the_keyboard_decides_as_in_its_table(target):
    rule, (ups, downs) = gb.trial.Keyboard(), KEYBOARD_TABLES[target]
    for n, up, down in zip(range(3, 19), ups, downs, strict=True):
        y = np.arange(n + 1)
        steps = rule.steps(np.full(n + 1, n), y, target)
        assert (y[steps == 1].max(), y[steps == -1].min()) == (int(up, 16), int(down, 16))


def exact_three_plus_three(rates):
    """Probabilities of recommending each dose and none, by recursion over all outcomes."""
    rule, n_doses = gb.trial.ThreePlusThree(), len(rates)
    shares = np.zeros(n_doses + 1)

    def go(treated, events, dose, probability):
        for y in range(4):
            chance = math.comb(3, y) * rates[dose] ** y * (1 - rates[dose]) ** (3 - y)
            n, x = treated.copy(), events.copy()
            n[0, dose] += 3
            x[0, dose] += y
            following = int(rule.next_dose(n, x, np.array([dose]), np.array([y]), 0.3)[0])
            if following == NO_DOSE:
                shares[rule.recommend(n, x, 0.3)[0]] += probability * chance
            else:
                go(n, x, following, probability * chance)

    go(np.zeros((1, n_doses), int), np.zeros((1, n_doses), int), 0, 1.0)
    return shares


def test_three_plus_three_has_its_closed_form():
    """Two doses: passing a dose has probability q**3 + 3 p q**2 q**3 (Storer 1989)."""
    rates = [0.2, 0.4]
    passes = [(1 - p) ** 3 + 3 * p * (1 - p) ** 2 * (1 - p) ** 3 for p in rates]
    # A recommended dose has at most 1 DLT in 6: 0 in 3 leads to three more patients.
    six = [(1 - p) ** 3 * ((1 - p) ** 3 + 3 * p * (1 - p) ** 2) for p in rates]
    six = [s + 3 * p * (1 - p) ** 5 for s, p in zip(six, rates, strict=True)]
    shares = exact_three_plus_three(rates)
    assert shares.sum() == pytest.approx(1.0)
    assert shares[1] == pytest.approx(passes[0] * six[1])
    assert shares[0] == pytest.approx((1 - six[1]) * six[0])
    found = gb.trial.Design(
        doses=["low", "high"], target=0.3, rule=gb.trial.ThreePlusThree(), patients=30
    ).simulate(rates, runs=4000, seed=1)
    error = 4 * np.sqrt(0.25 / 4000)
    np.testing.assert_allclose([*found.selected, found.none], shares, atol=error)


def test_isotonic_rates_by_brute_force():
    rng = np.random.default_rng(3)
    treated = 3 * rng.integers(0, 5, (60, 4))
    events = rng.binomial(treated, 0.3)
    rates = isotonic_rates(treated, events)
    for n, y, found in zip(treated, events, rates, strict=True):
        given = np.flatnonzero(n)
        n, y = n[given] + 0.1, y[given] + 0.05
        raw, weight = y / n, n**2 * (n + 1) / (y * (n - y))
        best = np.inf
        # Every isotonic fit is constant on blocks: try all ways to cut.
        for cuts in itertools.product([False, True], repeat=max(len(given) - 1, 0)):
            blocks = np.cumsum([0, *cuts]) if len(given) else np.zeros(0, int)
            means = [np.average(raw[blocks == b], weights=weight[blocks == b]) for b in set(blocks)]
            if np.all(np.diff(means) >= 0) and len(given):
                fit = np.array(means)[blocks]
                loss = weight @ (raw - fit) ** 2
                if loss < best - 1e-12:
                    best, answer = loss, fit
        if len(given):
            np.testing.assert_allclose(found[given], answer, atol=1e-9)


def test_a_crm_is_the_restricted_one_along_all_pathways():
    design, plain = gb.trial.crm(SKELETON, 0.25, doses=LABELS), PlainCRM(SKELETON, 0.25)
    table = design.pathways(cohorts=3)
    assert len(table) == 4**3
    for row in table.to_dict("records"):
        treated, events = np.zeros((1, 6)), np.zeros((1, 6))
        dose = 0
        for number in (1, 2, 3):
            assert row[f"dose_{number}"] == LABELS[dose]
            y = row[f"DLTs_{number}"]
            treated[0, dose] += 3
            events[0, dose] += y
            dose = int(plain.next_dose(treated, events, dose, y, 3)[0])
        assert row["next"] == LABELS[dose]


def test_pathways_end_at_a_stop():
    stop = gb.StopWhen(above=0.25, confidence=0.9, prior_variance=1.34)
    design = gb.trial.crm(SKELETON, 0.25, doses=LABELS, stop=stop)
    table = design.pathways(cohorts=2)
    stopped = table[table["DLTs_1"] == 3]
    assert stopped["next"].tolist() == ["stop"]
    assert stopped["dose_2"].tolist() == [""]
    assert design.next_dose([(0, 3)]) == NO_DOSE
    with pytest.raises(gb.PolicyError, match="cohorts must leave a cohort to treat; the trial has"):
        design.decision_table([(0, 3)])


def test_the_decision_table_is_the_next_step():
    design = gb.trial.crm(SKELETON, 0.25, doses=LABELS)
    table = design.decision_table([(0, 0)])
    assert table["dose"].tolist() == ["10 mg"] * 4
    after = [design.next_dose([(0, 0), (1, events)]) for events in range(4)]
    assert table["next"].tolist() == [LABELS[dose] for dose in after]
    assert after[0] == 2
    assert after == sorted(after, reverse=True)


def test_simulated_characteristics_agree_with_the_oracle():
    from tests.oracles.crm import play

    runs, stop = 2000, gb.StopWhen(above=0.25, prior_variance=1.34)
    design = gb.trial.crm(SKELETON, 0.25, doses=LABELS)
    found = design.simulate(STEEP, runs=runs, seed=4)
    plain = PlainCRM(SKELETON, 0.25, n_points=301)
    chosen, _ = play(plain, STEEP, runs, 12, 3, np.random.default_rng(8))
    shares = np.array([(chosen == dose).mean() for dose in range(6)])
    middle = 0.5 * (shares + found.selected)
    assert np.all(np.abs(shares - found.selected) <= 4 * np.sqrt(2 * middle * (1 - middle) / runs))
    assert found.patients.tolist() == [36] * runs
    np.testing.assert_allclose(found.events, found.treated * STEEP)
    toxic = [0.6, 0.7, 0.8, 0.85, 0.9, 0.95]
    careful = gb.trial.crm(SKELETON, 0.25, doses=LABELS, stop=stop)
    rows = careful.summary({"toxic": toxic, "steep": STEEP}, runs=300)
    assert rows.loc[("toxic", "design"), "correct"] == rows.loc[("toxic", "design"), "none"] > 0.9
    assert rows.loc[("toxic", "design"), "patients"] < 20
    assert rows.loc[("steep", "design"), "above"] < 0.2


def test_characteristics_have_labels_comparators_and_the_benchmark():
    design = design_of(gb.trial.BOIN(), patients=24)
    others = {"3+3": design_of(gb.trial.ThreePlusThree(), patients=24)}
    table = design.characteristics({"steep": STEEP}, runs=200, comparators=others)
    one = table.xs(("steep", "3+3"))
    assert one.index.tolist() == LABELS
    np.testing.assert_allclose(one["rate"], STEEP)
    assert one["treated"].sum() <= 24
    assert table.xs(("steep", "design"))["benchmark"].sum() == pytest.approx(1.0)
    other = {"other": gb.trial.Design(doses=["a"], target=0.3, rule=gb.trial.BOIN())}
    with pytest.raises(gb.PolicyError, match="other must have the same doses as the design, got"):
        design.characteristics({"steep": STEEP}, comparators=other)


def test_the_benchmark_by_enumeration():
    """Two doses, three patients: the ordered latent outcomes have a multinomial law."""
    rates, target, runs = [0.2, 0.5], 0.3, 4000
    exact = np.zeros(2)
    cells = [0.2, 0.3, 0.5]  # toxic at both doses, at the higher only, at none
    for counts in itertools.product(range(4), repeat=2):
        if sum(counts) <= 3:
            both, high = counts
            chance = math.factorial(3) / (
                math.factorial(both) * math.factorial(high) * math.factorial(3 - both - high)
            )
            chance *= cells[0] ** both * cells[1] ** high * cells[2] ** (3 - both - high)
            found = np.array([both, both + high]) / 3
            exact[np.abs(found - target).argmin()] += chance
    shares = gb.trial.benchmark(rates, target, 3, runs=runs, seed=2)
    np.testing.assert_allclose(shares, exact, atol=4 * np.sqrt(0.25 / runs))


def test_skeletons_have_their_indifference_intervals():
    for intercept in (None, 3.0):
        guesses = gb.trial.skeleton(0.05, 0.25, mtd=3, n=6, intercept=intercept)
        assert guesses[2] == pytest.approx(0.25)
        if intercept is None:
            model = gb.dose.power(guesses, target=0.25)
        else:
            model = gb.dose.skeleton_logistic(guesses, intercept, target=0.25)
        table = gb.trial.sensitivity(model)
        np.testing.assert_allclose(table["below"].iloc[1:], 0.2, atol=1e-9)
        np.testing.assert_allclose(table["above"].iloc[:-1], 0.3, atol=1e-9)
        assert math.isnan(table["below"].iloc[0])
    # Cheung (2011): getprior(0.05, 0.25, 3, 5).
    published = [0.08, 0.16, 0.25, 0.35, 0.46]
    assert np.round(gb.trial.skeleton(0.05, 0.25, 3, 5), 2).tolist() == published


def test_the_sample_size_reaches_the_wanted_share():
    guesses = gb.trial.skeleton(0.0625, 0.25, mtd=2, n=3)
    design = gb.trial.crm(guesses, 0.25, cohort=3, start=1, patients=3)
    n = gb.trial.sample_size(design, 0.6, odds_ratio=2.5, runs=400, most=60)
    assert n % 3 == 0
    assert 6 <= n <= 45
    from globalbandits.trial.calibration import calibration_set

    truths = calibration_set(0.25, 3, 2.5)
    shares = [design.with_patients(n).simulate(t, runs=400).selected for t in truths]
    assert np.mean([share[k] for k, share in enumerate(shares)]) >= 0.6
    with pytest.raises(gb.PolicyError, match="correct must be reached with at most 6 patients"):
        gb.trial.sample_size(design, 0.99, runs=50, most=6)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: gb.trial.skeleton(0.3, 0.25, 3, 5), "halfwidth must be below 0.25"),
        (lambda: gb.trial.skeleton(0.05, 0.25, 6, 5), "mtd must be at most 5, got 6"),
        (lambda: gb.trial.skeleton(0.05, 0.25, 3, 5, intercept=-2.0), "intercept must be above"),
        (lambda: gb.trial.sensitivity(gb.dose.power(SKELETON)), "model must have a target"),
        (lambda: gb.trial.BOIN(low=1.2), "low and high must lie around 1, got 1.2"),
        (lambda: gb.trial.BOIN(elimination=1.0), "elimination must .* got 1.0"),
        (lambda: gb.trial.Keyboard(half_width=0), "half_width must .* got 0"),
        (lambda: design_of(gb.WAGP()), "model must have 6 arms, one per label, for a policy"),
        (lambda: design_of(gb.trial.ThreePlusThree(), cohort=2), "cohort must be 3 for 3.3, got 2"),
        (
            lambda: design_of(gb.trial.BOIN(), stop=gb.StopWhen(above=0.25)),
            "stop must have no above, one_contender and precision for a comparator",
        ),
        (
            lambda: gb.trial.Design(doses=["a", "a"], target=0.25, rule=gb.trial.BOIN()),
            "doses must be different labels",
        ),
        (
            lambda: design_of(gb.trial.BOIN()).simulate([0.1, 0.2]),
            "truth must be 6 rates, one per dose",
        ),
        (lambda: design_of(gb.trial.BOIN()).next_dose([(0, 4)]), "DLTs must be at most 3, got 4"),
        (lambda: design_of(gb.trial.benchmark), "rule must be a policy, TITE or a comparator"),
        (
            lambda: design_of(gb.WAGP(), model=gb.dose.power(SKELETON, target=0.3)),
            "model must have the design's target, 0.25, got 0.3",
        ),
        (
            lambda: design_of(gb.Limited(), model=gb.dose.power(SKELETON, target=0.25)),
            "cohort must be 1, as in the policy, got 3",
        ),
    ],
)
def test_invalid_designs_are_refused(make, message):
    with pytest.raises(gb.GlobalBanditsError, match=message):
        make()
