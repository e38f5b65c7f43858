"""Live comparators: a learner treats, waits and stops as the rule for many trials says."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.policies.structured.cohort_design import NO_DOSE

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


def test_what_cannot_be_is_refused():
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
