"""A bandit in memory: limits, steps, shadow, the control group, and changes that keep data."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import PolicyError, ServiceError, StateError, StoreError
from globalbandits.service.log import bandit as bandit_module
from globalbandits.service.log.bandit import Bandit
from globalbandits.service.log.settings import Settings, allowed_arms, arm_index, canonical_json
from globalbandits.service.stores.records import BanditRow, Event, SettingRow, StoredEvent
from tests.service.worlds import ARMS, MODEL

UNIFORM = {"policy": "uniform"}
KEYS = [f"r:{n}" for n in range(300)]


def make(policy=UNIFORM, **settings):
    body = Settings.from_dict({"model": MODEL, "policy": policy} | settings).to_dict()
    row = BanditRow(1, "main", "shop", "{}", 7, 0, 0)
    return Bandit(row, SettingRow(1, 1, 0, canonical_json(body), 0), compiled=False)


def event(seq, arm, value=0.3, kind="reward"):
    return Event(1, seq, kind, f"d{seq}", arm, value, 0)


def change(bandit, from_version, **changes):
    settings = bandit.check_change(changes)
    body = canonical_json(settings.to_dict())
    return SettingRow(1, bandit.number + 1, from_version, body, 0)


def shown(bandit):
    return {bandit.choose(key).shown for key in KEYS}


def test_a_choice_is_a_function_of_state_and_key():
    bandit = make({"policy": "thompson_sampling"})
    bandit.advance([event(seq, seq % 5, 0.1 * (seq % 3)) for seq in range(1, 40)])
    first = [bandit.choose(key) for key in KEYS]
    assert [bandit.choose(key) for key in reversed(KEYS)] == first[::-1]
    assert {choice.chosen for choice in first} > {first[0].chosen}
    assert first[0].version == 39


def test_limits_are_values_of_arms():
    bandit = make(limits=[0.45, 0.7])
    assert shown(bandit) == {1, 2, 3}
    whys = {bandit.choose(key).why for key in KEYS}
    assert whys == {"policy", "limits"}
    for key in KEYS:
        choice = bandit.choose(key)
        assert choice.shown == choice.chosen or choice.chosen in (0, 4)


def test_limits_show_the_best_arm_within_and_not_the_nearest():
    """Arm 0 is best, and of the others arm 3: its neighbour 1 is the worst."""
    bandit = make({"policy": "independent_gittins"}, limits=[0.5, 0.8])
    rewards = (0.9, 0.0, 0.1, 0.3, 0.1)
    bandit.advance(
        [event(1 + 5 * turn + arm, arm, rewards[arm]) for turn in range(60) for arm in range(5)]
    )
    choice = bandit.choose("r:1")
    assert (choice.chosen, choice.shown, choice.why) == (0, 3, "limits")
    found, _, _ = bandit.probabilities(100)
    assert list(found) == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_the_largest_step_is_from_the_arm_last_learned_from():
    bandit = make(largest_step=1)
    assert shown(bandit) == {0, 1, 2, 3, 4}  # nothing learned, no incumbent: any arm
    bandit.advance([event(1, 4)])
    assert shown(bandit) == {3, 4}
    bandit.advance([event(2, 0), event(3, 0, kind="default")])
    assert shown(bandit) == {0, 1}
    bandit.advance([event(4, 0, kind="retraction")])
    assert shown(bandit) == {0, 1}  # a retraction does not move the anchor


def test_before_any_reward_the_step_is_from_the_incumbent():
    assert shown(make(largest_step=1, incumbent=0.6)) == {1, 2, 3}


def test_limits_come_before_steps():
    bandit = make(largest_step=1, limits=[0.7, 0.8])
    bandit.advance([event(1, 0)])
    assert shown(bandit) == {3}  # the allowed arm nearest to where it is
    bandit.advance([event(2, 3)])
    assert shown(bandit) == {3, 4}


def test_in_shadow_the_incumbent_is_shown_and_choices_are_kept():
    bandit = make(mode="shadow", incumbent=0.5)
    choices = [bandit.choose(key) for key in KEYS]
    assert {choice.shown for choice in choices} == {1}
    assert {choice.chosen for choice in choices} == {0, 1, 2, 3, 4}


def test_the_control_group_is_shown_the_incumbent():
    bandit = make({"policy": "wagp"}, incumbent=0.4, held_back=0.25)
    bandit.advance([event(1, 4, 0.6)])
    choices = [bandit.choose(f"r:{n}") for n in range(4_000)]
    share = np.mean([choice.why == "held back" for choice in choices])
    # Standard error sqrt(0.25 * 0.75 / 4000) = 0.0068.
    assert abs(share - 0.25) < 4 * 0.0068
    assert {choice.shown for choice in choices if choice.why == "held back"} == {0}
    assert all(choice.shown == choice.chosen for choice in choices if choice.why == "policy")


def test_a_changed_cost_keeps_the_data():
    bandit = make({"policy": "wagp"})
    bandit.advance([event(seq, seq % 5, 0.2) for seq in range(1, 30)])
    estimate = bandit.learner.estimate
    bandit.advance([], [change(bandit, 29, model=MODEL | {"cost": 0.3})])
    assert bandit.number == 2
    assert bandit.learner.n_observations == 29
    assert bandit.learner.estimate == pytest.approx(estimate, rel=1e-12)
    assert bandit.learner.model.valued


def test_a_changed_cost_keeps_the_data_where_the_order_matters():
    bandit = make({"policy": "sliding_window_ucb"})
    bandit.advance([event(seq, seq % 5, 0.2) for seq in range(1, 30)])
    bandit.advance([], [change(bandit, 29, model=MODEL | {"cost": 0.3})])
    assert bandit.learner.n_observations == 29


def test_a_changed_policy_keeps_the_data():
    bandit = make({"policy": "wagp"})
    events = [event(seq, seq % 5, 0.2) for seq in range(1, 30)]
    bandit.advance(events, [change(bandit, 10, policy={"policy": "ucb1"})])
    other = gb.Learner(gb.UCB1(), bandit.learner.model)
    other.update([row.arm for row in events], [row.value for row in events])
    assert bandit.learner.policy == gb.UCB1()
    assert bandit.learner.pulls.tolist() == other.pulls.tolist()
    assert bandit.learner.means.tolist() == other.means.tolist()


def test_what_would_lose_data_is_refused():
    bandit = make({"policy": "wagp"})
    bandit.advance([event(1, 0)])
    with pytest.raises(StateError, match="must be of a model with the arms"):
        bandit.check_change({"model": MODEL | {"arms": ARMS[:-1]}})
    with pytest.raises(StateError, match="same curves"):
        bandit.check_change({"model": MODEL | {"power": 3}})
    with pytest.raises(PolicyError, match="cannot take over rewards: their order matters"):
        bandit.check_change({"policy": {"policy": "sliding_window_ucb"}})
    assert bandit.number == 1


def test_only_observed_rewards_can_be_taken_back():
    bandit = make({"policy": "wagp"})
    bandit.advance([event(1, 0, 0.25)])
    assert bandit.can_forget(0, StoredEvent("reward", 0.25, 1))
    assert not bandit.can_forget(
        0, StoredEvent("reward", 0.75, 1)
    )  # the log would have no meaning after it
    assert not bandit.can_forget(1, StoredEvent("reward", 0.25, 1))
    assert bandit.can_forget(
        1, StoredEvent("reward", 0.25, 2)
    )  # learned in the same batch, before it
    assert not make({"policy": "sliding_window_ucb"}).can_forget(0, StoredEvent("reward", 0.25, 9))


def test_counts_are_those_of_the_store():
    bandit = make()
    bandit.set_shown({(None, 1): 3, (None, 2): 1}, 2)
    bandit.count_shown(1)
    assert (bandit.shown, bandit.n_open) == ([0, 4, 1, 0, 0], 3)
    bandit.set_shown({(None, 1): 2}, 0)  # the others were pruned
    assert (bandit.shown, bandit.n_open) == ([0, 2, 0, 0, 0], 0)


def test_a_gap_in_the_log_is_an_error():
    bandit = make()
    with pytest.raises(StoreError, match="events of shop must follow each other, got 2 after 0"):
        bandit.advance([event(2, 0)])
    row = change(bandit, 0, mode="paused")
    with pytest.raises(StoreError, match="settings of shop must follow each other, got 3 after 1"):
        bandit.advance([], [row._replace(number=3)])
    with pytest.raises(StoreError, match="must hold from version 0 or before, got 5"):
        bandit.advance([], [row._replace(from_version=5)])


def test_a_snapshot_resumes_bit_for_bit():
    bandit = make({"policy": "thompson_sampling"}, largest_step=2)
    settings = change(bandit, 5, limits=[0.4, 0.7])
    first = SettingRow(1, 1, 0, canonical_json(bandit.settings.to_dict()), 0)
    bandit.advance([event(seq, seq % 5, 0.1 + seq / 97) for seq in range(1, 20)], [settings])
    other = make({"policy": "thompson_sampling"}, largest_step=2)
    other.restore(bandit.snapshot(), [first, settings])
    for seq in range(20, 60):
        assert other.choose(f"r:{seq}") == bandit.choose(f"r:{seq}")
        for one in (bandit, other):
            one.advance([event(seq, seq % 5, 0.2 + seq / 997)])
    assert other.learner.estimate == bandit.learner.estimate
    with pytest.raises(StoreError, match="snapshot 59 of shop is damaged"):
        other.restore(bandit.snapshot()._replace(state="{}"), [first, settings])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mode": "fast"}, "mode must be one of live, shadow, paused, got 'fast'"),
        ({"late": None}, "late must be one of accept, refuse, got None"),
        ({"colour": 1}, "setting must be one of model, policy, mode"),
        ({"model": 3}, "model must be a dict, got 3"),
        ({"policy": None}, "policy must be a dict, got None"),
        ({"policy": {"policy": "best"}}, "policy must be one of"),
        ({"policy": {"policy": "grid_greedy", "cells": 10**9}}, "cells must be at most"),
        ({"held_back": 1}, r"held_back must lie in \[0, 1\), got 1"),
        ({"held_back": "a"}, "held_back must be a number"),
        ({"held_back": 0.1}, "incumbent must be an arm in shadow mode and where"),
        ({"mode": "shadow"}, "incumbent must be an arm in shadow mode"),
        ({"incumbent": 0.45}, r"incumbent must be one of the arms \[0.4, .*got 0.45"),
        ({"incumbent": [0.4]}, "incumbent must be one of the arms"),
        ({"limits": [0.41, 0.42]}, r"limits must leave one of the arms .*got \[0.41, 0.42\]"),
        ({"limits": 0.4}, r"limits must be a pair \[lowest, highest\], got 0.4"),
        ({"limits": [0.4, None]}, "limits must be a number, got None"),
        ({"largest_step": 0}, "largest_step must be at least 1, got 0"),
        ({"largest_step": 1.5}, "largest_step must be an integer, got 1.5"),
        ({"deadline_seconds": 0}, "deadline_seconds must be positive, got 0"),
        ({"deadline_seconds": 1e12}, "deadline_seconds must be at most"),
        ({"default_reward": 0.0}, "deadline_seconds must be given where"),
        (
            {"default_reward": 9.0, "deadline_seconds": 5},
            r"default_reward must lie in \[0, .*\], got 9.0",
        ),
    ],
)
def test_invalid_settings_are_refused(settings, message):
    with pytest.raises((ServiceError, gb.GlobalBanditsError), match=message):
        make(**settings)


def test_labels_have_no_limits():
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["up", "down"])
    with pytest.raises(ServiceError, match="limits need arms that are numbers, got"):
        allowed_arms(model, [0, 1])
    assert arm_index(model, "down") == 1


SHOP = {"family": "demand.exponential", "arms": ARMS, "cost": 0.1, "domain": [0.2, 3.0]}
LATE = {
    "model": SHOP,
    "delay": {"kind": "geometric", "mean": 60},
    "deadline_seconds": 600,
}
GREEDY = {"policy": "grid_greedy", "cells": 20}


def decision_event(seq, arm, at, **more):
    return Event(1, seq, "decision", f"d{seq}", arm, 0.0, at, **({"n_rewards": 0} | more))


@pytest.mark.parametrize("n_open", [200, 201])
def test_weights_of_very_many_open_decisions_are_rounded(n_open):
    bandit = make(GREEDY, **LATE)
    bandit.advance([decision_event(seq, seq % 5, seq * 10**6) for seq in range(1, n_open + 1)])
    now = (n_open + 50) * 10**6
    bandit.choose("r:1", now)
    law = bandit.settings.delay_law
    ages = np.arange(n_open + 49, 49, -1, dtype=float)
    arms = np.arange(1, n_open + 1) % 5
    weights = law.chance(ages, arms)
    if n_open > 200:
        weights = weights.round(3)
    found = bandit.learner.pending
    assert [arm for arm, _ in found] == arms.tolist()
    np.testing.assert_allclose([weight for _, weight in found], weights, rtol=1e-12)


def test_open_decisions_are_awaited_up_to_their_deadline():
    bandit = make(GREEDY, **LATE)
    second = 10**6
    bandit.advance([decision_event(1, 0, 0), decision_event(2, 1, 600 * second)])
    assert list(bandit.state()["awaited"]) == ["d1", "d2"]
    bandit.advance([decision_event(3, 2, 600 * second + 1)])
    assert bandit.state()["awaited"] == {"d2": [1, 600 * second], "d3": [2, 600 * second + 1]}
    # A reward ends the wait, and a law that ends it for all.
    bandit.advance([Event(1, 4, "reward", "d2", 1, 1.0, 700 * second)])
    assert list(bandit.state()["awaited"]) == ["d3"]
    assert bandit.last_event_at == 700 * second
    bandit.advance([], [change(bandit, 4, delay=None)])
    assert "awaited" not in bandit.state()
    assert bandit.learner.pending == []
    assert not bandit.counts_decisions
    bandit.advance([], [change(bandit, 4, delay=LATE["delay"])])
    assert bandit.state()["awaited"] == {}


def test_decisions_that_a_policy_counts_are_events():
    hold = {"policy": "hold", "inner": {"policy": "uniform"}, "every": 3}
    bandit = make(hold, incumbent=0.4, held_back=0.5)
    assert bandit.counts_decisions
    assert not make().counts_decisions
    choices = [bandit.choose(key) for key in KEYS]
    assert {choice.why for choice in choices} == {"policy", "held back"}
    for choice in choices:
        assert bandit.counts(choice) == (choice.why == "policy")
        assert not bandit.counts(choice._replace(why="unit"))
        assert not bandit.counts(choice._replace(why="shadow"))
    # Events of decisions move neither the step nor the time of the last reward.
    bandit.advance([decision_event(1, 3, 50, n_rewards=1), decision_event(2, 3, 60)])
    assert (bandit.version, bandit.last_event_at, bandit.anchors) == (2, None, {})
    bandit.advance([event(3, 2)])
    assert (bandit.last_event_at, bandit.anchors) == (0, {None: 2})


def test_open_decisions_are_counted_down_by_rewards_and_not_by_corrections():
    bandit = make()
    for arm in (0, 1, 1):
        bandit.count_shown(arm)
    assert (bandit.n_open, bandit.n_counted) == (3, 3)
    bandit.advance([event(1, 0), event(2, 0, kind="retraction"), event(3, 0, kind="correction")])
    assert bandit.n_open == 2
    bandit.advance([event(4, 1, kind="default"), event(5, 1), event(6, 1)])
    assert (bandit.n_open, bandit.n_counted, bandit.shown) == (0, 3, [1, 2, 0, 0, 0])
    bandit.set_shown({(None, 4): 7}, 5, oldest_open=99)
    assert (bandit.n_open, bandit.oldest_open, bandit.n_counted) == (5, 99, 3)


def test_sums_of_rewards_can_always_be_taken_back():
    bandit = make({"policy": "wagp"})
    bandit.advance([Event(1, 1, "reward", "d1", 0, 3.0, 0, 4)])
    assert bandit.learner.pulls.tolist() == [4, 0, 0, 0, 0]
    assert bandit.can_forget(0, StoredEvent("reward", 3.0, 1, 4))
    bandit.advance([Event(1, 2, "retraction", "d1", 0, 3.0, 0, 4)])
    assert bandit.learner.pulls.tolist() == [0, 0, 0, 0, 0]


def test_closed_bandits_give_the_reason():
    bandit = make(stop={"decisions": 2})
    assert bandit.closed() == ""
    bandit.advance([event(1, 0), event(2, 1)])
    assert bandit.closed() == "stopped: decisions"
    bandit.advance([], [change(bandit, 2, mode="paused")])
    assert bandit.closed() == "paused"
    bandit.advance([], [change(bandit, 2, mode="live", stop=None)])
    assert bandit.closed() == ""


@pytest.mark.parametrize(
    ("settings", "context", "allowed", "message"),
    [
        ({}, "weekday", None, "context must be left out for a model without contexts, got 'week"),
        ({}, None, [], "allowed must have at least one arm, got []"),
        ({}, None, [0.4, 0.45], "allowed must have values among the arms [0.4, 0.5, 0.6, 0.7, 0.8"),
        ({}, None, [True], "allowed must have values among the arms"),
        (
            {"withdrawn": [0.4]},
            None,
            [0.4, 0.5],
            "allowed must have arms that are shown, got 0.4, which is withdrawn",
        ),
        (
            {"limits": [0.5, 0.6]},
            None,
            [0.4, 0.7],
            "allowed must have an arm within the limits [0.5, 0.6], got [0.4, 0.7]",
        ),
        (
            {"mode": "shadow", "incumbent": 0.4},
            None,
            [0.7, 0.5],
            "allowed must have the incumbent 0.4 in shadow mode, got [0.5, 0.7]",
        ),
    ],
)
def test_invalid_requests_are_refused(settings, context, allowed, message):
    with pytest.raises(ServiceError) as caught:
        make(**settings).offered(context, allowed)
    assert str(caught.value).startswith(message)


def test_allowed_arms_are_found_by_value():
    bandit = make(limits=[0.5, 0.8])
    assert bandit.offered(None, None) is None
    assert bandit.offered(None, [0.7, 0.4, 0.7, 0.5]) == [0, 1, 3]
    assert make(mode="shadow", incumbent=0.4).offered(None, [0.4, 0.8]) == [0, 4]


def test_probabilities_are_those_of_many_choices():
    """Limits, steps, a control group and allowed arms together, of exact probabilities."""
    bandit = make(limits=[0.4, 0.7], largest_step=1, incumbent=0.5, held_back=0.25)
    bandit.advance([event(1, 2)])
    n = 4_000
    for allowed in (None, [0, 1, 3], [0, 3, 4]):
        found, version, number = bandit.probabilities(10, allowed=allowed)
        assert (version, number, found.exact) == (1, 1, True)
        assert sum(found.values) == pytest.approx(1.0)
        choices = [bandit.choose(f"r:{key}", allowed=allowed) for key in range(n)]
        shares = np.bincount([choice.shown for choice in choices], minlength=5) / n
        assert np.abs(shares - found.values).max() < 4 * 0.5 / np.sqrt(n)
        for choice in choices[:50]:
            assert choice.probability == pytest.approx(found.values[choice.shown])
    # Without the incumbent there is no control group: uniform on three, moved to the nearest.
    assert found.values.tolist() == pytest.approx([0.0, 0.0, 0.0, 1.0, 0.0])


def test_probabilities_in_shadow_are_those_of_the_incumbent():
    bandit = make({"policy": "thompson_sampling"}, mode="shadow", incumbent=0.6)
    bandit.advance([event(1 + arm, arm) for arm in range(5)])
    found, _, _ = bandit.probabilities(10)
    assert (found.values.tolist(), found.exact) == ([0.0, 0.0, 1.0, 0.0, 0.0], True)
    live = make({"policy": "thompson_sampling"}, incumbent=0.6)
    live.advance([event(1 + arm, arm) for arm in range(5)])
    assert not live.probabilities(10)[0].exact
    assert live.choose("r:1").probability is None


def test_probabilities_are_kept_for_one_state_and_not_for_too_many_requests(monkeypatch):
    bandit = make({"policy": "thompson_sampling"})
    bandit.advance([event(1 + arm, arm) for arm in range(5)])
    computed, compute = [], bandit._compute_probabilities

    def note(*request):
        computed.append(request)
        return compute(*request)

    monkeypatch.setattr(bandit, "_compute_probabilities", note)
    monkeypatch.setattr(bandit_module, "_MAX_PROBABILITIES", 3)
    first, second, third = [0, 1], [1, 2], [2, 3]
    for allowed in (first, second, first, second):
        bandit.probabilities(5, allowed=allowed)
    assert len(computed) == 2
    bandit.probabilities(5, allowed=third)
    bandit.probabilities(6, allowed=third)  # the third one is kept no longer
    assert len(computed) == 4
    bandit.probabilities(6, allowed=third)
    assert len(computed) == 4
    bandit.advance([event(6, 0)])
    bandit.probabilities(6, allowed=third)
    bandit.advance([], [change(bandit, 6, largest_step=1)])
    bandit.probabilities(6, allowed=third)
    assert len(computed) == 6


def test_the_anchor_of_a_snapshot_is_that_of_each_context():
    plain = make()
    assert plain.state()["anchor"] is None
    plain.advance([event(1, 3)])
    assert plain.state()["anchor"] == 3
    first = SettingRow(1, 1, 0, canonical_json(plain.settings.to_dict()), 0)
    again = make()
    again.restore(plain.snapshot(), [first])
    assert (again.anchors, again.version, again.number) == ({None: 3}, 1, 1)
    again.restore(make().snapshot(), [first])
    assert (again.anchors, again.version) == ({}, 0)
    segments = {"mean": "expit(context - arm*theta)", "arms": ARMS, "contexts": {"a": 0, "b": 1}}
    there = make(model=segments)
    there.advance([event(1, 3)._replace(context="b"), event(2, 1)._replace(context="a")])
    assert there.state()["anchor"] == {"b": 3, "a": 1}
    kept = there.snapshot(kept=True)
    assert (kept.kept, there.snapshot().kept) == (1, 0)
    other = make(model=segments)
    other.restore(kept, [SettingRow(1, 1, 0, canonical_json(there.settings.to_dict()), 0)])
    assert other.anchors == {"b": 3, "a": 1}
    assert other.contexts == ("a", "b")
    assert [other.cell(2, "a"), other.cell(0, "b"), other.cell(4, "b")] == [2, 5, 9]


def test_a_model_with_more_arms_or_contexts_keeps_the_data():
    segments = {"mean": "expit(context - arm*theta)", "arms": ARMS, "contexts": {"a": 0, "b": 1}}
    bandit = make(model=segments)
    bandit.advance([event(1, 3)._replace(context="b")])
    more = segments | {"contexts": {"a": 0, "b": 1, "c": 2}}
    bandit.advance([], [change(bandit, 1, model=more)])
    assert bandit.contexts == ("a", "b", "c")
    bandit.advance([], [change(bandit, 1, model=more | {"arms": [*ARMS, 0.9]})])
    assert bandit.learner.pulls.tolist() == [[0] * 6, [0, 0, 0, 1, 0, 0], [0] * 6]
    for fewer in (segments | {"arms": [*ARMS, 0.9]}, more):
        with pytest.raises(gb.GlobalBanditsError):
            bandit.check_change({"model": fewer})
    bandit.advance([], [change(bandit, 1, withdrawn=[0.4, 0.9])])
    assert bandit.learner.withdrawn == (0, 5)
    bandit.advance([], [change(bandit, 1, withdrawn=[])])
    assert bandit.learner.withdrawn == ()
