"""From history to a model: `fit`."""

import dataclasses
import logging
import sys
import time as clock
import warnings
from collections.abc import Callable, Collection
from functools import partial
from typing import Any

from globalbandits._validation import as_integer, require
from globalbandits.errors import FitError
from globalbandits.fitting.aggregation import Wanted
from globalbandits.fitting.arms import arm_scale
from globalbandits.fitting.bootstrap import bootstrap_errors
from globalbandits.fitting.checks import ENOUGH_GROUPS, check_panel, check_several, few_groups
from globalbandits.fitting.factor import fit_independent, fit_shared
from globalbandits.fitting.forecast import as_playing
from globalbandits.fitting.given import fit_given, read_curves, value_of
from globalbandits.fitting.homogeneity import check_homogeneity
from globalbandits.fitting.knowing import arm_facts, worth_of_knowing
from globalbandits.fitting.offer import as_offered, offer_arms
from globalbandits.fitting.prospects import look_ahead
from globalbandits.fitting.reading import Progress
from globalbandits.fitting.remarks import remarks
from globalbandits.fitting.result import Fit
from globalbandits.fitting.scoring import choose_curves, score_groups, score_later
from globalbandits.fitting.share import explained_share
from globalbandits.fitting.sources import leave_out, read_history
from globalbandits.fitting.theta import quantile_scale, straight_scale
from globalbandits.fitting.verdict import Facts, decide
from globalbandits.fitting.worth import Offset, Value, Worth
from globalbandits.model import RewardModel

_LOG = logging.getLogger(__name__)


def fit(
    history: Any,
    *,
    group: str,
    arm: str,
    reward: str | None = None,
    value: Value | None = None,
    offset: Offset | None = None,
    cost: float | None = None,
    reward_range: tuple[float, float] | None = None,
    arms: Any = None,
    curves: RewardModel | None = None,
    time: str | None = None,
    exclude: Collection[Any] = (),
    dropna: bool = False,
    verdict: bool = True,
    horizon: int = 1_000,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | bool = False,
) -> Fit:
    """Learn from many groups what a new group's model is, and what it is worth.

    Args:
        history: One reward per row: a pandas or polars frame, a dict of arrays, or the path of
            a CSV or Parquet file. Without ``reward``: one row per group and arm, with the
            columns n, mean and variance, as a GROUP BY gives it.
        group: Name of the column that tells groups apart: stores, patients, markets.
        arm: Name of the column of what was decided: prices, doses, labels.
        reward: Name of the column of what was observed.
        value: ``value(mean, arm)``: what a decision is worth, a function, or a formula such as
            ``"(arm - 3.10) * mean"``; None: the mean reward.
        offset: What an arm is worth beside that: a number, ``offset(arm)``, or a dict by arm.
        cost: Short for ``value=lambda mean, arm: (arm - cost) * mean``.
        reward_range: The lowest and the highest a reward can be; needed unless they are 0 or 1.
        arms: None for the history's arms; "labels" for arms whose numbers mean nothing; a list
            for some of them, or for new ones between them.
        curves: Your own model, to be tested against the history, and used if it holds.
        time: Name of a column of times: the fit is then also tested on the last third of it.
        exclude: Groups to leave out.
        dropna: Whether rows without a reward are left out instead of refused.
        verdict: Whether to compute standard errors over groups, and to simulate what policies
            would lose in a new group; most of the time goes there.
        horizon: For how many rounds a new group is to be played.
        runs: How many new groups are simulated.
        seed: Of folds, draws and splits.
        progress: True to show on standard error what is being done; a function is called with
            the number of rows read so far, for files read in blocks.

    Examples:
        >>> from globalbandits.fitting import fit, histories
        >>> history = histories.expo(groups=20, seed=1)
        >>> found = fit(history, group="group", arm="arm", reward="reward", cost=1.0,
        ...             verdict=False)
        >>> found.model.n_arms, found.share > 0.5
        (7, True)
    """
    started = clock.perf_counter()
    seed = as_integer("seed", seed, 0, FitError)
    for name, column in {"group": group, "arm": arm, "reward": reward, "time": time}.items():
        named = isinstance(column, str) or (column is None and name in ("reward", "time"))
        require(named, name, "be the name of a column", column, FitError)
    right = curves is None or isinstance(curves, RewardModel)
    require(right, "curves", "be a RewardModel", curves, FitError)
    say = stages(progress)
    playing = as_playing(horizon, runs, seed, progress is True)
    wanted = Wanted(group, arm, reward, time, reward_range, dropna)
    say("reading the history")
    rows_read = (lambda rows: say(f"{rows:,} rows")) if progress is True else None
    panel, late = read_history(history, wanted, progress if callable(progress) else rows_read)
    panel, late = leave_out(panel, late, exclude)
    scale = arm_scale(panel.arms, labels=isinstance(arms, str) and arms == "labels")
    offered = as_offered(arms, panel, scale)
    own_value = curves is not None and value is None and cost is None and offset is None
    if curves is not None and own_value:
        value = value_of(curves)
    valued = partial(Worth, reward_range=panel.reward_range, value=value, offset=offset, cost=cost)
    worth, offered_worth = valued(panel.arms), valued(offered)
    offered_worth.check()
    check_panel(panel, scale)
    if late is not None:
        check_several(panel.without(late), "time", "in its first two thirds")
    if panel.n_groups < ENOUGH_GROUPS and not scale.ordered:
        warnings.warn(few_groups(panel.n_groups), stacklevel=2)

    say(f"fitting {panel.n_groups} groups, {panel.n_arms} arms, {panel.n_rewards} rewards")
    given = None if curves is None else read_curves(curves, panel)
    shared, independent = fit_shared(panel, scale, seed=seed), fit_independent(panel, scale)
    homogeneity = check_homogeneity(panel)
    say("scoring held-out groups")
    held_out = score_groups(panel, scale, worth, given=given, seed=seed)
    later = None if late is None else score_later(panel, late, scale, given)
    chosen = choose_curves(held_out)
    if given is not None and chosen == "given":
        require(offered == panel.arms, "arms", "be left out where curves are kept", arms, FitError)
        used = fit_given(panel, scale, given)
        theta_scale = straight_scale(used, given.domain)
    else:
        used, theta_scale = shared, quantile_scale(shared)
    share = explained_share(used, independent, worth)
    final = offer_arms(used, offered, panel, scale)
    knowing = worth_of_knowing(final, offered_worth, seed)
    facts = Facts(
        homogeneity,
        share,
        held_out.over_independent(chosen),
        None if later is None else later.over_independent(chosen),
        knowing,
        offered[knowing.fixed],
        panel.n_groups,
    )
    found = Fit(
        panel=panel.with_arms(offered),
        fitted=final,
        chosen=chosen,
        worth=offered_worth,
        theta_scale=theta_scale,
        share=share if homogeneity.differ() else float("nan"),
        homogeneity=homogeneity,
        held_out=held_out,
        later=later,
        knowing=knowing,
        facts=arm_facts(final, offered_worth),
        errors=None,
        verdict=decide(facts),
        notes=tuple(remarks(panel, scale, used, final, offered_worth, held_out)),
        seconds=clock.perf_counter() - started,
        columns=(arm, reward),
        given_model=curves if chosen == "given" else None,
        ordered=scale.ordered,
        own_value=own_value,
    )
    if not verdict:
        return found
    say("standard errors over groups")
    errors = bootstrap_errors(
        panel,
        scale,
        worth,
        used,
        independent,
        lambda refit: (offer_arms(refit, offered, panel, scale), offered_worth),
        seed,
    )
    say(f"simulating {runs} new groups")
    prospects = look_ahead(
        final, found.model, offered_worth, theta_scale, errors, panel.n_groups, playing
    )
    return dataclasses.replace(
        found,
        errors=errors,
        prospects=prospects,
        verdict=decide(facts._replace(forecast=prospects.forecast, cautious=prospects.cautious)),
        seconds=clock.perf_counter() - started,
        ready_model=found.model,
    )


def stages(progress: Progress | bool) -> Callable[[str], None]:
    """Says in the log what is being done, and on standard error if that is asked for."""

    def say(what: str) -> None:
        _LOG.info(what)
        if progress is True:
            print(what, file=sys.stderr, flush=True)

    return say
