"""Uses of a trial that went wrong once, or that a hostile reader would try: one test each.

Retractions, amendments and replay in the service are in tests/service/test_trial_conduct.py.
"""

import copy
import warnings

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.lab.trials import parse_trial
from globalbandits.statistics import count

SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
MODEL = gb.dose.power(SKELETON, target=0.25, domain=(-6.0, 6.0))
LABELS = ["5 mg", "10 mg", "20 mg", "40 mg", "60 mg", "80 mg"]
INNER = gb.DoseEscalation(prior=[("normal", 0.0, 1.34**0.5)])
DESIGNS = {
    "CRM, cohorts of 1": gb.trial.crm(SKELETON, 0.25, cohort=1),
    "CRM, cohorts of 3": gb.trial.crm(SKELETON, 0.25),
    "logistic CRM": gb.trial.crm(SKELETON, 0.25, intercept=3.0, elimination=0.95),
    "TITE-CRM": gb.trial.tite_crm(SKELETON, 0.25, window=28, every=14),
    "BLRM": gb.trial.blrm(
        [5, 10, 20, 40, 60, 80], 0.25, reference=40, prior_mean=(-1, 0), prior_sd=(2, 1), cells=24
    ),
    "BOIN": gb.trial.Design(doses=LABELS, target=0.25, rule=gb.trial.BOIN()),
    "keyboard": gb.trial.Design(doses=LABELS, target=0.25, rule=gb.trial.Keyboard()),
    "3+3": gb.trial.Design(doses=LABELS, target=0.25, rule=gb.trial.ThreePlusThree()),
}


def limited(**options):
    return gb.Learner(gb.Limited(INNER, **options), MODEL, seed=0, compiled=False)


def chosen_after(policy, parts, arm, outcome):
    """Report an outcome to a copy of a learner's parts, and return the next dose.

    A comparator that waits for outcomes keeps the dose of its cohort.
    """
    rules, setup, stats, state = parts
    stats, state = copy.deepcopy((stats, state))
    count(stats, arm, outcome)
    rules.update(setup, stats, state, arm, outcome)
    chosen = int(rules.select(setup, stats, state, np.random.default_rng(0)))
    if chosen < 0 and "wait" in policy.no_arm(setup, stats, state):
        return int(state.dose[0])
    return chosen


# 1 to 8: overlapping patients.


def test_01_a_reported_dlt_sends_no_patient_up():
    """The sequence of decisions and reports by which a DLT once raised the dose."""
    learner = limited(cohort=3)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    assert learner.select() == 1
    learner.update(0, 0.0)
    assert learner.select() == 1
    learner.update(1, 1.0)
    assert learner.select() <= 1


@pytest.mark.parametrize("name", DESIGNS)
def test_02_no_design_goes_higher_because_of_a_dlt(name):
    """Random decisions and late reports: a DLT never gives more than its absence.

    For models with limits the choice is also at most the one before the report.
    """
    design, rng = DESIGNS[name], np.random.default_rng(7)
    n_reports = 0
    for _ in range(6):
        learner = design.learner()
        waiting = []
        while learner.n_observations < 24:
            parts = learner.parts
            choice = int(parts[0].select(*parts[1:], rng))
            if choice >= 0 and (not waiting or rng.random() < 0.5):
                waiting.append(learner.select())
                continue
            if not waiting:
                break  # the trial has stopped
            arm = waiting.pop(int(rng.integers(len(waiting))))
            with_dlt, without = (
                chosen_after(design.policy, parts, arm, outcome) for outcome in (1.0, 0.0)
            )
            assert with_dlt <= without
            if isinstance(design.policy, gb.Limited):
                assert with_dlt <= choice
            n_reports += 1
            learner.update(arm, float(rng.random() < 0.3))
    assert n_reports > 20


def test_03_late_reports_of_a_lower_dose_leave_the_anchor():
    learner = limited(cohort=3)
    for _ in range(5):
        learner.decide(0)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    assert [learner.select() for _ in range(2)] == [1, 1]
    learner.update([0, 0], [0.0, 0.0])
    assert learner.select() == 1


def test_04_patients_who_arrive_early_join_the_cohort():
    learner = limited(cohort=3)
    assert [learner.select() for _ in range(5)] == [0] * 5
    learner.update([0, 0], [0.0, 0.0])
    assert learner.explain().choice == 0
    learner.update(0, 0.0)
    assert learner.explain().choice == 1


def test_05_no_cohort_stays_above_the_dose_of_the_model():
    learner = gb.trial.crm(SKELETON, 0.25, start=2).learner()
    assert learner.select() == 2
    learner.update(2, 1.0)
    _, setup, stats, state = learner.parts
    wish = int(INNER.rules.select(setup.inner, stats, state.inner, np.random.default_rng(0)))
    assert learner.explain().choice == wish < 2


def test_06_no_step_up_straight_after_a_cohort_at_or_above_the_target():
    """One DLT in nine patients at the lowest dose: the model alone goes up."""
    learner = limited(cohort=3)
    learner.update([0] * 9, [0.0] * 8 + [1.0])
    _, setup, stats, state = learner.parts
    assert INNER.rules.select(setup.inner, stats, state.inner, np.random.default_rng(0)) > 0
    assert learner.explain().choice == 0
    free = limited(cohort=3, coherent=False)
    free.update([0] * 9, [0.0] * 8 + [1.0])
    assert free.explain().choice == 1


def test_07_steps_up_are_single_and_steps_down_are_free():
    learner = limited()
    for expected in (0, 1, 2, 3):
        assert learner.select() == expected
        learner.update(expected, 0.0)
    assert learner.select() == 4
    learner.update([4, 4, 4], [1.0, 1.0, 1.0])
    assert learner.explain().choice <= 2


def test_08_a_cap_on_patients_without_an_outcome():
    learner = limited(cohort=3, max_open=3)
    assert [learner.select() for _ in range(3)] == [0, 0, 0]
    with pytest.raises(gb.PolicyError, match="max_open open decisions; wait for a reward"):
        learner.select()


def test_08_patients_of_one_day_do_not_climb_in_a_trial_with_follow_up():
    """The dose of a TITE-CRM is not raised before a patient was observed for a while."""
    design = DESIGNS["TITE-CRM"]
    learner = design.learner()
    doses = [learner.select() for _ in range(3)]
    assert doses == [0, 0, 0]
    assert design.next_patient([(0, 0.0, 0), (0, 0.0, 0)]) == 0
    learner.set_pending([0, 0, 0], [0.2, 0.2, 0.2])
    assert learner.explain().choice == 0
    assert "observed for long enough" in learner.explain().reason
    assert design.next_patient([(0, 0.2 * 28, 0)] * 3) == 0
    learner.set_pending([0, 0, 0], [0.25, 0.25, 0.25])
    assert learner.explain().choice == 1
    assert design.next_patient([(0, 0.25 * 28, 0)] * 3) == 1


# 9 to 12: stopping rules.


@pytest.mark.parametrize(
    "model",
    [
        gb.dose.logistic([1.0, 2.0, 4.0], target=0.25),
        gb.dose.linear([0.2, 0.3, 0.4], target=0.25),
        gb.dose.power([0.01, 0.02, 0.05], target=0.25),
        gb.dose.skeleton_logistic([0.01, 0.02, 0.05], target=0.25),
        gb.dose.emax([1.0, 2.0, 4.0], target=0.25),
        gb.dose.hyperbolic_tangent([-1.5, -0.5, 0.5], target=0.25),
    ],
    ids=lambda model: model.to_dict()["family"],
)
def test_09_dlts_in_all_patients_stop_a_trial(model):
    learner = gb.Learner(gb.GridGreedy(), model, seed=0, compiled=False)
    learner.update([0] * 36, [1.0] * 36)
    assert learner.should_stop(gb.StopWhen(above=0.25)) == "too high"


def test_10_a_rule_that_cannot_fire_is_refused():
    narrow = gb.dose.power([0.01, 0.02, 0.05], target=0.25, domain=(-0.5, 0.5))
    # A rate of 1 at the highest dose is a rate of 0.25 at the lowest.
    straight = gb.dose.linear([0.1, 0.2, 0.4], target=0.25)
    for model in (narrow, straight):
        with pytest.raises(gb.PolicyError, match="above must be a limit that 36 largest rewards"):
            gb.StopWhen(above=0.25).setup(model)


def test_11_one_contender_needs_patients_of_its_own():
    learner = gb.Learner(gb.GridGreedy(), MODEL, seed=0, compiled=False)
    learner.update([0] * 5, [1.0] * 5)
    rule = gb.StopWhen(one_contender=True, confidence=0.5)
    assert learner.should_stop(rule) is None
    learner.update(0, 1.0)
    assert learner.should_stop(rule) == "one contender"


def test_12_all_patients_are_enrolled_although_outcomes_are_open():
    learner = limited(cohort=3)
    for _ in range(6):
        learner.select()
    assert learner.should_stop(gb.StopWhen(decisions=6)) == "decisions"
    assert learner.should_stop(gb.StopWhen(decisions=7)) is None


# 13 to 17: limits cannot be left by accident.


def test_13_allowed_doses_only_restrict_further():
    learner = limited(cohort=3)
    for allowed in ([3], [1, 5]):
        with pytest.raises(gb.RewardError, match="allowed must have an arm within the limits"):
            learner.select(allowed=allowed)
    assert learner.select(allowed=[0, 5]) == 0


def test_14_limits_inside_another_wrapper_are_refused():
    for around in (gb.Guarded, gb.Safe, gb.Limited):
        with pytest.raises(gb.PolicyError, match="limits"):
            gb.Learner(around(gb.Limited(gb.WAGP())), gb.dose.power(SKELETON, target=0.25))


def test_15_leaving_the_limits_warns():
    learner = limited(cohort=3)
    with pytest.warns(UserWarning, match=r"the limits of Limited.* end: DoseEscalation.* has none"):
        learner.with_policy(INNER)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        learner.with_policy(gb.Limited(INNER, cohort=2))


def test_16_a_corrected_outcome_leaves_no_trace():
    learner, other = limited(cohort=3), limited(cohort=3)
    for number, outcome in enumerate((0.0, 0.0, 0.0, 0.0)):
        learner.update(learner.select(), outcome, decision=f"patient {number}")
    learner.forget(0, 0.0, decision="patient 1")
    learner.update(0, 1.0, decision="patient 1")
    for arm in (0, 0, 0, 1):
        other.decide(arm)
    other.update([0, 0, 1, 0], [0.0, 0.0, 0.0, 1.0])
    assert learner.explain().arms == other.explain().arms
    assert learner.explain().choice == other.explain().choice == 0


def test_17_a_dose_is_added_and_the_cohort_changed():
    learner = limited(cohort=3)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    more = learner.with_model(gb.dose.power([*SKELETON, 0.8], target=0.25, domain=(-6.0, 6.0)))
    assert more.select() == 1
    larger = learner.with_policy(gb.Limited(INNER, cohort=6))
    assert larger.explain().choice == 0


# 18 to 21: recommendations.


def test_18_an_incomplete_last_cohort_counts():
    learner = limited(cohort=3)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    assert learner.recommend() == 0
    learner.update(1, 0.0)
    assert learner.recommend() == 1
    learner.update([1, 1], [1.0, 1.0])
    assert learner.recommend() == 0


def test_19_only_given_doses_are_recommended_by_default():
    for lift, expected in ((False, 0), (True, 3)):
        learner = limited(cohort=3, recommend_untried=lift)
        learner.update([0, 0, 0], [0.0, 0.0, 0.0])
        assert learner.recommend() == expected


def test_20_a_recommendation_explores_nothing():
    found = set()
    for seed in range(20):
        policy = gb.Limited(gb.GridThompson(cells=50), cohort=3)
        learner = gb.Learner(policy, MODEL, seed=seed, compiled=False)
        learner.update([0, 0, 0, 1, 1, 1], [0.0, 0.0, 0.0, 0.0, 0.0, 1.0])
        found.add(learner.recommend())
    assert len(found) == 1


@pytest.mark.parametrize("name", ["CRM, cohorts of 3", "BOIN", "3+3"])
def test_21_where_all_doses_are_toxic_stopping_is_correct(name):
    design = DESIGNS[name]
    if name.startswith("CRM"):
        stop = gb.StopWhen(above=0.25, confidence=0.9)
        design = gb.trial.crm(SKELETON, 0.25, stop=stop)
    row = design.summary({"toxic": [0.6, 0.7, 0.8, 0.85, 0.9, 0.95]}, runs=100).iloc[0]
    assert row["correct"] == row["none"] > 0.9
    assert row["overdosed"] == 1.0


# 22 to 24: likely errors, and the prior.


def test_22_likely_mistakes_are_named():
    assert "no target" in gb.dose.power(SKELETON).remarks[0]
    assert "descending order" in gb.trial.crm(SKELETON[::-1], 0.25).remarks[0]
    amounts = gb.trial.blrm(
        [20, 10], 0.25, reference=10, prior_mean=(-1, 0), prior_sd=(2, 1), cells=12
    )
    assert "descending order" in amounts.remarks[0]
    trial = parse_trial(
        {
            "target": 0.25,
            "patients": 6,
            "designs": {"BOIN": {"design": "boin"}},
            "scenarios": {"turning": [0.3, 0.1]},
        }
    )
    assert trial.remarks == ("scenario 'turning': the true rate falls from one dose to the next",)


def test_23_the_design_and_its_parts_agree():
    """A target or a cohort that differs between a design and its policy is refused."""
    for options, message in (
        ({"target": 0.3}, "model must have the design's target, 0.3, got 0.25"),
        ({"cohort": 2}, "cohort must be 3, as in the policy, got 2"),
        ({"start": 1}, "start must be 0, as in the policy, got 1"),
    ):
        given = {"target": 0.25, "cohort": 3} | options
        with pytest.raises(gb.PolicyError, match=message):
            gb.trial.Design(doses=LABELS, rule=gb.Limited(INNER, cohort=3), model=MODEL, **given)


def test_24_the_usual_prior_has_the_variance_of_dfcrm():
    """1.34 is a variance: the posterior mean of theta by direct summation."""
    theta = np.linspace(-6.0, 5.0, 22_001)
    for spread, agrees in ((1.34**0.5, True), (1.34, False)):
        logs = -0.5 * (theta / spread) ** 2
        rates = np.array(SKELETON)[:2, np.newaxis] ** np.exp(theta)
        logs += 3 * np.log1p(-rates[0]) + 2 * np.log1p(-rates[1]) + np.log(rates[1])
        weights = np.exp(logs - logs.max())
        learner = gb.trial.crm(SKELETON, 0.25).learner()
        learner.update([0, 0, 0, 1, 1, 1], [0.0] * 5 + [1.0])
        same = learner.estimate == pytest.approx(weights @ theta / weights.sum(), abs=1e-6)
        assert same == agrees
    assert gb.GridPlugIn(prior_variance=1.34).prior == pytest.approx((0.0, 1.34**0.5))
    assert INNER.prior == gb.trial.crm(SKELETON, 0.25).policy.inner.prior
