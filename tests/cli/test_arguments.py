import numpy as np
import pytest

from globalbandits.cli.arguments import parse_arms, parse_domain, parse_parameters, parse_value
from globalbandits.errors import ScenarioError


def test_a_grid_includes_both_ends_and_has_short_decimals():
    prices = parse_arms("0.4:0.95:0.05")
    assert prices == [0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95]
    assert parse_arms("1:2:0.4") == [1.0, 1.4, 1.8]
    assert parse_arms("3:3:1") == [3.0]
    assert np.allclose(parse_arms("0:1:0.001"), np.linspace(0, 1, 1001), atol=0, rtol=1e-15)


def test_a_list_keeps_numbers_and_labels():
    assert parse_arms("1, 2.5,high") == [1, 2.5, "high"]


@pytest.mark.parametrize("text", ["0.4:0.9", "a:b:c", "1:2:3:4", "0:inf:1", "nan:1:1", "1::2"])
def test_what_is_no_grid_is_refused(text):
    with pytest.raises(ScenarioError, match=r"arms must be first:last:step or a list .*, got"):
        parse_arms(text)


@pytest.mark.parametrize("text", ["1:0:0.1", "0:1:0", "0:1:-0.1"])
def test_a_grid_without_a_positive_step_is_refused(text):
    with pytest.raises(ScenarioError, match="must have first <= last and a positive step"):
        parse_arms(text)


@pytest.mark.parametrize("text", ["0:1:1e-9", "0:1:1e-4002891", "0:9e999999:1e-999999"])
def test_a_grid_too_large_to_hold_is_refused(text):
    with pytest.raises(ScenarioError, match=f"arms must be at most 1,000,000, got '{text}'"):
        parse_arms(text)


def test_domains():
    assert parse_domain("-1:2.5") == (-1.0, 2.5)
    for text in ("1", "a:b", "1:2:3"):
        with pytest.raises(ScenarioError, match=f"domain must be low:high, got '{text}'"):
            parse_domain(text)


def test_parameters():
    assert parse_parameters(["power=3", "reward-range=0:20"]) == {
        "power": 3,
        "reward_range": (0.0, 20.0),
    }
    assert parse_parameters([]) == {}
    for text in ("power", "power=", "=3", "a b=3"):
        with pytest.raises(ScenarioError, match=f"parameter must be key=value, got '{text}'"):
            parse_parameters([text])
    with pytest.raises(ScenarioError, match="must be given once, got 'power' again"):
        parse_parameters(["power=2", "power=3"])


def test_whole_numbers_stay_whole():
    assert [type(parse_value(text)) for text in ("3", "3.0", "x")] == [int, float, str]
