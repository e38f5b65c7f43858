"""`SimulationResult`: the outcome of `simulate`, with its tables, figures and files."""

import dataclasses
import hashlib
import json
import numbers
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import pages
from globalbandits._files import replacing
from globalbandits._means import mean_interval
from globalbandits._rewards import as_arm
from globalbandits._types import AnyArray, BoolArray, FloatArray, IntArray
from globalbandits._validation import as_float, as_fraction, as_list, require, require_known
from globalbandits.environments import Environment
from globalbandits.environments.environment import worth_of_means
from globalbandits.errors import ResultError, SimulationError
from globalbandits.evidence.inference import Findings, infer_many
from globalbandits.plots import Line, band_figure, share_figure
from globalbandits.plots.evidence_over_time import evidence_figure
from globalbandits.plots.labels import drawn_label
from globalbandits.plots.style import new_row, styled
from globalbandits.simulation.play.job import Job, Records
from globalbandits.simulation.provenance import made_with, own_code

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


REGRETS = ("regret", "nominal_regret")
_GAP_TOLERANCE = 1e-9  # as a share of the largest gap; a smaller gap counts as zero
_BAND_QUANTILES = (0.1, 0.5, 0.9)  # of estimates, over runs


@dataclasses.dataclass(frozen=True, eq=False)
class SimulationResult:
    """Regret, estimates and decisions of policies, over runs and time.

    The dataset always has these variables:

    - ``regret`` (policy, run, time): by the true means, in the units of the rewards.
    - ``nominal_regret`` (policy, run, time): by the model's means at theta; nan if the
      environment has true means but no theta.
    - ``estimate`` (policy, run, time): the policy's estimate of theta; (policy, run, time,
      parameter) for a `VectorModel`.
    - ``pulls`` (policy, run, arm): the number of decisions for each arm.
    - ``last_suboptimal`` (policy, run): the last time a suboptimal arm was played, 0 if never.
    - ``choice`` (policy, run): the arm that the policy recommends, -1 for none: the one it would
      play next, or for `Limited` the best arm with rewards at its estimate.

    Some simulations add variables:

    - ``theta`` (run, time) under drift; ``theta`` (run) with a population.
    - ``context_regret`` (policy, run, time, context) with contexts. Arms are then cells, pairs of
      context and arm, and ``choice`` is -1.
    - ``bias`` (run, arm) with a bias.
    - ``true_mean`` and ``gap`` (arm, or run and arm) if means are constant during a run. The gap
      is the cost of one decision for the arm.
    - ``stopped`` and ``stop_reason`` (policy, run) with a stopping rule: the time a run was
      stopped, 0 if it was not, and the reason (1: too high, 2: one contender, 3: the number of
      decisions).
    - ``interval_low``, ``interval_high`` and ``log_e_value`` (policy, run, time) and
      ``contender`` (policy, run, time, arm: 1 if the arm can still be best) with evidence.

    Args:
        dataset: the variables above.
        spec: the simulation as plain values: environment, policies, horizon, runs, first_run,
            seed and version; ``own_code``, hashes of policies and parts that do not come with the
            package; and ``made_with``, the versions and platforms of the machines.
    """

    dataset: "xr.Dataset"
    spec: dict[str, Any]

    @property
    def policies(self) -> list[str]:
        """Names of the policies."""
        return [str(name) for name in self.dataset["policy"].values]

    def summary(
        self, baseline: str | None = None, confidence: float = 0.95, variable: str = "regret"
    ) -> "pd.DataFrame":
        """One row per policy: mean regret at the last checkpoint with its confidence interval.

        Columns are ``regret_mean``, ``regret_sem``, ``regret_low`` and ``regret_high``. A baseline
        adds ``difference_mean``, ``_sem``, ``_low`` and ``_high``: the policy's regret minus the
        baseline's. The differences are paired, because policies share the random numbers of a run.
        The printed table is at most 80 characters wide.

        Args:
            baseline: name of a policy to compare with.
            confidence: the confidence of the intervals (Student's t).
            variable: "regret" or "nominal_regret".
        """
        from globalbandits.simulation.summary import summarise

        dataset = self.dataset
        confidence = as_fraction("confidence", confidence, SimulationError)
        check_regret(variable)
        names = [str(name) for name in dataset["policy"].values]
        # NumPy's sums depend on the memory layout. A contiguous array gives the same bits for a
        # computed, a joined and a loaded dataset.
        final = np.ascontiguousarray(dataset[variable].isel(time=-1).transpose("policy", "run"))
        columns = _columns("regret", final, confidence)
        if baseline is not None:
            rule = f"be one of {', '.join(names)}"
            require(baseline in names, "baseline", rule, baseline, SimulationError)
            columns |= _columns("difference", final - final[names.index(baseline)], confidence)
        return summarise(names, columns)

    def earnings(self, baseline: str | int, confidence: float = 0.95) -> "pd.DataFrame":
        """One row per policy: how much more it earned than a baseline in the same runs.

        Columns are ``gain_mean``, ``gain_sem``, ``gain_low`` and ``gain_high`` at the last
        checkpoint, by the true means, in the units of the worth.

        Args:
            baseline: the name of a policy of this simulation; or the index of an arm, such as
                today's price, for a baseline that always plays this arm.
            confidence: the confidence of the intervals (Student's t).
        """
        from globalbandits.simulation.summary import summarise

        dataset = self.dataset
        confidence = as_fraction("confidence", confidence, SimulationError)
        names = [str(name) for name in dataset["policy"].values]
        regrets = np.ascontiguousarray(dataset["regret"].isel(time=-1).transpose("policy", "run"))
        if isinstance(baseline, str):
            rule = f"be one of {', '.join(names)}, or an arm's index"
            require(baseline in names, "baseline", rule, baseline, SimulationError)
            lost = regrets[names.index(baseline)]
        else:
            arm = as_arm("baseline", baseline, dataset.sizes["arm"])
            if "gap" not in dataset:
                raise SimulationError(
                    "baseline must be a policy of the simulation where means move: "
                    f"simulate FixedArm({arm}) as well, and name it"
                )
            gap = dataset["gap"].isel(arm=arm).to_numpy()
            n_decisions = dataset["pulls"].transpose("policy", "run", "arm").sum("arm")
            lost = np.broadcast_to(np.asarray(n_decisions, np.float64) * gap, regrets.shape)
        numbers = _columns("gain", lost - regrets, confidence)
        return summarise(names, numbers)

    def _repr_html_(self) -> str:
        sizes = self.dataset.sizes
        last = int(self.dataset["time"].values[-1])
        heading = f"Regret after {last:,} decisions, {sizes['run']:,} runs, 95 % intervals"
        rows = self.summary()
        cells = [
            [label, *(f"{value:.4g}" for value in row)]
            for label, row in zip(rows.index, rows.to_numpy().tolist(), strict=True)
        ]
        return pages.paragraph(heading, strong=True) + pages.table(
            ["policy", "mean", "standard error", "low", "high"], cells
        )

    def selection(self) -> "pd.DataFrame":
        """The share of runs that recommend each arm: one row per policy, one column per arm.

        A run recommends the arm that the policy would play next; `Limited` recommends the best arm
        with rewards at its estimate. A stopping rule adds the column
        ``none`` for runs that were stopped because an arm is too high.
        """
        dataset = self.dataset
        choice = dataset["choice"].transpose("policy", "run").values
        shares = [(choice == arm).mean(axis=1) for arm in range(dataset.sizes["arm"])]
        frame = _table(dataset, np.stack(shares, axis=1))
        if "stopped" in dataset:
            frame["none"] = (choice < 0).mean(axis=1)
        return frame

    def decisions(self) -> "pd.DataFrame":
        """The mean number of decisions for each arm: one row per policy, one column per arm."""
        dataset = self.dataset
        return _table(
            dataset, dataset["pulls"].transpose("policy", "run", "arm").values.mean(axis=1)
        )

    def characteristics(
        self,
        *,
        target: float | None = None,
        more_than: float = 0,
        within: float = 0.0,
    ) -> "pd.DataFrame":
        """Operating characteristics, one row per policy.

        Columns are ``correct``, the share of runs that recommend a best arm by the true means, and
        ``decisions``, the mean number of decisions of a run. If the true mean of the arm that a
        stopping rule watches is above its limit, recommending no arm is correct, and nothing else.
        A stopping rule adds ``stopped``, the
        share of runs that ended before the horizon, and ``none``, the share that recommend no arm.
        A target adds ``above``, the share of all decisions for arms whose true mean is above the
        target, and ``exceeded``, the share of runs with more than ``more_than`` such decisions.

        Args:
            target: a mean that should not be exceeded, in units of the rewards.
            more_than: the number of decisions above the target that is still acceptable.
            within: an arm also counts as correct if it is worth at most this much less than the
                best arm.
        """
        import pandas as pd

        dataset, stop = self.dataset, self.spec.get("stop") or {}
        within = as_float("within", within, SimulationError)
        require(within >= 0.0, "within", "be at least 0", within, SimulationError)
        rule = "be one whose means stay during a run"
        require("gap" in dataset, "result", rule, "one of a world that moves", SimulationError)
        choice = dataset["choice"].transpose("policy", "run").values
        pulls = dataset["pulls"].transpose("policy", "run", "arm").values
        gaps = _by_run(dataset, "gap")
        good = gaps <= within + _GAP_TOLERANCE * gaps.max(initial=0.0)
        correct = np.take_along_axis(
            good[np.newaxis], np.maximum(choice, 0)[..., np.newaxis], axis=2
        )
        found = correct[..., 0] & (choice >= 0)
        if stop.get("above") is not None:
            too_high = _by_run(dataset, "true_mean")[:, stop["arm"]] > stop["above"]
            found = np.where(too_high, choice < 0, found)
        columns = {
            "correct": found.mean(axis=1),
            "decisions": pulls.sum(axis=2).mean(axis=1),
        }
        if "stopped" in dataset:
            # A run that stops at the horizon did not stop early.
            stopped = dataset["stopped"].transpose("policy", "run").values
            early = (stopped > 0) & (stopped < int(dataset["time"].values[-1]))
            columns["stopped"] = early.mean(axis=1)
            columns["none"] = (choice < 0).mean(axis=1)
        if target is not None:
            limit = as_float("target", target, SimulationError)
            most = as_float("more_than", more_than, SimulationError)
            above = (pulls * (_by_run(dataset, "true_mean") > limit)).sum(axis=2)
            columns["above"] = above.sum(axis=1) / pulls.sum(axis=(1, 2))
            columns["exceeded"] = (above > most).mean(axis=1)
        names = [str(name) for name in dataset["policy"].values]
        return pd.DataFrame(columns, index=pd.Index(names, name="policy"))

    def plot_selection(self) -> "Figure":
        """Share of runs that recommend each arm, one panel per policy."""
        shares = self.selection()
        labels = [drawn_label(arm) for arm in shares.columns]
        best = self.spec["environment"]["best_arms"]
        panels = {drawn_label(name): shares.loc[name].to_numpy() for name in shares.index}
        return share_figure(panels, labels, best=best, ylabel="% of runs")

    def plot_regret(
        self,
        *,
        variable: str = "regret",
        log_x: bool = False,
        log_y: bool = False,
        confidence: float = 0.95,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Mean regret over time with its confidence bands, drawn into ``ax`` if given."""
        check_regret(variable)
        confidence = as_fraction("confidence", confidence, SimulationError)
        data = self.dataset
        lines = []
        for name in self.policies:
            curves = data[variable].sel(policy=name).transpose("time", "run").values
            mean, _, low, high = mean_interval(curves, confidence)
            if log_y:  # values below zero have no logarithm
                low = np.maximum(low, mean * 1e-3)
            lines.append(Line(drawn_label(name), data["time"].values, mean, low, high))
        words = "nominal regret" if variable == "nominal_regret" else "regret"
        ylabel = f"cumulative {words}"
        return band_figure(
            lines, xlabel="time step", ylabel=ylabel, log_x=log_x, log_y=log_y, ax=ax
        )

    def plot_pulls(self) -> "Figure":
        """Share of the steps in which each arm was played, one panel per policy."""
        pulls = self.dataset["pulls"].transpose("policy", "run", "arm").values
        totals = pulls.sum(axis=1)
        shares = totals / totals.sum(axis=1, keepdims=True)
        labels = [drawn_label(arm) for arm in self.dataset["arm"].values.tolist()]
        best = self.spec["environment"]["best_arms"]  # empty if they change over time or runs
        names = [drawn_label(name) for name in self.policies]
        return share_figure(dict(zip(names, shares, strict=True)), labels, best=best)

    def plot_estimate(
        self,
        *,
        run: int | None = None,
        log_x: bool = False,
        parameter: str | None = None,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Median estimate over time with the middle 80 % of the runs; or one single run.

        A `VectorModel` has one panel per parameter.

        Args:
            run: number of the run to draw; by default all.
            log_x: whether time is logarithmic.
            parameter: name of the only parameter to draw; needed with ``ax`` if there are several.
            ax: axes to draw into; by default a new figure.
        """
        estimates = self.dataset["estimate"]
        if "parameter" not in estimates.dims:
            require(parameter is None, "parameter", "be None for theta", parameter, SimulationError)
            lines = self._estimate_lines(estimates, self._truth(run), run)
            return band_figure(lines, xlabel="time step", ylabel="parameter θ", log_x=log_x, ax=ax)
        names = [str(name) for name in estimates["parameter"].values]
        if parameter is not None:
            require_known("parameter", parameter, names, SimulationError)
            names = [parameter]
        rule = f"be one of {', '.join(names)} if ax is given"
        require(ax is None or len(names) == 1, "parameter", rule, parameter, SimulationError)
        with styled():
            panels = [ax] if ax is not None else new_row(4.6 * len(names), 3.9, len(names))[1]
        theta = self.spec["environment"]["theta"] or {}
        for name, panel in zip(names, panels, strict=True):
            times = self.dataset["time"].values
            truth = np.full(len(times), theta.get(name, np.nan))
            line = Line("true parameter", times, truth, reference=True)
            lines = self._estimate_lines(estimates.sel(parameter=name), line, run)
            figure = band_figure(
                lines, xlabel="time step", ylabel=drawn_label(name), log_x=log_x, ax=panel
            )
        return figure

    def plot_evidence(self, policy: str | None = None, run: int | None = None) -> "Figure":
        """The evidence of one run over time; the first policy and run by default.

        Needs a simulation with ``evidence=True``.
        """
        data = self.dataset
        rule = "be one with evidence (simulate with evidence=True)"
        require("log_e_value" in data, "result", rule, list(data.data_vars), SimulationError)
        policy = self.policies[0] if policy is None else policy
        rule = f"be one of {', '.join(self.policies)}"
        require(policy in self.policies, "policy", rule, policy, SimulationError)
        run = self._as_run(run) if run is not None else int(data["run"].values[0])
        one = data.sel(policy=policy, run=run)
        return evidence_figure(
            one["time"].values,
            low=one["interval_low"].values,
            high=one["interval_high"].values,
            log_e_values=one["log_e_value"].values,
            contenders=one["contender"].transpose("time", "arm").values,
            arms=[drawn_label(arm) for arm in data["arm"].values.tolist()],
            domain=tuple(self.spec["environment"]["model"]["domain"]),
            truth=self._truth(run).y,
            title=drawn_label(policy),
            xlabel="time step",
        )

    def _estimate_lines(
        self, estimates: "xr.DataArray", truth: Line, run: int | None
    ) -> list[Line]:
        """The true parameter, and the estimates of the policies that have one."""
        times = self.dataset["time"].values
        if run is not None:
            estimates = estimates.sel(run=[self._as_run(run)])
        lines = [truth]
        for name in self.policies:
            found = estimates.sel(policy=name).transpose("run", "time").values
            known = ~np.isnan(found).all(axis=0)
            if known.any():
                low, middle, high = np.nanquantile(found[:, known], _BAND_QUANTILES, axis=0)
                lines.append(Line(drawn_label(name), times[known], middle, low, high))
        require(len(lines) > 1, "policies", "have an estimate", self.policies, SimulationError)
        return lines

    def _as_run(self, run: int) -> int:
        runs = self.dataset["run"].values.tolist()
        rule = f"be one of the runs {runs[0]} to {runs[-1]}"
        require(run in runs, "run", rule, run, SimulationError)
        return run

    def _truth(self, run: int | None) -> Line:
        times = self.dataset["time"].values
        if "theta" not in self.dataset:
            # theta is None, drawn as nan, if the environment has only true means.
            theta = np.full(len(times), np.array(self.spec["environment"]["theta"], np.float64))
        elif run is not None:
            theta = np.broadcast_to(self.dataset["theta"].sel(run=run).values, len(times))
        else:
            theta = np.broadcast_to(self.dataset["theta"].median("run").values, len(times))
        return Line("true parameter", times, theta, reference=True)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one netCDF file. An interrupted write leaves no partial file."""
        save_result(self.dataset, self.spec, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "SimulationResult":
        """Read a saved result; raise `ResultError` if the file is damaged or of another format."""
        return SimulationResult(*load_result(path))


def make_result(
    job: Job,
    env: Environment,
    records: Records,
    finished: BoolArray,
    first_run: int,
    spec: dict[str, Any],
) -> SimulationResult:
    """Make a result of the finished runs.

    An interrupt during the evidence, the slow part, keeps the runs whose evidence is computed. An
    interrupt during the rest, which takes a moment, repeats the rest.
    """
    runs = np.flatnonzero(finished)
    names, env = env.context_names, env.of_cells
    found = None
    if job.evidence:
        found = _evidence_of(env, records, runs)
        if found.low.shape[1] < len(runs):
            warnings.warn(
                f"interrupted: the result holds {found.low.shape[1]} of {len(runs)} runs",
                RuntimeWarning,
                stacklevel=3,
            )
            runs = runs[: found.low.shape[1]]
    try:
        return _assemble(job, env, names, records, found, runs, first_run, spec)
    except KeyboardInterrupt:
        return _assemble(job, env, names, records, found, runs, first_run, spec)


def _evidence_of(env: Environment, records: Records, runs: IntArray) -> Findings:
    """The evidence (policy, run, time); an interrupt returns that of the first runs."""
    parts: list[Findings] = []
    try:
        for run in runs:
            parts.append(infer_many(env.model, records.histograms[:, run]))
    except KeyboardInterrupt:
        if not parts:
            raise
    return Findings(*(np.stack(columns, axis=1) for columns in zip(*parts, strict=True)))


def _assemble(
    job: Job,
    env: Environment,
    names: tuple[str, ...],
    records: Records,
    found: Findings | None,
    runs: IntArray,
    first_run: int,
    spec: dict[str, Any],
) -> SimulationResult:
    import xarray as xr

    curves = ("policy", "run", "time")
    # A slice avoids a copy, which would take a large part of the time for short runs.
    kept: Any = slice(None) if len(runs) == records.regret.shape[1] else runs
    variables: dict[str, tuple[tuple[str, ...], AnyArray]] = {
        "regret": (curves, records.regret[:, kept]),
        "nominal_regret": (curves, records.nominal_regret[:, kept]),
        "estimate": (
            (*curves, "parameter") if job.n_numbers else curves,
            records.estimate[:, kept],
        ),
        "pulls": (("policy", "run", "arm"), records.pulls[:, kept]),
        "last_suboptimal": (("policy", "run"), records.last_suboptimal[:, kept]),
        "choice": (("policy", "run"), records.choice[:, kept]),
    }
    if env.drift is None and env.moving_truth is None:
        axes, true_means = true_means_of(env, records, kept)
        worth = worth_of_means(env.model, true_means)
        variables["true_mean"] = axes, true_means
        # Gaps are within a context.
        shaped = worth.reshape(*worth.shape[:-1], max(1, len(names)), -1)
        gaps = shaped.max(axis=-1, keepdims=True) - shaped
        variables["gap"] = axes, gaps.reshape(worth.shape)
    if names:
        variables["context_regret"] = (*curves, "context"), records.context_regret[:, kept]
    if job.stop is not None:
        variables["stopped"] = ("policy", "run"), records.stopped[:, kept]
        variables["stop_reason"] = ("policy", "run"), records.stop_reason[:, kept]
    if env.drift is not None:
        variables["theta"] = ("run", "time"), records.theta[kept]
    if env.population is not None:
        variables["theta"] = ("run",), records.theta[kept, 0]
    if job.is_biased:
        variables["bias"] = ("run", "arm"), records.bias[kept]
    if found is not None:
        variables["interval_low"] = curves, found.low
        variables["interval_high"] = curves, found.high
        variables["log_e_value"] = curves, found.log_e_value
        variables["contender"] = (*curves, "arm"), found.contenders
    coordinates = {
        "policy": np.array(job.names),
        "run": first_run + runs,
        "time": job.times,
        "arm": _arm_labels(env.model.arms),
    } | ({"context": np.array(names)} if names else {})
    if job.n_numbers:
        coordinates["parameter"] = np.array(env.model.parameters)
    whole = spec | {
        "first_run": first_run,
        "own_code": own_code(env, dict(zip(job.names, job.policies, strict=True))),
        "made_with": [made_with()],
    }
    # The spec is the same as after saving and loading: tuples are lists, objects are texts.
    plain = json.loads(json.dumps(whole, default=str))
    return SimulationResult(xr.Dataset(variables, coordinates), plain)


def _arm_labels(arms: tuple[Any, ...]) -> AnyArray:
    """Coordinates of the arms: numbers if all arms are numbers, texts otherwise."""
    if isinstance(arms[0], tuple):
        # Cells of a model with contexts: pairs of context and arm.
        return np.array([f"{context}: {drawn_label(arm)}" for context, arm in arms])
    if set(map(type, arms)) == {float} or all(map(_is_number, arms)):
        return np.array([float(arm) for arm in arms])
    return np.array([str(arm) for arm in arms])


def _is_number(arm: Any) -> bool:
    """Whether an arm is a number that a float can hold; the text "1" is not."""
    if isinstance(arm, bool) or not isinstance(arm, numbers.Real):
        return False
    try:
        return float(arm) == arm or not isinstance(arm, numbers.Integral)
    except OverflowError:
        return False


def check_regret(variable: str) -> None:
    """Raise if this is not one of the two regrets."""
    rule = "be 'regret' or 'nominal_regret'"
    require(variable in REGRETS, "variable", rule, variable, SimulationError)


def _columns(name: str, values: FloatArray, confidence: float) -> dict[str, FloatArray]:
    statistics = ("mean", "sem", "low", "high")
    numbers = mean_interval(values, confidence)
    return {f"{name}_{what}": number for what, number in zip(statistics, numbers, strict=True)}


def true_means_of(
    env: Environment, records: Records, kept: Any
) -> tuple[tuple[str, ...], FloatArray]:
    """The true means of the kept runs, and the names of their axes."""
    low, high = env.model.reward_range
    if env.population is not None:
        means = env.model.means(records.theta[kept, 0])
    else:
        means = env.true_means()
    if records.bias.shape[1] > 0:
        means = np.clip(means + records.bias[kept], low, high)
    return (("run", "arm") if means.ndim == 2 else ("arm",)), means


def _by_run(dataset: "xr.Dataset", name: str) -> FloatArray:
    """A variable as (run, arm), broadcast if all runs share the same values."""
    values = dataset[name].values
    shape = dataset.sizes["run"], dataset.sizes["arm"]
    return np.broadcast_to(values, shape)


def _table(dataset: "xr.Dataset", values: FloatArray) -> "pd.DataFrame":
    """One row per policy, one column per arm."""
    import pandas as pd

    names = [str(name) for name in dataset["policy"].values]
    arms = pd.Index(dataset["arm"].values.tolist(), name="arm")
    return pd.DataFrame(values, index=pd.Index(names, name="policy"), columns=arms)


_MAY_DIFFER = {"runs", "first_run", "made_with"}


def concat(results: Sequence[SimulationResult]) -> SimulationResult:
    """Join results of one simulation that hold different runs.

    The joined result equals that of a single simulation of all the runs. The results must agree in
    everything except their runs and their machines, which ``spec["made_with"]`` lists.

    Args:
        results: in any order.

    >>> import globalbandits as gb
    >>> env = gb.Environment(gb.demand.linear([0.4, 0.6, 0.8]), theta=0.4)
    >>> first = gb.simulate(env, [gb.UCB1()], horizon=50, runs=3)
    >>> second = gb.simulate(env, [gb.UCB1()], horizon=50, runs=2, first_run=3)
    >>> concat([first, second]).dataset.sizes["run"]
    5
    """
    import xarray as xr

    shards = as_list("results", results, "be a list of results", ResultError)
    require(len(shards) > 0, "results", "be at least one", shards, ResultError)
    for shard in shards:
        is_result = isinstance(shard, SimulationResult)
        require(is_result, "results", "be simulation results", shard, ResultError)
    first = shards[0]
    for shard in shards[1:]:
        _check_same_simulation(first, shard)
    _check_distinct_runs(shards)
    parts = [shard.dataset for shard in shards]
    # Variables without an axis of runs, such as true means, are the same in all results.
    joined = xr.concat(
        parts, dim="run", join="exact", data_vars="minimal", coords="minimal", compat="equals"
    ).sortby("run")
    # Joining moves the axis of runs to the front. Restore the order of a single simulation.
    for name, data in first.dataset.data_vars.items():
        joined[name] = joined[name].transpose(*data.dims)
    made_with: list[dict[str, str]] = []
    for shard in shards:
        made_with += [made for made in shard.spec["made_with"] if made not in made_with]
    spec = first.spec | {
        "first_run": int(joined["run"].values[0]),
        "runs": joined.sizes["run"],
        "made_with": made_with,
    }
    return SimulationResult(joined, spec)


def _check_same_simulation(first: SimulationResult, other: SimulationResult) -> None:
    """Raise if two results are of different simulations; the message names the difference."""
    for name in sorted(first.spec.keys() | other.spec.keys()):
        if name not in _MAY_DIFFER:
            _require_equal(name, first.spec.get(name), other.spec.get(name))
    _require_equal("variables", sorted(map(str, first.dataset)), sorted(map(str, other.dataset)))
    for name, what in {"policy": "policies", "time": "checkpoints", "arm": "arms"}.items():
        values = [result.dataset[name].values.tolist() for result in (first, other)]
        _require_equal(what, *values)


def _require_equal(name: str, first: Any, other: Any) -> None:
    if isinstance(first, dict) and isinstance(other, dict):
        for key in [*first, *(key for key in other if key not in first)]:
            _require_equal(f"{name} {key}", first.get(key), other.get(key))
    elif first != other:
        rule = f"agree with the first one's {first!r}"
        require(False, f"{name} of the results", rule, other, ResultError)


def _check_distinct_runs(shards: list[SimulationResult]) -> None:
    """Raise if two results hold the same run."""
    seen: set[int] = set()
    for shard in shards:
        runs = shard.dataset["run"].values.tolist()
        twice = sorted(seen.intersection(runs))
        require(not twice, "runs of the results", "differ", f"run {twice[:1]} twice", ResultError)
        seen.update(runs)


# Results in netCDF files. The format has no 64-bit integers, so integers are stored as doubles,
# which are exact up to 2**53. A checksum over all numbers and the spec detects a damaged file.

FORMAT = "globalbandits simulation 1"


def save_result(dataset: "xr.Dataset", spec: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a dataset and its spec. An interrupted write leaves no partial file."""
    whole = [str(name) for name, data in dataset.variables.items() if data.dtype.kind == "i"]
    stored = _convert(dataset, dict.fromkeys(whole, np.float64))
    text = json.dumps(spec, default=str)
    stored.attrs = {
        "format": FORMAT,
        "version": spec["version"],
        "spec": text,
        "whole_numbers": json.dumps(whole),
        "checksum": _checksum(dataset, text),
    }
    with replacing(path) as temporary:
        stored.to_netcdf(temporary, engine="scipy", format="NETCDF3_64BIT")


def load_result(path: str | os.PathLike[str]) -> tuple["xr.Dataset", dict[str, Any]]:
    """Read a file of `save_result`; raise `ResultError` for any other file."""
    file = Path(path)
    if not file.is_file():
        raise ResultError(f"result file must exist, got {str(path)!r}")
    stored = _read(file)
    if stored.attrs.get("format") != FORMAT:
        raise ResultError(f"result file must be a saved simulation, got {str(path)!r}")
    try:
        text = stored.attrs["spec"]
        whole = json.loads(stored.attrs["whole_numbers"])
        texts = [str(name) for name, data in stored.variables.items() if data.dtype.kind == "O"]
        dataset = _convert(stored, dict.fromkeys(whole, np.int64) | dict.fromkeys(texts, np.str_))
        if _checksum(dataset, text) != stored.attrs["checksum"]:
            raise ValueError("the checksum differs")
        return dataset, json.loads(text)
    except (KeyError, ValueError) as error:
        raise ResultError(f"result file must be whole, got a damaged {str(path)!r}") from error


def _read(file: Path) -> "xr.Dataset":
    """Read a netCDF file into memory."""
    import xarray as xr

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a file that is not netCDF raises an error below
            with xr.open_dataset(file, engine="scipy", mmap=False) as stored:
                return stored.load()
    except Exception as error:  # the reader may raise anything
        raise ResultError(f"result file must be netCDF, got a damaged {str(file)!r}") from error


def _convert(dataset: "xr.Dataset", types: dict[str, type[np.generic]]) -> "xr.Dataset":
    """A copy without attributes, with some variables and coordinates converted."""
    import xarray as xr

    def columns(names: Any) -> dict[Any, Any]:
        return {
            name: (
                dataset[name].dims,
                dataset[name].values.astype(types.get(str(name), dataset[name].dtype)),
            )
            for name in names
        }

    with np.errstate(invalid="ignore"):  # the checksum detects invalid numbers
        return xr.Dataset(columns(dataset.data_vars), columns(dataset.coords))


def _checksum(dataset: "xr.Dataset", text: str) -> str:
    digest = hashlib.sha256(text.encode())
    for name in sorted(str(name) for name in dataset.variables):
        variable = dataset[name]
        digest.update(f"{name} {variable.dims} {variable.shape}".encode())
        if variable.dtype.kind in "fi":
            digest.update(np.ascontiguousarray(variable.values.astype("<f8")).tobytes())
        else:
            digest.update(json.dumps([str(value) for value in variable.values.tolist()]).encode())
    return digest.hexdigest()
