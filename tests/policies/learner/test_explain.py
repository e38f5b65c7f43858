"""How a learner explains its next decision."""

import dataclasses

import pytest

from globalbandits.errors import ModelError, PolicyError
from globalbandits.model import (
    RegionalModel,
    RewardModel,
)
from globalbandits.model.catalogue import (
    demand,
    dose,
)
from globalbandits.policies import UCB1, WAGP, ArmReport, Learner, Limited, RegionalUCB
from tests.policies.families import model_of
from tests.policies.learner.test_learner import POLICIES, play

EUROS = RewardModel.from_functions(
    [lambda theta: 10.0 * theta, lambda theta: 10.0 - 10.0 * theta],
    arms=["up", "down"],
    reward_range=(0.0, 10.0),
)


def test_every_figure_in_the_models_units():
    learner = Learner(WAGP(), EUROS, seed=0)
    learner.update([0, 0, 0], [2.0, 4.0, 3.0])
    explained = learner.explain()
    assert explained.policy == "WAGP"
    assert explained.n_observations == 3
    assert explained.estimate == pytest.approx(0.3)
    assert explained.choice == 1
    assert explained.reason == "greedy: the best arm at the estimate 0.3"
    assert explained.details == {}
    up, down = explained.arms
    assert (up.arm, up.value, up.pulls) == (0, "up", 3)
    assert up.mean == pytest.approx(3.0)
    assert up.model_mean == pytest.approx(3.0)
    assert up.estimate == pytest.approx(0.3)
    assert down == ArmReport(
        arm=1,
        value="down",
        pulls=0,
        mean=None,
        model_mean=down.model_mean,
        worth=down.model_mean,
        estimate=None,
    )
    assert down.model_mean == pytest.approx(7.0)


def test_printed():
    learner = Learner(WAGP(), EUROS, seed=0)
    learner.update([0, 0, 0], [2.0, 4.0, 3.0])
    assert str(learner.explain()).splitlines() == [
        "WAGP after 3 observations; estimate 0.3",
        "next: arm 1 ('down'), greedy: the best arm at the estimate 0.3",
        "arm   value  pulls  mean  model mean  own estimate",
        "  0    'up'      3     3           3           0.3",
        " >1  'down'      0     -           7             -",
    ]


def test_every_arm_is_shown_once_whichever_is_chosen():
    learner = Learner(WAGP(), EUROS, seed=0)
    learner.update([0, 0, 0], [8.0, 7.0, 9.0])
    assert str(learner.explain()).splitlines()[1:] == [
        "next: arm 0 ('up'), greedy: the best arm at the estimate 0.8",
        "arm   value  pulls  mean  model mean  own estimate",
        " >0    'up'      3     8           8           0.8",
        "  1  'down'      0     -           2             -",
    ]


def test_worth_is_shown_where_it_is_something_else_than_the_mean():
    model = demand.linear([0.4, 0.8], cost=0.3)
    learner = Learner(WAGP(), model, seed=0)
    learner.update([0, 0, 0, 0], [1.0, 1.0, 0.0, 1.0])
    assert str(learner.explain()).splitlines() == [
        "WAGP after 4 observations; estimate 0.625",
        "next: arm 1 (0.8), greedy: the best arm at the estimate 0.625",
        "arm  value  pulls  mean  model mean  worth  own estimate",
        "  0    0.4      4  0.75        0.75  0.075         0.625",
        " >1    0.8      0     -         0.5   0.25             -",
        *(f"note: {remark}" for remark in model.remarks),
    ]


def test_worth_without_an_estimate_is_that_of_the_observed_mean():
    learner = Learner(UCB1(), dose.power([0.1, 0.3], target=0.25), seed=0)
    learner.update([0, 0], [1.0, 0.0])
    explained = learner.explain()
    assert explained.valued
    assert [row.worth for row in explained.arms] == [pytest.approx(-0.25), None]


def test_worth_of_arms_in_groups():
    group = demand.linear([0.4, 0.8], cost=0.3)
    learner = Learner(RegionalUCB(), RegionalModel([group, group]), seed=0)
    learner.update([1, 2], [1.0, 0.0])
    assert [row.worth for row in learner.explain().arms] == [None, pytest.approx(0.5), 0.0, None]
    with pytest.raises(ModelError, match="arm must be below 4, got 4"):
        learner.model.worth_of(4, 0.5)


def test_before_any_reward():
    explained = Learner(WAGP(), EUROS, seed=0).explain()
    assert explained.estimate is None
    assert explained.reason == "no reward yet: any arm, at random"
    assert [row.model_mean for row in explained.arms] == [None, None]
    assert "estimate -" in str(explained)


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.kind)
def test_the_choice_is_the_one_select_makes_and_nothing_changes(policy):
    learner = Learner(policy, model_of("pricing"), seed=6)
    for n in (0, 1, 5, 12, 60):
        play(learner, n, seed=n)
        before = learner.state()
        explained = learner.explain()
        assert learner.state() == before
        assert explained.choice == learner.select()
        assert explained.reason
        assert explained.policy in str(explained)


def test_a_policy_without_a_parameter_has_no_model_means():
    learner = Learner(UCB1(), EUROS, seed=0)
    learner.update([0, 1], [5.0, 5.0])
    explained = learner.explain()
    assert explained.estimate is None
    assert [row.model_mean for row in explained.arms] == [None, None]
    assert [row.estimate for row in explained.arms] == pytest.approx([0.5, 0.5])


def test_many_arms_are_cut_to_the_most_played_and_the_choice():
    model = RewardModel(lambda theta, a: a * theta / 50.0, [float(a) for a in range(1, 51)])
    learner = Learner(WAGP(), model, seed=0)
    learner.update(list(range(30)) * 2, [0.01] * 60)
    explained = learner.explain()
    assert explained.choice == 49
    lines = str(explained).splitlines()
    assert len(lines) == 2 + 1 + 20 + 1 + 2
    assert lines[-1] == "note: 50.0 is the highest arm on offer: a higher one may be better"
    assert lines[-3] == "(30 arms with fewer pulls not shown)"
    assert lines[-4].startswith(">49")


def test_an_estimate_at_the_end_of_the_domain_is_reported():
    model = demand.exponential([2.0, 3.0, 4.0], cost=0.5)
    learner = Learner(WAGP(), model, seed=0)
    learner.update([0, 1, 2] * 9, [0.0] * 27)
    assert "end of the domain" not in f"{learner!r}{learner.explain()}"
    learner.update([0, 1, 2] * 9, [0.0] * 27)
    assert repr(learner).endswith("estimate 0.5 at the upper end of the domain)")
    text = str(learner.explain())
    assert "note: the estimate lies at the upper end of the domain: widen the domain" in text
    assert "on offer" not in text
    assert "at the upper end of the domain" in str(learner.evidence_against_model())
    assert "the true one may lie beyond it" in learner.evidence_against_model().explain()
    assert "upper end" in learner._repr_html_()


def test_a_notebook_shows_why_there_is_no_arm():
    model = dose.power([0.05, 0.1, 0.2], target=0.2)
    learner = Learner(Limited(UCB1(), elimination=0.5), model, seed=0)
    learner = learner.with_model(withdraw=[model.arms[0]])
    learner.update([0] * 8 + [1] * 8, [1.0] * 16)
    assert learner._repr_html_().startswith("<p>allowed must have an arm within the limits")


def test_it_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        Learner(WAGP(), EUROS, seed=0).explain().choice = 1


def test_rng_must_be_a_numpy_generator():
    learner = Learner(WAGP(), EUROS, seed=0)
    for call in (learner.explain, learner.select):
        with pytest.raises(PolicyError, match=r"rng must be a numpy\.random\.Generator, got 3"):
            call(rng=3)
