"""`fit`: from the history of many groups to the model of a new one."""

import dataclasses
import logging
import os
import sys
import time as clock
import warnings
from collections.abc import Callable, Collection
from functools import partial
from typing import Any, overload

from globalbandits._validation import as_integer, require
from globalbandits.errors import FitError
from globalbandits.fitting.assessment.endogeneity import (
    check_endogeneity,
    expected_direction,
    wrong_direction,
)
from globalbandits.fitting.assessment.forecast import (
    MIN_GROUPS_TO_TRUST_CURVES,
    WAGP_NAME,
    ForecastSettings,
    forecast_new_groups,
)
from globalbandits.fitting.assessment.held_out_scores import (
    choose_curves,
    explained_share,
    score_groups,
    score_later,
)
from globalbandits.fitting.assessment.homogeneity import check_homogeneity
from globalbandits.fitting.assessment.notes import write_notes
from globalbandits.fitting.assessment.standard_errors import bootstrap_errors
from globalbandits.fitting.assessment.strata import column_list, fit_strata
from globalbandits.fitting.assessment.time_change import check_time_change
from globalbandits.fitting.assessment.value_of_information import arm_facts, value_of_information
from globalbandits.fitting.assessment.verdict import VerdictFacts, decide
from globalbandits.fitting.context_fit import CELL, CellValue, ContextFit, cell_name, read_cells
from globalbandits.fitting.decision_value import Offset, Value, Worth
from globalbandits.fitting.estimation.curve_model import linear_scale, own_value, quantile_scale
from globalbandits.fitting.estimation.factor_model import (
    fit_given,
    fit_independent,
    fit_shared,
    read_curves,
)
from globalbandits.fitting.estimation.offered_arms import arm_scale, check_offered_arms, offer_arms
from globalbandits.fitting.fit_result import Fit
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.history_files import panels_from_file, read_rows
from globalbandits.fitting.panel.panel_checks import (
    MIN_GROUPS_WITHOUT_ORDER,
    GivenRange,
    check_enough_groups,
    check_panel,
    few_groups_warning,
)
from globalbandits.fitting.panel.rows import (
    HistoryColumns,
    leave_out_groups,
    panel_from_table,
    panels_from_rows,
)
from globalbandits.fitting.vector_fit import VectorFit, fit_vector
from globalbandits.model import AnyModel, RewardModel, VectorModel

Progress = Callable[[int], None]

_LOG = logging.getLogger(__name__)


@overload
def fit(
    history: Any,
    *,
    group: str,
    arm: str,
    reward: str | None = None,
    trials: str | None = None,
    value: Value | None = None,
    offset: Offset | None = None,
    cost: float | None = None,
    reward_range: GivenRange | None = None,
    arms: Any = None,
    curves: RewardModel | None = None,
    time: str | None = None,
    by: Any = None,
    context: None = None,
    exclude: Collection[Any] = (),
    dropna: bool = False,
    verdict: bool = True,
    horizon: int | None = None,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | bool = False,
) -> Fit: ...
@overload
def fit(
    history: Any,
    *,
    group: str,
    arm: str,
    reward: str | None = None,
    trials: str | None = None,
    value: Value | None = None,
    cost: float | None = None,
    reward_range: GivenRange | None = None,
    time: str | None = None,
    context: str,
    exclude: Collection[Any] = (),
    dropna: bool = False,
    horizon: int | None = None,
    seed: int = 0,
    progress: Progress | bool = False,
) -> ContextFit: ...
@overload
def fit(
    history: Any,
    *,
    group: str,
    arm: str,
    reward: str | None = None,
    trials: str | None = None,
    reward_range: GivenRange | None = None,
    curves: VectorModel,
    exclude: Collection[Any] = (),
    dropna: bool = False,
    horizon: int | None = None,
    seed: int = 0,
    progress: Progress | bool = False,
) -> VectorFit: ...
def fit(
    history: Any,
    *,
    group: str,
    arm: str,
    reward: str | None = None,
    trials: str | None = None,
    value: Value | None = None,
    offset: Offset | None = None,
    cost: float | None = None,
    reward_range: GivenRange | None = None,
    arms: Any = None,
    curves: AnyModel | None = None,
    time: str | None = None,
    by: Any = None,
    context: str | None = None,
    exclude: Collection[Any] = (),
    dropna: bool = False,
    verdict: bool = True,
    horizon: int | None = None,
    runs: int = 200,
    seed: int = 0,
    progress: Progress | bool = False,
) -> Fit | VectorFit | ContextFit:
    """Learn the model of a new group from the history of many groups, and what it is worth.

    Args:
        history: One reward per row: a frame of pandas or Polars, a table of PyArrow, a relation
            of DuckDB, a dict of arrays, or the path of a CSV or Parquet file. Without
            ``reward``: one row per group and arm, with the columns n, mean and variance, as a
            GROUP BY gives it.
        group: Name of the column of the groups: stores, patients, markets.
        arm: Name of the column of the decisions: prices, doses, labels.
        reward: Name of the column of the observed rewards. Counts, such as the units sold in a
            week, need no highest value.
        trials: Name of a column with the number of trials, such as visitors. The reward is then
            the number of successes among them, and the model is that of one trial.
        value: What a decision is worth: a function ``value(mean, arm)``, or a formula such as
            ``"(arm - 3.10) * mean"``; None for the mean reward.
        offset: Added to the value: a number, ``offset(arm)``, or a dict by arm.
        cost: Short for ``value=lambda mean, arm: (arm - cost) * mean``.
        reward_range: The lowest and the highest possible reward; ``(0, None)`` if there is no
            highest. Needed unless rewards are 0 and 1, or counts.
        arms: None for the history's arms; "labels" for arms whose numbers mean nothing; a list
            for some of them, or for new ones between them.
        curves: Your own model. It is tested against the history, and used if it fits. With a
            `VectorModel` of two unknown numbers the result is a `VectorFit`: the prior of both
            numbers, and the verdict whether one or two are needed. Its worth is that of the model;
            ``value``, ``offset``, ``cost``, ``arms``, ``time`` and ``by`` must be left out.
        time: Name of a column of times. The fit is then also tested on the last third of it.
        by: Names of columns, such as promotion weeks. The best arm is also found within each
            combination of their values, and the verdict says whether it is the same. A file is
            then read into memory.
        context: Name of a column of contexts, such as weekdays and weekends. A group has one
            theta for all contexts, and each context has curves of its own. The result is then a
            `ContextFit`, whose model has contexts; new groups are not simulated. It excludes
            ``arms``, ``curves``, ``by`` and ``offset``.
        exclude: Groups to leave out.
        dropna: Whether to leave out rows without a reward; by default they are an error.
        verdict: Whether to compute standard errors over groups and to simulate what policies
            would lose in a new group. This takes most of the time.
        horizon: How long a new group is played, in rows of the history: decisions, or weeks if a
            row is a week. The recommended policy knows it. None for an open end; then 1,000 rows
            are simulated, or as many as a group of the history has if they are counts or trials.
        runs: Number of new groups to simulate.
        seed: The seed of folds, draws and splits.
        progress: True to print the current step on standard error. A function is called with
            the number of rows once a file has been read.

    Examples:
        >>> from globalbandits.fitting import fit, histories
        >>> history = histories.exponential_demand(groups=20, seed=1)
        >>> found = fit(history, group="group", arm="arm", reward="reward", cost=1.0,
        ...             verdict=False)
        >>> found.model.n_arms, found.share > 0.5
        (7, True)
    """
    if context is not None:
        others = {"arms": arms, "curves": curves, "by": by, "offset": offset}
        for name, argument in others.items():
            require(argument is None, name, "be None with context", argument, FitError)
        columns = HistoryColumns(group, arm, reward, time, reward_range, dropna, trials)
        options = {"exclude": exclude, "horizon": horizon, "seed": seed, "progress": progress}
        return _fit_contexts(history, columns, context, value, cost, options)
    started = clock.perf_counter()
    seed = as_integer("seed", seed, 0, FitError)
    roles = {"group": group, "arm": arm, "reward": reward, "time": time, "trials": trials}
    for name, column in roles.items():
        named = isinstance(column, str) or (column is None and name not in ("group", "arm"))
        require(named, name, "be the name of a column", column, FitError)
    rule = "be left out where rows are aggregated"
    require(trials is None or reward is not None, "trials", rule, trials, FitError)
    valid = curves is None or isinstance(curves, RewardModel | VectorModel)
    require(valid, "curves", "be a RewardModel or a VectorModel", curves, FitError)
    if isinstance(curves, VectorModel):
        unused = {"value": value, "offset": offset, "cost": cost, "arms": arms, "time": time}
        for name, given_value in (unused | {"by": by}).items():
            rule = "be left out where curves are a VectorModel"
            require(given_value is None, name, rule, given_value, FitError)
    settings = ForecastSettings.checked(horizon, runs, seed, progress is True)

    def say(step: str) -> None:
        _LOG.info(step)
        if progress is True:
            print(step, file=sys.stderr, flush=True)

    say("reading the history")
    columns = HistoryColumns(group, arm, reward, time, reward_range, dropna, trials)
    is_file = isinstance(history, (str, os.PathLike))
    if by is not None and is_file:
        history = read_rows(history, columns, column_list(by))
    panel, late = _read_history(history, columns)
    if callable(progress) and is_file:
        progress(panel.n_rewards + panel.dropped)
    panel, late = leave_out_groups(panel, late, exclude)
    settings = settings.in_rounds(panel)
    scale = arm_scale(panel.arms, labels=isinstance(arms, str) and arms == "labels")
    if isinstance(curves, VectorModel):
        check_panel(panel, scale.ordered)
        say(f"fitting {panel.n_groups} groups, {panel.n_arms} arms, {panel.n_rewards} rewards")
        return fit_vector(panel, scale, curves, settings.known_horizon, seed)
    offered = check_offered_arms(arms, panel, scale)
    has_own_value = curves is not None and value is None and cost is None and offset is None
    if curves is not None and has_own_value:
        value = own_value(curves)
    valued = partial(Worth, reward_range=panel.reward_range, value=value, offset=offset, cost=cost)
    worth, offered_worth = valued(panel.arms), valued(offered)
    offered_worth.check()
    check_panel(panel, scale.ordered)
    if late is not None:
        check_enough_groups(panel.without(late), "time", "in its first two thirds")
    if panel.n_groups < MIN_GROUPS_WITHOUT_ORDER and not scale.ordered:
        warnings.warn(few_groups_warning(panel.n_groups), stacklevel=2)

    say(f"fitting {panel.n_groups} groups, {panel.n_arms} arms, {panel.n_rewards} rewards")
    given = None if curves is None else read_curves(curves, panel)
    independent = fit_independent(panel, scale)
    endogeneity = check_endogeneity(panel, scale, independent)
    within = endogeneity.found
    shared = fit_shared(panel, scale, seed=seed, within=within)
    homogeneity = check_homogeneity(panel)
    say("scoring held-out groups")
    held_out = score_groups(panel, scale, worth, given=given, seed=seed, within=within)
    later = None if late is None else score_later(panel, late, scale, given, within)
    chosen = choose_curves(held_out)
    if given is not None and chosen == "given":
        require(offered == panel.arms, "arms", "be left out where curves are kept", arms, FitError)
        used = fit_given(panel, scale, given)
        theta_scale = linear_scale(used, given.domain)
    else:
        used, theta_scale = shared, quantile_scale(shared)
    share = explained_share(used, independent, worth)
    final = offer_arms(used, offered, panel, scale)._replace(selection=None)
    information = value_of_information(final, offered_worth, seed)
    strata = None
    if by is not None:
        # Strata have the range of the whole history.
        ranged = (
            columns if trials is not None else columns._replace(reward_range=panel.reward_range)
        )
        best = offered[information.fixed]
        strata = fit_strata(history, by, ranged, valued, best, not scale.ordered, seed)
    facts = VerdictFacts(
        homogeneity,
        share,
        held_out.over_independent(chosen),
        None if later is None else later.over_independent(chosen),
        information,
        offered[information.fixed],
        panel.n_groups,
        arm_name=panel.arm_name,
        rounds_per_row=panel.rounds_per_row,
        own_curves=chosen == "given",
        wrong_direction=wrong_direction(
            endogeneity,
            final,
            offered,
            expected_direction(offered_worth, panel.arm_name, scale.ordered),
        ),
        endogeneity=endogeneity,
        change=None if late is None else check_time_change(panel, late),
        strata=strata,
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
        value_of_information=information,
        facts=arm_facts(final, offered_worth),
        errors=None,
        verdict=decide(facts),
        notes=tuple(write_notes(panel, scale, used, final, offered_worth, held_out)),
        seconds=clock.perf_counter() - started,
        columns=columns,
        given_model=curves if chosen == "given" else None,
        ordered=scale.ordered,
        own_value=has_own_value,
        horizon=settings.known_horizon,
        endogeneity=endogeneity,
        change=facts.change,
        strata=strata,
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
    say(f"simulating {runs} new groups of {settings.horizon} rounds")
    prospects = forecast_new_groups(
        final, found.model, offered_worth, theta_scale, errors, panel.n_groups, settings
    )
    if endogeneity.found:
        # What one arm loses everywhere depends on the level of groups that never tried it.
        prospects = prospects._replace(forecast=prospects.forecast.without_fixed_arm())
    if prospects.cautious is not None and not _history_proves_curves(found, settings):
        prospects = prospects._replace(cautious=None)
    return dataclasses.replace(
        found,
        errors=errors,
        prospects=prospects,
        verdict=decide(facts._replace(forecast=prospects.forecast, cautious=prospects.cautious)),
        seconds=clock.perf_counter() - started,
        ready_model=found.model,
    )


def _fit_contexts(
    history: Any,
    columns: HistoryColumns,
    context: str,
    value: Value | None,
    cost: float | None,
    options: dict[str, Any],
) -> ContextFit:
    """Fit the cells of a history as arms without an order."""
    require(isinstance(context, str), "context", "be the name of a column", context, FitError)
    rule = "be given with context"
    require(columns.reward is not None, "reward", rule, columns.reward, FitError)
    rows, contexts, arms = read_cells(history, columns, context)
    if cost is not None:
        require(value is None, "value", "be left out where cost is given", value, FitError)
        numbers = all(isinstance(arm, int | float) for arm in arms)
        require(numbers, "cost", "come with arms that are numbers", cost, FitError)
        value = f"(arm - {float(cost)!r}) * mean"
    width = len(str(len(contexts) * len(arms)))
    every = [arm for _ in contexts for arm in arms]
    by_cell = {cell_name(place, width): arm for place, arm in enumerate(every)}
    cells = fit(
        rows,
        group=columns.group,
        arm=CELL,
        reward=columns.reward,
        trials=columns.trials,
        value=None if value is None else CellValue(value, by_cell),
        reward_range=columns.reward_range,
        arms="labels",
        time=columns.time,
        dropna=columns.dropna,
        verdict=False,
        **options,
    )
    return ContextFit(cells, contexts, arms, value)


def _history_proves_curves(found: Fit, settings: ForecastSettings) -> bool:
    """Whether WAGP is far better than Elastic in the history's own groups, too.

    A forecast draws errors that are independent between arms. The history's groups have the errors
    that they have.
    """
    if found.panel.n_groups < MIN_GROUPS_TO_TRUST_CURVES:
        return False
    return found.replay_forecast(settings).far_below_elastic(WAGP_NAME)


def _read_history(history: Any, columns: HistoryColumns) -> tuple[Panel, Panel | None]:
    """Return the panel of a history, and that of the last third of the time if there are times."""
    if isinstance(history, (str, os.PathLike)):
        require(columns.reward is not None, "reward", "be given for a file", None, FitError)
        return panels_from_file(history, columns)
    if columns.reward is not None:
        return panels_from_rows(history, columns)
    rule = "be left out where rows are aggregated"
    require(columns.time is None, "time", rule, columns.time, FitError)
    table = panel_from_table(
        history, group=columns.group, arm=columns.arm, reward_range=columns.reward_range
    )
    return table, None
