"""Settings of a bandit at the ends of their ranges, and the models that are kept for them."""

import json
from fractions import Fraction

import pytest

import globalbandits as gb
from globalbandits.errors import GlobalBanditsError, ServiceError
from globalbandits.service.log.settings import (
    MAX_DEADLINE_SECONDS,
    ModelCache,
    Settings,
    allowed_arms,
    arm_index,
    canonical_json,
    cells_of,
    plain_arm,
    withdrawn_arms,
)
from tests.service.worlds import ARMS, MODEL

UNIFORM = {"policy": "uniform"}
PLAIN = {"model": MODEL, "policy": UNIFORM}
SEGMENTS = {"mean": "expit(context - arm*theta)", "arms": ARMS, "contexts": {"a": 0.0, "b": 1.0}}
LATE = {"delay": {"kind": "geometric", "mean": 60}, "deadline_seconds": 600}
GRID = {"policy": "grid_thompson", "cells": 20}
LABELS = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["up", "down"])


def contexts(*names):
    return {"model": SEGMENTS | {"contexts": {name: 0.1 * n for n, name in enumerate(names)}}}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"held_back": 0.0},
        {"held_back": 0.999, "incumbent": 0.8},
        {"deadline_seconds": MAX_DEADLINE_SECONDS},
        {"deadline_seconds": 1e-9},
        {"sticky_seconds": MAX_DEADLINE_SECONDS},
        {"largest_step": 1},
        {"largest_step": 1_000},
        {"probability_draws": 1},
        {"probability_draws": 100_000},
        {"limits": [0.4, 0.4]},
        {"limits": (0.8, 99.0)},
        {"limits": [0.4, 0.5], "withdrawn": [0.4]},
        {"withdrawn": [0.4, 0.5, 0.6, 0.7]},
        {"withdrawn": [0.4], "incumbent": 0.5},
        {"mode": "paused"},
        {"late": "refuse"},
        {"default_reward": 0.0, "deadline_seconds": 5},
        {"default_reward": 1.0, "deadline_seconds": 5},
        {"policy": GRID, "model": MODEL | {"cost": 0.0}, **LATE},
        {"stop": {"decisions": 1}},
        contexts("a" * 200, "b"),
    ],
)
def test_settings_at_the_ends_of_their_ranges(given):
    settings = Settings.from_dict(PLAIN | given)
    saved = settings.to_dict()
    assert ("withdrawn" in saved) == ("withdrawn" in given)
    again = Settings.from_log(canonical_json(saved))
    assert canonical_json(again.to_dict()) == canonical_json(saved)
    assert json.loads(canonical_json(saved))["mode"] == given.get("mode", "live")
    assert (settings.delay_law is None) == ("delay" not in given)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"held_back": -1e-300}, "held_back must lie in [0, 1), got -1e-300"),
        ({"held_back": 1.0}, "held_back must lie in [0, 1), got 1.0"),
        (
            {"held_back": 1e-9},
            "incumbent must be an arm in shadow mode and where decisions are held back, got None",
        ),
        ({"deadline_seconds": 316224001.0}, "deadline_seconds must be at most 316224000, got 316"),
        ({"sticky_seconds": 316224001.0}, "sticky_seconds must be at most 316224000, got 316"),
        ({"sticky_seconds": -1}, "sticky_seconds must be positive, got -1"),
        ({"largest_step": 1_001}, "largest_step must be at most 1000, got 1001"),
        ({"probability_draws": 0}, "probability_draws must be at least 1, got 0"),
        ({"probability_draws": 100_001}, "probability_draws must be at most 100000, got 100001"),
        ({"limits": [0.4]}, "limits must be a pair [lowest, highest], got [0.4]"),
        ({"limits": [0.5, 0.4]}, "limits must leave one of the arms [0.4, 0.5, 0.6, 0.7, 0.8], "),
        ({"withdrawn": ARMS}, "withdrawn must leave an arm to show, got [0.4, 0.5"),
        ({"withdrawn": [0.45]}, "withdrawn must be one of the arms [0.4, 0.5, 0.6, 0.7, 0.8], got"),
        ({"withdrawn": 3}, "withdrawn must be a list of the arms' values, got 3"),
        (
            {"withdrawn": [0.4], "incumbent": 0.4},
            "incumbent must be an arm that is not withdrawn, got 0.4",
        ),
        (
            {"withdrawn": [0.4, 0.5], "limits": [0.4, 0.5]},
            "limits must leave an arm that is not withdrawn, got [0.4, 0.5]",
        ),
        ({"stop": {"decisions": 0}}, "decisions must be at least 1, got 0"),
        ({"stop": 3}, "stop must have keys among "),
        (
            {"default_reward": 0.5},
            "deadline_seconds must be given where there is a default_reward, got None",
        ),
        (contexts("a" * 201, "b"), "contexts must be at most 200 printable characters, got 'aaa"),
        (contexts("a\n", "b"), "contexts must be at most 200 printable characters, got 'a"),
        ({"delay": 3}, "delay must be a dict with the key 'kind', got 3"),
        (
            {"policy": GRID, "delay": LATE["delay"]},
            "deadline_seconds must be given where there is a delay, got None",
        ),
        (
            LATE,
            "delay must come with Elastic without a drift, DoseEscalation, or a grid policy with "
            "Bernoulli likelihood (GridGreedy, GridPlugIn, GridThompson, IDS), got 'Uniform'",
        ),
    ],
)
def test_settings_beyond_their_ranges(given, message):
    with pytest.raises(GlobalBanditsError) as caught:
        Settings.from_dict(PLAIN | given)
    assert str(caught.value).startswith(message)


def test_changes_of_arms():
    settings = Settings.from_dict(PLAIN | {"withdrawn": [0.4]})
    more = settings.changed({"arms": [0.45, *ARMS[1:]]})
    assert more.model["arms"] == [*ARMS, 0.45]
    assert list(more.withdrawn) == [0.4]
    assert list(more.changed({"arms": [0.45, *ARMS]}).withdrawn) == []
    fewer = settings.changed({"arms": ARMS[:2]})
    assert fewer.model == MODEL
    assert list(fewer.withdrawn) == ARMS[2:]
    for key in ("model", "withdrawn"):
        with pytest.raises(ServiceError) as caught:
            settings.changed({"arms": ARMS, key: 7})
        assert str(caught.value) == f"{key} must be left out where arms is given, got 7"
    for arms, message in (
        ([], "arms must have at least one value, got []"),
        (3, "arms must be a list of the arms' values, got 3"),
    ):
        with pytest.raises(ServiceError) as caught:
            settings.changed({"arms": arms})
        assert str(caught.value) == message
    with pytest.raises(ServiceError, match="changes must be a dict, got 3"):
        settings.changed(3)


def test_new_arms_of_a_family_keep_the_domain():
    one = {"family": "demand.exponential", "arms": [2.0, 4.0]}
    several = one | {"level": [0.1, 0.9]}
    for model in (one, several):
        settings = Settings.from_dict({"model": model, "policy": UNIFORM})
        before, _ = settings.build()
        changed = settings.changed({"arms": [2.0, 4.0, 40.0]})
        after, _ = changed.build()
        assert after.domain == before.domain
        assert after.arms == (2.0, 4.0, 40.0)
    # A range that was given is not given twice.
    given = one | {"domain": [0.1, 0.3]}
    settings = Settings.from_dict({"model": given, "policy": UNIFORM})
    assert settings.changed({"arms": [2.0, 9.0]}).model == given | {"arms": [2.0, 4.0, 9.0]}


def test_arms_are_found_by_value():
    model, _ = Settings.from_dict(PLAIN | {"model": MODEL | {"arms": [0.5, 1.0]}}).build()
    assert [arm_index(model, value) for value in (0.5, 1.0, 1, None)] == [0, 1, 1, None]
    for value in (True, 2.0, "1.0", [1.0]):
        with pytest.raises(ServiceError, match=r"arm must be one of the arms \[0\.5, 1\.0\], got"):
            arm_index(model, value, "arm")
    assert withdrawn_arms(model, []) == set()
    assert withdrawn_arms(model, [1.0]) == {1}
    assert allowed_arms(model, None) is None
    assert allowed_arms(model, [0.5, 1]) == [0, 1]
    mixed = gb.RewardModel.from_functions([lambda t: t, lambda t: 1 - t], arms=["up", 3.0])
    for labelled, values in ((LABELS, "['up', 'down']"), (mixed, "['up', 3.0]")):
        with pytest.raises(ServiceError) as caught:
            allowed_arms(labelled, [0, 1])
        assert str(caught.value) == f"limits need arms that are numbers, got {values}"
    assert (arm_index(LABELS, "up"), withdrawn_arms(LABELS, ["up"])) == (0, {0})


def test_arms_as_json_values():
    assert plain_arm("x") == "x"
    assert plain_arm(Fraction(1, 2)) == 0.5
    assert isinstance(plain_arm(3), float)
    assert plain_arm((1, 2)) == "(1, 2)"
    assert plain_arm(10**400) == repr(10**400)


def test_json_of_settings_is_canonical():
    assert canonical_json({"b": [1, 0.5], "a": None}) == '{"a":null,"b":[1,0.5]}'
    loop = []
    loop.append(loop)
    for wrong in ({1j}, float("nan"), float("inf"), loop):
        with pytest.raises(ServiceError) as caught:
            canonical_json(wrong)
        assert str(caught.value) == "settings must be plain JSON with finite numbers"


def spec(n_arms, cost=0.1):
    arms = [0.1 + 0.8 * arm / n_arms for arm in range(n_arms)]
    return canonical_json(MODEL | {"arms": arms, "cost": cost})


def test_the_models_used_last_are_kept_up_to_a_number_of_arms():
    cache = ModelCache(max_arms=10)
    four, three, other = cache(spec(4)), cache(spec(3)), cache(spec(3, cost=0.2))
    # Exactly ten arms: all three are kept.
    assert cache(spec(4)) is four
    assert cache(spec(3, cost=0.2)) is other
    # One more: the one that was not used for the longest time is dropped.
    cache(spec(1))
    assert cache(spec(4)) is four
    assert cache(spec(3, cost=0.2)) is other
    assert cache(spec(3)) is not three
    # The newest model is kept, however large it is.
    large = cache(spec(11))
    assert cache(spec(11)) is large
    assert cache(spec(4)) is not four
    cache.clear()
    four, three = cache(spec(4)), cache(spec(3))
    assert cache(spec(11)) is not large
    cache.clear()
    kept = [cache(spec(size)) for size in (4, 3, 3)]
    assert [cache(spec(size)) for size in (4, 3, 3)] == kept


def test_models_with_contexts_count_with_all_their_arms():
    cache = ModelCache(max_arms=10)
    small, segments = cache(spec(1)), cache(canonical_json(SEGMENTS))
    assert cells_of(segments).n_arms == 10
    assert cells_of(small) is small
    assert cache(spec(1)) is not small
