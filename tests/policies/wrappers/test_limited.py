"""Limited: small steps, no arm skipped, a floor, a ceiling, cohorts, and their explanations."""

import dataclasses
import json

import numpy as np
import pytest

import globalbandits as gb
from tests.oracles.limits import PlainLimits
from tests.policies import contract
from tests.simulation.worlds import pricing

DOSES = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
MODEL = gb.dose.logistic(DOSES, target=0.25, domain=(0.0, 1.0))


def choose_last(setup, stats, state, rng):
    return setup.tables.n_arms - 1


def choose_last_offered(setup, stats, state, offered, rng):
    return int(offered[-1])


def choose_by_total(setup, stats, state, rng):
    """Up for six rewards, then down."""
    return setup.tables.n_arms - 1 if stats.total[0] < 6 else 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Eager(gb.Policy):
    rules = gb.Uniform.rules._replace(select=choose_last, select_among=choose_last_offered)

    def setup(self, model):
        return gb.Uniform().setup(model)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Turning(Eager):
    rules = gb.Uniform.rules._replace(select=choose_by_total)


def arms_of(policy, n, reward=0.0, model=MODEL):
    learner = gb.Learner(policy, model, seed=0)
    arms = []
    for _ in range(n):
        arms.append(learner.select())
        learner.update(arms[-1], reward)
    return arms


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({}, [0, 1, 2, 3, 4, 5, 5]),
        ({"cohort": 3}, [0, 0, 0, 1, 1, 1, 2]),
        ({"largest_step": 2, "no_skipping": False}, [0, 2, 4, 5, 5, 5, 5]),
        ({"largest_step": 2}, [0, 1, 2, 3, 4, 5, 5]),
        ({"largest_step": None, "no_skipping": False}, [0, 5, 5, 5, 5, 5, 5]),
        ({"largest_step": None}, [0, 1, 2, 3, 4, 5, 5]),
        ({"start": 2, "high": 4}, [2, 3, 4, 4, 4, 4, 4]),
        ({"low": 3}, [3, 4, 5, 5, 5, 5, 5]),
    ],
)
def test_a_choice_is_moved_into_the_limits(limits, expected):
    assert arms_of(gb.Limited(Eager(), **limits), 7) == expected


def test_steps_down_are_free_unless_they_are_limited():
    assert arms_of(gb.Limited(Turning()), 8) == [0, 1, 2, 3, 4, 5, 0, 0]
    slow = gb.Limited(Turning(), largest_step_down=1)
    assert slow == gb.Limited(Turning(), largest_step=1)
    assert arms_of(slow, 10) == [0, 1, 2, 3, 4, 5, 4, 3, 2, 1]
    down = gb.Limited(Turning(), largest_step=3)
    assert arms_of(down, 9) == [0, 1, 2, 3, 4, 5, 2, 0, 0]
    assert arms_of(gb.Limited(Turning(), low=4), 9) == [4, 5, 5, 5, 5, 5, 4, 4, 4]


def test_a_tried_arm_may_be_passed():
    learner = gb.Learner(gb.Limited(Eager(), largest_step=4), MODEL, seed=0)
    learner.update([0, 1, 2, 3, 0], [0.0] * 5)
    assert learner.select() == 4


def test_late_rewards_of_earlier_decisions_do_not_move_the_limits():
    learner = gb.Learner(gb.Limited(Eager(), cohort=2), MODEL, seed=0)
    assert [learner.select() for _ in range(5)] == [0] * 5
    learner.update(0, 0.0)
    assert [learner.select() for _ in range(2)] == [0] * 2
    learner.update(0, 0.0)
    assert [learner.select() for _ in range(3)] == [1] * 3
    learner.update([0, 0, 0], [0.0] * 3)  # five decisions for arm 0 are open
    assert learner.select() == 1
    learner.update([1, 1], [0.0] * 2)
    assert learner.select() == 2
    assert learner.explain().details == {"lowest": 0, "highest": 2, "cohort": [0, 1], "open": 5}


CRM = gb.Limited(gb.GridPlugIn(cells=200, prior_variance=1.34), cohort=3)
SKELETON = [0.05, 0.12, 0.25, 0.40, 0.55, 0.65]
TRIAL = gb.dose.power(SKELETON, target=0.25)


def test_a_reported_toxicity_does_not_send_the_next_patient_up():
    learner = gb.Learner(CRM, TRIAL, seed=0)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    doses = [learner.select()]
    learner.update(0, 0.0)
    doses.append(learner.select())
    learner.update(1, 1.0)
    doses.append(learner.select())
    assert doses[0] == 1
    assert doses[2] <= doses[1] <= doses[0]


@pytest.mark.parametrize(("cohort", "target"), [(1, 0.3), (2, 0.3), (3, 0.25), (3, 0.5)])
def test_random_histories_have_the_limits_of_the_plain_ones(cohort, target):
    """Decisions and late reports in random order, some of patients treated elsewhere."""
    rng = np.random.default_rng(cohort)
    model = gb.dose.logistic(DOSES, target=target)
    wishes = [Wish(arm=arm) for arm in range(6)]
    for _ in range(15):
        policies = [gb.Limited(wish, cohort=cohort) for wish in wishes]
        learners = [gb.Learner(policy, model, seed=0, compiled=False) for policy in policies]
        plain, open_doses = PlainLimits(6, cohort, target), []
        for _ in range(40):
            wish = int(rng.integers(6))
            action = rng.random()
            if action < 0.5:
                dose = plain.next_dose(wish)
                assert learners[wish].explain().choice == dose
                plain.treat(dose)
                open_doses.append(dose)
                for each in learners:
                    each.decide(dose)
            elif open_doses or action > 0.9:
                known = open_doses and action <= 0.95
                place = int(rng.integers(len(open_doses))) if known else 0
                dose = open_doses.pop(place) if known else int(rng.integers(6))
                outcome = float(rng.random() < 0.3)
                plain.report(dose, outcome)
                for each in learners:
                    each.update(dose, outcome)
        assert {each.explain().details["open"] for each in learners} == {
            sum(patient.outcome is None for patient in plain.patients)
        }


def test_looking_at_the_next_choice_is_no_decision():
    learner = gb.Learner(CRM, TRIAL, seed=0)
    learner.update([0, 0, 0], [0.0, 0.0, 0.0])
    before = learner.state()["kept"]
    assert learner.explain().choice == learner.select(record=False) == 1
    assert learner.admissible() == [0, 1]
    assert learner.state()["kept"] == before
    learner.decide(1)
    assert learner.explain().details["cohort"] == [0, 1]
    assert gb.Learner(gb.WAGP(), TRIAL).admissible() is None


def choose_given_arm(setup, stats, state, rng):
    return setup.arm


@dataclasses.dataclass(frozen=True, kw_only=True)
class Wish(gb.Policy):
    arm: int
    rules = gb.FixedArm.rules._replace(select=choose_given_arm)

    def setup(self, model):
        return gb.FixedArm(self.arm).setup(model)


def test_whole_cohorts_are_completed_at_their_dose():
    """The start is above the dose that the prior prefers. A DLT ends the cohort in any case."""
    doses = {}
    for whole in (False, True):
        policy = dataclasses.replace(CRM, whole_cohorts=whole, start=4)
        learner = gb.Learner(policy, TRIAL, seed=0)
        doses[whole] = [learner.select(), learner.explain().choice]
        learner.update(4, 1.0)
        doses[whole].append(learner.select())
    assert doses == {False: [4, 2, 0], True: [4, 4, 0]}


def test_coherence_is_that_of_a_model_with_a_target_and_can_be_lifted():
    for coherent, expected in ((True, 0), (False, 1)):
        learner = gb.Learner(gb.Limited(Eager(), coherent=coherent), MODEL, seed=0)
        learner.update(learner.select(), 1.0)
        assert learner.explain().choice == expected
    assert "1 on 1 rewards of the cohort on arm 0 reach the target of 0.25" in (
        gb_learner_after_event().explain().reason
    )
    shop = gb.Learner(gb.Limited(Eager()), pricing().model, seed=0)
    shop.update(shop.select(), 1.0)
    assert shop.select() == 1


def gb_learner_after_event():
    learner = gb.Learner(gb.Limited(Eager()), MODEL, seed=0)
    learner.update(learner.select(), 1.0)
    return learner


def test_a_cap_on_decisions_without_a_reward():
    policy = gb.Limited(Eager(), start=1, cohort=3, max_open=2)
    learner = gb.Learner(policy, MODEL, seed=0)
    assert [learner.select() for _ in range(4)] == [1, 1, 0, 0]
    assert "arm 0 has 2 decisions without a reward" in learner.explain().reason
    before = learner._record.encode()
    with pytest.raises(
        gb.PolicyError, match=r"allows no arm now: all arms .* open decisions; wait"
    ):
        learner.select()
    assert learner._record.encode() == before
    learner.update(0, 0.0)
    assert learner.select() == 0


def test_forgetting_recomputes_from_the_other_decisions_and_rewards():
    learner, plain = (gb.Learner(CRM, TRIAL, seed=0) for _ in range(2))
    for each in (learner, plain):
        each.update([0, 0, 0], [0.0, 0.0, 0.0])
        assert [each.select() for _ in range(3)] == [1, 1, 1]
        each.update([1, 1], [0.0, 0.0])
    learner.update(1, 1.0)
    assert learner.explain().details["open"] == 0
    learner.forget(1, 1.0)
    assert learner.state()["kept"] == plain.state()["kept"]
    assert learner.explain().details["open"] == 1
    # The corrected outcome is of the same patient.
    for each in (learner, plain):
        each.update(1, 0.0)
    assert learner.explain() == plain.explain()
    with pytest.raises(gb.RewardError, match="reward must be one that arm 1 has had as number 1"):
        learner.forget(1, 0.0, number=1)
    learner.forget(0, 0.0, number=2)
    assert learner.pulls.tolist()[0] == 2


def test_other_limits_take_over_the_record_and_other_policies_end_them():
    learner = gb.Learner(CRM, TRIAL, seed=0)
    learner.update([0, 0], [0.0, 0.0])
    assert learner.explain().choice == 0
    amended = learner.with_policy(dataclasses.replace(CRM, cohort=2))
    assert amended.select() == 1
    more = gb.dose.power([*SKELETON, 0.8], target=0.25)
    assert learner.with_model(more).explain().details["cohort"] == [2, 2]
    with pytest.warns(
        UserWarning, match=r"the limits of Limited\(.*\) end: GridPlugIn\(.* has none"
    ):
        free = learner.with_policy(CRM.inner)
    assert free.select() > 1
    with pytest.raises(gb.PolicyError, match="cannot take over rewards: their order matters"):
        free.with_policy(CRM)


@pytest.mark.parametrize("around", [gb.Guarded, gb.Safe, gb.Limited])
def test_limits_inside_another_wrapper_are_refused(around):
    with pytest.raises(gb.PolicyError, match="inner must be a policy without limits"):
        around(CRM)
    if around is gb.Guarded:
        with pytest.raises(gb.PolicyError, match="fallback must be a policy without limits"):
            gb.Guarded(fallback=CRM)


def test_recommendations_are_best_given_arms_at_the_estimate():
    learner = gb.Learner(CRM, TRIAL, seed=0)
    learner.update([0, 0, 0, 1], [0.0, 0.0, 0.0, 0.0])
    assert learner.explain().choice == 1  # the cohort is not complete
    assert TRIAL.best_arms(learner.estimate)[0] > 1
    assert learner.recommend() == 1
    untried = learner.with_policy(dataclasses.replace(CRM, recommend_untried=True))
    assert untried.recommend() == TRIAL.best_arms(learner.estimate)[0]
    # An incomplete cohort counts: its toxicities move the recommendation down at once.
    learner.update([1, 1], [1.0, 1.0])
    assert learner.recommend() == 0


def test_recommendations_explore_nothing():
    wild = gb.Learner(gb.Limited(gb.Uniform(), cohort=3), TRIAL, seed=0)
    wild.update([0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 0, 0, 0, 0, 1, 1, 1, 1])
    assert {wild.recommend() for _ in range(20)} == {1}  # 1 / 3 is nearest to 0.25
    plain = gb.Learner(gb.GridThompson(), TRIAL, seed=0)
    plain.update([0, 1, 2], [0.0, 0.0, 1.0])
    assert {plain.recommend() for _ in range(20)} == {TRIAL.best_arms(plain.estimate)[0]}
    with pytest.raises(gb.PolicyError, match="learner must have a reward before an arm is"):
        gb.Learner(gb.UCB1(), TRIAL).recommend()


def test_the_simulator_recommends_what_a_learner_does():
    env = gb.Environment(TRIAL, truth=[0.0, 0.0, 0.0, 1.0, 1.0, 1.0], noise=gb.NoNoise())
    policy = gb.Limited(gb.GridThompson(cells=100, prior_variance=1.34), cohort=3)
    data = gb.simulate(env, {"a": policy}, horizon=11, runs=20).dataset
    for run in range(20):
        counts = data["pulls"].values[0, run]
        learner = gb.Learner(gb.GridThompson(cells=100, prior_variance=1.34), TRIAL)
        for arm in range(6):
            learner.update([arm] * counts[arm], [float(arm > 2)] * counts[arm])
        given = [arm for arm in range(6) if counts[arm] > 0]
        worths = TRIAL.worth(learner.estimate)
        assert data["choice"].values[0, run] == max(given, key=lambda arm: worths[arm])


def test_rewards_of_arms_outside_bring_the_next_decision_back():
    learner = gb.Learner(gb.Limited(Eager(), high=3), MODEL, seed=0)
    learner.update(5, 0.0)
    assert learner.select() == 3


@pytest.mark.parametrize(
    ("limits", "rewards", "text"),
    [
        ({}, [], "moved from arm 5 by a limit: the first decision is for arm 0 (unlimited:"),
        ({"cohort": 3}, [0], "the cohort on arm 0 has 1 of 3 rewards"),
        ({}, [0], "at most 1 step(s) up from arm 0"),
        ({"largest_step_up": 3}, [0], "arm 1 has no reward yet and is not skipped"),
        ({"high": 1}, [0, 1], "arm 1 is the highest"),
    ],
)
def test_explain_names_the_binding_limit(limits, rewards, text):
    learner = gb.Learner(gb.Limited(Eager(), **limits), MODEL, seed=0)
    for arm in rewards:
        learner.update(arm, 0.0)
    explanation = learner.explain()
    assert text in explanation.reason
    assert explanation.choice == learner.select()


def test_explain_names_a_limit_downwards_and_none_where_none_binds():
    learner = gb.Learner(gb.Limited(Turning(), largest_step_down=1), MODEL, seed=0)
    learner.update([5] * 6, [0.0] * 6)
    reason = learner.explain().reason
    assert "moved from arm 0 by a limit: at most 1 step(s) down from arm 5" in reason
    floor = gb.Learner(gb.Limited(Turning(), low=5), MODEL, seed=0)
    floor.update([5] * 6, [0.0] * 6)
    assert "arm 5 is the lowest" in floor.explain().reason
    free = gb.Learner(gb.Limited(Eager()), MODEL, seed=0)
    free.update(5, 0.0)
    assert "limit" not in free.explain().reason
    assert free.explain().details == {"lowest": 0, "highest": 5, "cohort": [1, 1], "open": 0}


def test_without_limits_it_is_the_inner_policy():
    env = gb.Environment(MODEL, theta=0.5, noise=gb.BernoulliNoise())
    limits = {"largest_step": None, "no_skipping": False, "coherent": False}
    policies = {"free": gb.WAGP(), "limited": gb.Limited(gb.WAGP(), **limits)}
    data = gb.simulate(env, policies, 300, runs=5).dataset
    regret = data["regret"].values[:, :, -1]
    # Only the first decision differs, and what it taught.
    assert np.abs(np.diff(data["pulls"].values, axis=0)).sum(axis=-1).max() <= 4
    assert np.abs(np.diff(regret, axis=0)).max() <= 2 * MODEL.gaps(0.5).max()


def test_the_simulator_and_the_learner_take_the_same_decisions():
    policy = gb.Limited(gb.GridGreedy(likelihood="bernoulli", cells=50), cohort=3)
    contract.check_same_bits(policy, gb.Environment(MODEL, 0.5, gb.BernoulliNoise()), 40)


def test_the_contract():
    policy = gb.Limited(gb.WAGP(), cohort=3, high=3)
    contract.check_spec(policy)
    contract.check_restored(policy, pricing().model)
    contract.check_reasons(gb.Limited(gb.UCB1()), pricing().model)


@pytest.mark.parametrize(
    ("arms", "field", "value"),
    [
        ([0, 1], "arm", 77),
        ([0, 1], "arm", -1),
        ([0, 1], "observed", 2),
        ([0, 1], "observed", -1),
        ([0, 1], "decided", 0),
        ([0, 1], "waiting", -1),
        ([0, 1], "reported", 3.0),
        ([0, 1], "reported", np.nan),
        ([], "arm", 1),
        ([], "waiting", 1),
        ([], "observed", 1),
    ],
)
def test_an_impossible_saved_cohort_is_refused(arms, field, value):
    policy = gb.Limited(gb.WAGP())
    learner = gb.Learner(policy, MODEL, seed=2)
    for arm in arms:
        learner.update(arm, 0.5)
    getattr(learner._state, field)[0] = value
    with pytest.raises(gb.StateError, match="kept must be fields that these statistics"):
        gb.Learner.restore(policy, MODEL, json.loads(json.dumps(learner.state())))


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (None, "record must be a dict"),
        ({"arms": [0], "rewards": []}, "record must have arms and rewards of one length"),
        ({"arms": [0], "rewards": [2.0]}, "record must have arms and rewards of one length"),
        ({"arms": [True], "rewards": [0.5]}, "record must have arms and rewards of one length"),
        ({"arms": [9], "rewards": [None]}, "record must have arms of the model, got 9"),
        ({"arms": [1], "rewards": [0.5]}, "record must lead to the statistics, got another one"),
    ],
)
def test_an_impossible_saved_record_is_refused(record, message):
    policy = gb.Limited(gb.WAGP())
    learner = gb.Learner(policy, MODEL, seed=2)
    learner.update(0, 0.5)
    with pytest.raises(gb.StateError, match=message):
        gb.Learner.restore(policy, MODEL, learner.state() | {"record": record})


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"inner": 3}, "inner must be a policy, got 3"),
        ({"largest_step": -1}, "largest_step must be at least 0, got -1"),
        ({"largest_step_up": 0}, "largest_step_up must be at least 1, got 0"),
        ({"largest_step_down": 0}, "largest_step_down must be at least 1, got 0"),
        ({"max_open": 0}, "max_open must be at least 1, got 0"),
        ({"coherent": 1}, "coherent must be True or False, got 1"),
        ({"no_skipping": 1}, "no_skipping must be True or False, got 1"),
        ({"cohort": 0}, "cohort must be at least 1, got 0"),
        ({"low": -1}, "low must be at least 0, got -1"),
        ({"low": 3, "high": 2}, "high must be at least low = 3, so that an arm is left, got 2"),
        ({"start": 1, "low": 2}, "start must lie between low and high, got 1"),
        ({"start": 4, "high": 2}, "start must lie between low and high, got 4"),
    ],
)
def test_invalid_limits_are_refused(limits, message):
    with pytest.raises(gb.PolicyError, match=message):
        gb.Limited(**limits)


@pytest.mark.parametrize("name", ["low", "high", "start"])
def test_limits_beyond_the_model_are_refused(name):
    with pytest.raises(gb.PolicyError, match=f"{name} must be at most 5, the last arm, got 6"):
        gb.Learner(gb.Limited(gb.WAGP(), **{name: 6}), MODEL)


def test_one_decision_may_be_restricted():
    learner = gb.Learner(Eager(), MODEL, seed=0)
    assert learner.select(allowed=[0, 3]) == 3
    assert learner.select(allowed={1}) == 1
    assert learner.select() == 5
    middle = gb.Learner(gb.Limited(Eager(), start=2), MODEL, seed=0)
    with pytest.raises(gb.RewardError, match=r"within the limits, which are \[2\], got \[1, 3\]"):
        middle.select(allowed=[3, 1])
    assert middle.select(allowed=[2, 3]) == 2
    middle.update(2, 0.0)
    assert (
        middle.select(allowed=[5, 1]) == 1
    )  # arm 5 is nearer to the inner choice, but a limit excludes it


@pytest.mark.parametrize(
    ("allowed", "message"),
    [
        ([], r"allowed must leave at least one arm, got \[\]"),
        ([6], "allowed must be an index below 6, got 6"),
        ([0.5], "allowed must be an integer, got 0.5"),
        (3, "allowed must be indices of arms, got 3"),
    ],
)
def test_invalid_allowed_arms_are_refused(allowed, message):
    learner = gb.Learner(gb.Uniform(), MODEL, seed=0)
    before = learner.state()["generator"]
    with pytest.raises(gb.RewardError, match=message):
        learner.select(allowed=allowed)
    assert learner.state()["generator"] == before


def test_a_generator_may_be_handed_in():
    learner = gb.Learner(gb.Uniform(), MODEL, seed=0)
    before = learner.state()["generator"]
    drawn = [learner.select(rng=np.random.default_rng(seed)) for seed in range(20)]
    assert drawn == [learner.select(rng=np.random.default_rng(seed)) for seed in range(20)]
    assert len(set(drawn)) > 1
    assert learner.state()["generator"] == before
    with pytest.raises(gb.PolicyError, match=r"rng must be a numpy\.random\.Generator, got 3"):
        learner.select(rng=3)


@pytest.mark.parametrize("low", [0, 1])
def test_no_arm_is_admissible_once_the_lowest_is_eliminated(low):
    model = gb.dose.logistic([1.0, 2.0, 3.0, 4.0], domain=(0.0, 4.0), target=0.25)
    learner = gb.Learner(gb.Limited(elimination=0.9, low=low), model, seed=0)
    learner.update([low] * 4, [1.0] * 4)
    assert learner.admissible() == []
    with pytest.raises(gb.PolicyError, match=f"arm {low}, the lowest, is eliminated; stop"):
        learner.select()
    with pytest.raises(gb.RewardError, match=r"which are \[\]"):
        learner.select(allowed=[low])
