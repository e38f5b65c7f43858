"""A bandit in memory: limits, steps, shadow, held-back decisions, and changes that keep data."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import PolicyError, ServiceError, StateError, StoreError
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
    assert shown(bandit) == {0, 1}  # what is taken back moves nothing


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


def test_a_share_is_held_back_for_the_incumbent():
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


def test_only_what_can_be_taken_back_may_be():
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


def test_a_snapshot_goes_on_bit_for_bit():
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
def test_settings_that_make_no_sense(settings, message):
    with pytest.raises((ServiceError, gb.GlobalBanditsError), match=message):
        make(**settings)


def test_labels_have_no_limits():
    model = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["up", "down"])
    with pytest.raises(ServiceError, match="limits need arms that are numbers, got"):
        allowed_arms(model, [0, 1])
    assert arm_index(model, "down") == 1
