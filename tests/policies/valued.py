"""Worlds in which a decision is worth something else than what is observed, and all policies."""

from functools import cache

from globalbandits.model import RewardModel, demand, dose
from globalbandits.policies import (
    BUW,
    GLMUCB,
    IDS,
    IMED,
    KLUCB,
    MOSS,
    OFUL,
    OSSB,
    TSC,
    UCB1,
    UCBC,
    UCBS,
    WAGP,
    DiscountedUCB,
    Elastic,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedArm,
    GridGreedy,
    GridPlugIn,
    GridThompson,
    Guarded,
    IndependentGittins,
    Limited,
    LinearGreedy,
    LinUCB,
    NonStationaryWAGP,
    RandomEffectsThompson,
    RegionalUCB,
    Safe,
    SlidingWindowUCB,
    ThompsonSampling,
    UCBTuned,
    UncertaintyEllipsoid,
    Uniform,
)

COINS = {"likelihood": "bernoulli", "cells": 200}

POLICIES = (
    WAGP(),
    BUW(scale=0.0005),
    NonStationaryWAGP(half_window=100),
    UCB1(),
    UCBTuned(),
    MOSS(),
    KLUCB(),
    IMED(),
    ThompsonSampling(),
    EpsilonGreedy(),
    ExploreThenCommit(plays=25),
    IndependentGittins(),
    SlidingWindowUCB(window=500),
    DiscountedUCB(discount=0.995, xi=0.05),
    LinUCB(),
    OFUL(),
    GLMUCB(scale=0.001),
    UncertaintyEllipsoid(scale=0.01),
    LinearGreedy(),
    UCBS(),
    UCBC(),
    TSC(),
    GridGreedy(**COINS),
    GridThompson(**COINS),
    GridPlugIn(**COINS),
    IDS(**COINS),
    OSSB(),
    RegionalUCB(),
    Elastic(),
    RandomEffectsThompson(),
    Guarded(),
    Limited(WAGP()),
    Safe(WAGP()),
)
EVERY = (*POLICIES, Uniform(), FixedArm(1))

SLOW = ("elastic", "random_effects_thompson", "guarded")  # where nothing is compiled


@cache
def shop():
    """Sales are observed, profit counts; the parameter to play it at."""
    return demand.exponential([2.0, 3.0, 4.0, 5.0, 6.0, 7.0], cost=1.5), 0.22


@cache
def trial():
    """Side effects are observed, and a rate of 30 % is best; the parameter to play it at."""
    return dose.logistic([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], target=0.3), 0.55


@cache
def wavy():
    """A value with two peaks, kinks and another height for every arm."""

    def value(mean, arm):
        return min(abs(mean - 0.4), 0.25) + 0.1 * arm * (0.2 - abs(mean - 0.55))

    return RewardModel(
        lambda theta, x: 0.1 + 0.8 * theta * x / (x + 0.4), [0.3, 0.6, 1.0, 1.5], value=value
    ), 0.6


WORLDS = {"shop": shop, "trial": trial, "wavy": wavy}
