"""Worlds in which a decision is worth something else than what is observed, and all policies."""

from functools import cache

from globalbandits.model import RewardModel
from globalbandits.model.catalogue import (
    demand,
    dose,
)
from tests.policies.ours import our_policies

COINS = {"likelihood": "bernoulli", "cells": 200}

# Parameters that explore little enough, or are quick enough, for the tests of values.
PARAMETERS = {
    "buw": {"scale": 0.0005},
    "nonstationary_wagp": {"half_window": 100},
    "explore_then_commit": {"plays": 25},
    "sliding_window_ucb": {"window": 500},
    "discounted_ucb": {"discount": 0.995, "xi": 0.05},
    "glm_ucb": {"scale": 0.001},
    "uncertainty_ellipsoid": {"scale": 0.01},
    "grid_greedy": COINS,
    "grid_thompson": COINS,
    "grid_plug_in": COINS,
    "ids": COINS,
    "fixed_arm": {"arm": 1},
}
EVERY = tuple(our_policies(PARAMETERS).values())
POLICIES = tuple(policy for policy in EVERY if not policy.ignores_value)

SLOW = ("elastic", "random_effects_thompson", "guarded")  # where nothing is compiled


@cache
def shop():
    """Sales are observed, profit counts; the parameter to play it at."""
    return demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0], cost=1.5), 0.22


@cache
def trial():
    """Side effects are observed, and a rate of 30 % is best; the parameter to play it at."""
    return dose.logistic([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], domain=(0.0, 1.0), target=0.3), 0.55


@cache
def wavy():
    """A value with two peaks, kinks and another height for every arm."""

    def value(mean, arm):
        return min(abs(mean - 0.4), 0.25) + 0.1 * arm * (0.2 - abs(mean - 0.55))

    return RewardModel(
        lambda theta, x: 0.1 + 0.8 * theta * x / (x + 0.4), [0.3, 0.6, 1.0, 1.5], value=value
    ), 0.6


WORLDS = {"shop": shop, "trial": trial, "wavy": wavy}
