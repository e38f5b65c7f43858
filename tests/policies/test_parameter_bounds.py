"""Parameters at the ends of their ranges are accepted, and those beyond are refused."""

import pytest

import globalbandits as gb
from globalbandits.errors import PolicyError
from tests.policies.families import model_of

TINY = 1e-9
# Policy, other parameters, one parameter, accepted values, refused values.
BOUNDS = [
    (gb.BUW, {}, "scale", [TINY], [0.0, -1.0]),
    (gb.CohortDesign, {"rule": gb.trial.BOIN()}, "cohort", [1], [0]),
    (gb.CohortDesign, {"rule": gb.trial.BOIN()}, "start", [0], [-1]),
    (gb.DiscountedUCB, {}, "discount", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.DiscountedUCB, {}, "xi", [TINY], [0.0]),
    (gb.DoseEscalation, {}, "cells", [5, 10_000], [4, 10_001]),
    (gb.DoseEscalation, {}, "overdose", [(0.3, TINY), (0.3, 1.0 - TINY)], [(0.3, 0), (0.3, 1.0)]),
    (gb.DoseEscalation, {}, "overdose", [(0.3, 0.5)], [(0.3,), (0.3, 0.5, 0.5)]),
    (gb.DoseEscalation, {"rule": "interval"}, "interval", [(0.1, 0.2)], [(0.1, 0.1), None]),
    (gb.Elastic, {}, "horizon", [1, None], [0]),
    (gb.Elastic, {}, "exception", [0.0, 1.0 - TINY], [1.0, -TINY]),
    (gb.Elastic, {}, "caution", [0.0, 9.0], [-TINY]),
    (gb.Elastic, {}, "prior", [(1.0,) * 9], [(1.0,) * 8, (1.0,) * 10, (0.0,) * 9]),
    (gb.Elastic, {}, "theta_prior", [(1.0,), (1.0,) * 20], [(), (1.0,) * 21, (-1.0, 2.0)]),
    (gb.Elastic, {}, "arm_errors", [(0.0, 1.0)], [(1.0, -TINY)]),
    (gb.EpsilonGreedy, {}, "epsilon", [0.0, 1.0], [-TINY, 1.0 + TINY]),
    (gb.ExploreThenCommit, {}, "plays", [1], [0]),
    (gb.FixedArm, {}, "arm", [0], [-1]),
    (gb.GLMUCB, {}, "delta", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.GLMUCB, {}, "scale", [TINY], [0.0]),
    (gb.GridThompson, {}, "cells", [2, 10**6], [1, 10**6 + 1]),
    (gb.GridThompson, {}, "prior", [(0.0, TINY)], [(0.0, 0.0), (0.0,)]),
    (gb.GridThompson, {}, "prior_variance", [TINY], [0.0]),
    (gb.Guarded, {}, "alpha", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.Guarded, {}, "exploration", [0.0], [-TINY]),
    (gb.Guarded, {}, "restarts", [0], [-1]),
    (gb.Hold, {}, "every", [1, 2**40], [0, 2**40 + 1]),
    (gb.Hold, {}, "most_changes", [0], [-1]),
    (gb.Hold, {"every": 2}, "start", [0], [-1]),
    (gb.IDS, {}, "cells", [2], [1]),
    (gb.IndependentGittins, {}, "variance", [TINY, 0.25], [0.0]),
    (gb.IndependentGittins, {}, "patience", [TINY], [0.0]),
    (gb.KLUCB, {}, "c", [0.0], [-TINY]),
    (gb.Limited, {}, "largest_step_up", [1, None], [0]),
    (gb.Limited, {}, "largest_step_down", [1, None], [0]),
    (gb.Limited, {}, "largest_step", [1, None], [-1]),
    (gb.Limited, {}, "max_open", [1, None], [0]),
    (gb.Limited, {}, "cohort", [1], [0]),
    (gb.Limited, {"cohort": 3}, "wait_for", [0, 3], [-1, 4]),
    (gb.Limited, {}, "least_weight", [0.0, 1.0], [-TINY, 1.0 + TINY]),
    (gb.Limited, {}, "elimination", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.Limited, {"low": 2}, "high", [2], [1]),
    (gb.Limited, {"low": 1, "high": 3}, "start", [1, 3], [0, 4]),
    (gb.LinUCB, {}, "delta", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.NonStationaryWAGP, {}, "half_window", [1], [0]),
    (gb.NonStationaryWAGP, {}, "drift_time", [TINY], [0.0]),
    (gb.OFUL, {}, "ridge", [TINY], [0.0]),
    (gb.OFUL, {}, "delta", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.RegionalUCB, {}, "alpha", [TINY], [0.0]),
    (gb.Safe, {}, "caution", [TINY], [0.0]),
    (gb.Safe, {}, "variance", [TINY, 0.25, None], [0.0, 0.25 + TINY]),
    (gb.SlidingWindowUCB, {}, "window", [1], [0]),
    (gb.SlidingWindowUCB, {}, "xi", [TINY], [0.0]),
    (gb.TSC, {}, "alpha", [TINY], [0.0]),
    (gb.TSC, {}, "variance", [TINY], [0.0]),
    (gb.UCBC, {}, "alpha", [TINY], [0.0]),
    (gb.UCBS, {}, "alpha", [TINY], [0.0]),
    (gb.UncertaintyEllipsoid, {}, "scale", [TINY], [0.0]),
    (gb.UncertaintyEllipsoid, {}, "start", [(0,) * 10_000], [(0,) * 10_001]),
    (gb.trial.BOIN, {}, "low", [TINY, 1.0 - TINY], [0.0, 1.0]),
    (gb.trial.BOIN, {}, "high", [1.0 + TINY], [1.0]),
    (gb.trial.Keyboard, {}, "half_width", [TINY], [0.0, 1.0]),
    (gb.StopWhen, {}, "decisions", [1], [0]),
    (gb.StopWhen, {}, "at_any", [1], [0]),
    (gb.StopWhen, {}, "at_recommended", [1], [0]),
    (gb.StopWhen, {}, "precision", [TINY], [0.0]),
    (gb.StopWhen, {"decisions": 1}, "arm", [0], [-1]),
    (gb.StopWhen, {"decisions": 1}, "after", [0], [-1]),
    (gb.StopWhen, {"decisions": 1}, "contender_rewards", [0], [-1]),
    (gb.StopWhen, {"decisions": 1}, "confidence", [TINY, 1.0 - TINY], [0.0, 1.0]),
]


@pytest.mark.parametrize(
    ("make", "others", "name", "taken", "refused"),
    BOUNDS,
    ids=[f"{make.__name__} {name} {number}" for number, (make, _, name, *_) in enumerate(BOUNDS)],
)
def test_a_range_has_both_ends(make, others, name, taken, refused):
    for value in taken:
        make(**others, **{name: value})
    for value in refused:
        with pytest.raises(PolicyError, match=name):
            make(**others, **{name: value})


N_ARMS = 12  # of the model
SETUPS = [
    (gb.FixedArm, {}, "arm", N_ARMS - 1),
    (gb.Hold, {"every": 2}, "start", N_ARMS - 1),
    (gb.Limited, {}, "start", N_ARMS - 1),
    (gb.Limited, {}, "low", N_ARMS - 1),
    (gb.Limited, {}, "high", N_ARMS - 1),
]


@pytest.mark.parametrize(("make", "others", "name", "last"), SETUPS)
def test_an_arm_must_be_one_of_the_model(make, others, name, last):
    model = model_of("pricing")
    make(**others, **{name: last}).setup(model)
    with pytest.raises(PolicyError, match=f"{name} must be at most {last}"):
        make(**others, **{name: last + 1}).setup(model)
