"""Live comparators: a learner treats, waits and stops as the rule for many trials does."""

import itertools
import json
import math

import numpy as np
import pytest
import scipy.optimize
import scipy.special

import globalbandits as gb
from globalbandits.policies.shared import elimination
from globalbandits.policies.structured.cohort_design import NO_DOSE, isotonic_rates

LABELS = ["5 mg", "10 mg", "20 mg", "40 mg"]
RULES = {
    "BOIN": gb.trial.BOIN(),
    "keyboard": gb.trial.Keyboard(),
    "3+3": gb.trial.ThreePlusThree(),
}


def design_of(rule, **options):
    return gb.trial.Design(doses=LABELS, target=0.25, rule=rule, **options)


@pytest.mark.parametrize("name", RULES)
def test_a_learner_takes_the_decisions_of_the_design(name):
    """Random trials, cohort after cohort; a learner that is saved and restored in between."""
    design, rng, n_stops = design_of(RULES[name]), np.random.default_rng(4), 0
    for _ in range(12):
        learner, path = design.learner(), []
        while len(path) < 9:
            expected = design.next_dose(path)
            if expected == NO_DOSE:
                with pytest.raises(gb.PolicyError, match="ends the trial; stop"):
                    learner.select()
                n_stops += 1
                break
            doses = [learner.select() for _ in range(3)]
            assert doses == [expected] * 3
            with pytest.raises(gb.PolicyError, match="waits for 3 outcomes; wait for them"):
                learner.select()
            events = int(rng.binomial(3, 0.3))
            learner.update(doses, [1.0] * events + [0.0] * (3 - events))
            path.append((expected, events))
            state = json.loads(json.dumps(learner.state()))
            learner = gb.Learner.restore(design.policy, learner.model, state)
        counts = np.zeros((2, 1, 4), int)
        for given, events in path:
            counts[:, 0, given] += 3, events
        assert learner.recommend() == RULES[name].recommend(*counts, 0.25)[0]
    assert n_stops > 0


def test_known_dlts_lower_the_dose_before_the_cohort_is_complete():
    learner = design_of(gb.trial.ThreePlusThree(), start=1).learner()
    for _ in range(3):
        learner.decide(1)
    learner.update(1, 1.0)
    with pytest.raises(gb.PolicyError, match="waits for 2 outcomes"):
        learner.select()
    learner.update(1, 1.0)
    assert learner.select() == 0
    # Its third patient is still observed, so the higher dose is not entered again.
    learner.update(1, 0.0)
    assert learner.explain().choice == 0


def test_a_higher_dose_with_open_outcomes_is_not_given():
    learner = design_of(gb.trial.BOIN(), start=1).learner()
    assert [learner.select() for _ in range(2)] == [1, 1]
    learner.update(1, 1.0)
    doses = [learner.select() for _ in range(3)]
    assert doses == [0, 0, 0]
    learner.update(doses, [0.0] * 3)
    # The rule would raise the dose, but one patient there is still observed.
    assert learner.explain().choice == 0
    learner.update(1, 0.0)
    assert learner.explain().choice == 1


def test_an_outcome_is_corrected_and_a_mask_only_lowers():
    learner = design_of(gb.trial.BOIN()).learner()
    for patient in range(3):
        learner.update(learner.select(), 0.0, decision=f"patient {patient}")
    assert learner.admissible() == [0, 1]
    assert learner.select(allowed=[0, 3], record=False) == 0
    with pytest.raises(gb.RewardError, match="within the limits"):
        learner.select(allowed=[2, 3], record=False)
    learner.forget(0, 0.0, decision="patient 1")
    learner.update(0, 1.0, decision="patient 1")
    assert learner.explain().choice == 0
    assert "1 on 3 outcomes of 5 mg, by BOIN" in learner.explain().reason


@pytest.mark.parametrize("name", RULES)
def test_a_corrected_outcome_of_a_lower_dose_takes_the_next_patient_back(name):
    """No DLT in three patients was one in three: the rule does not leave the dose."""
    learner = design_of(RULES[name]).learner()
    for patient in range(3):
        learner.update(learner.select(), 0.0, decision=f"patient {patient}")
    assert learner.select() == 1
    learner.forget(0, 0.0, decision="patient 1")
    learner.update(0, 1.0, decision="patient 1")
    assert learner.select() == 0


def test_invalid_designs_are_refused():
    policy = gb.CohortDesign(rule=gb.trial.BOIN())
    assert gb.Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    for make, message in (
        (lambda: gb.CohortDesign(rule="boin"), "rule must be BOIN"),
        (lambda: gb.CohortDesign(rule={"kind": "boon"}), "escalation must be one of"),
        (lambda: gb.CohortDesign(rule={"kind": "3+3"}, cohort=2), "cohort must be 3 for 3.3"),
        (lambda: gb.Learner(policy, gb.dose.power([0.1, 0.3])), "model must have a target"),
    ):
        with pytest.raises(gb.GlobalBanditsError, match=message):
            make()


# The rules against their definitions in the papers, dose by dose.

TARGETS = (0.1, 0.25, 0.3, 0.5)


def drawn_trials(n=50, largest=12, n_doses=4):
    """Patients and DLTs of trials at any stage, also such as no rule leads to."""
    rng = np.random.default_rng(8)
    treated = rng.integers(0, largest + 1, (n, n_doses)) * (rng.random((n, n_doses)) < 0.8)
    dose = rng.integers(n_doses, size=n)
    treated[np.arange(n), dose] += 1
    events = rng.binomial(treated, rng.random((n, n_doses)))
    return treated, events, dose


def chance_above(n, y, rate):
    return scipy.special.betaincc(1 + y, 1 + n - y, min(max(rate, 0.0), 1.0))


def first_toxic(treated, events, target, limit):
    """The lowest eliminated dose; the number of doses if there is none."""
    for dose, (n, y) in enumerate(zip(treated, events, strict=True)):
        if n >= 3 and chance_above(n, y, target) > limit:
            return dose
    return len(treated)


def boin_step(rule, n, y, target):
    """The rates at which two hypotheses are equally likely."""

    def edge(other):
        def ratio(x):
            return x * math.log(target / other) + (1 - x) * math.log((1 - target) / (1 - other))

        return scipy.optimize.brentq(ratio, min(target, other), max(target, other))

    rate = y / n
    up, down = edge(rule.low * target), edge(rule.high * target)
    assert rule.boundaries(target) == pytest.approx((up, down))
    return int(rate <= up) - int(rate >= down)


def keyboard_step(rule, n, y, target):
    width, first = 2 * rule.half_width, target - rule.half_width
    below = [first - k * width for k in range(1, 100) if first - k * width >= -1e-9]
    above = [first + k * width for k in range(1, 100) if first + (k + 1) * width <= 1.0 + 1e-9]
    keys = [*below[::-1], first, *above]
    assert rule.keys(target) == pytest.approx(keys)
    masses = [chance_above(n, y, key) - chance_above(n, y, key + width) for key in keys]
    return int(np.sign(len(below) - np.argmax(masses)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("rule", "step"),
    [
        (gb.trial.BOIN(), boin_step),
        (gb.trial.BOIN(low=0.5, high=1.8, elimination=0.7), boin_step),
        (gb.trial.Keyboard(), keyboard_step),
        (gb.trial.Keyboard(half_width=0.08, elimination=0.8), keyboard_step),
    ],
    ids=["BOIN", "another BOIN", "keyboard", "another keyboard"],
)
def test_an_interval_design_follows_its_definition(rule, step, target):
    treated, events, dose = drawn_trials()
    found = rule.next_dose(treated, events, dose, np.zeros(len(dose), int), target)
    recommended = rule.recommend(treated, events, target)
    rates = isotonic_rates(treated, events)
    for row in range(len(dose)):
        n, y, here = treated[row], events[row], int(dose[row])
        highest = first_toxic(n, y, target, rule.elimination) - 1
        wanted = max(here + step(rule, n[here], y[here], target), 0)
        assert found[row] == (min(wanted, highest) if highest >= 0 else NO_DOSE)
        used = np.flatnonzero(n)
        a, b = y + 0.05, n - y + 0.05
        weights = (a + b) ** 2 * (a + b + 1.0) / (a * b)  # inverse variances of Beta(a, b)
        fitted = scipy.optimize.isotonic_regression(
            a[used] / (a + b)[used], weights=weights[used]
        ).x
        assert rates[row, used] == pytest.approx(fitted, abs=1e-9)
        left = [dose for dose in used if dose <= highest]
        nearest = [abs(rates[row, dose] - target) for dose in left]
        ties = [dose for dose, gap in zip(left, nearest, strict=True) if gap < min(nearest) + 1e-9]
        if ties:
            # Below the target the highest of equally distant doses, above it the lowest.
            below = [dose for dose in ties if rates[row, dose] < target]
            assert recommended[row] == (below[-1] if below else ties[0])
        else:
            assert recommended[row] == NO_DOSE


def test_three_plus_three_follows_its_definition():
    """Every state of three doses with 0, 3 or 6 patients."""
    rule, states = gb.trial.ThreePlusThree(), []
    for treated in itertools.product((0, 3, 6), repeat=3):
        for events in itertools.product(*(range(min(n, 3) + 1) for n in treated)):
            states += [(treated, events, dose) for dose in range(3) if treated[dose] > 0]
    treated, events, dose = (np.array(part) for part in zip(*states, strict=True))
    found = rule.next_dose(treated, events, dose, np.zeros(len(dose), int), 0.25)
    for (n, y, here), chosen in zip(states, found.tolist(), strict=True):
        untried_above = here < 2 and n[here + 1] == 0
        if n[here] == 3 and y[here] == 1:
            expected = here
        elif y[here] <= (n[here] == 6):
            expected = here if n[here] == 3 else NO_DOSE
            expected = here + 1 if untried_above else expected
        else:
            expected = here - 1 if here > 0 and n[here - 1] < 6 else NO_DOSE
        assert chosen == expected, (n, y, here)
    for n, y, best in zip(treated, events, rule.recommend(treated, events, 0.25), strict=True):
        passed = [dose for dose in range(3) if n[dose] == 6 and y[dose] <= 1]
        assert best == (passed[-1] if passed else NO_DOSE)


def test_elimination_is_that_of_the_beta_distribution():
    for n in range(8):
        for y in range(n + 1):
            for target in (0.05, 0.3, 0.9):
                expected = pytest.approx(chance_above(n, y, target))
                assert elimination.probability_above(n, y, target) == expected
                assert elimination.probabilities_above(n, y, target) == expected
    treated, events = (
        np.array([[3, 3, 0], [2, 9, 9], [3, 0, 0]]),
        np.array([[1, 3, 0], [2, 1, 8], [3, 0, 0]]),
    )
    out = elimination.eliminated(treated, events, 0.3, 0.95)
    assert out.tolist() == [[False, True, True], [False, False, True], [True, True, True]]
    assert elimination.last_left(out).tolist() == [0, 1, -1]
    assert not elimination.eliminated(treated, events, 0.3, 1.0).any()
