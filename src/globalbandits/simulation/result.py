"""Results of simulations: an xarray dataset with summaries, figures and files."""

import dataclasses
import json
import numbers
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import pages
from globalbandits._types import AnyArray, BoolArray, IntArray
from globalbandits.environments import Environment
from globalbandits.environments.environment import worth_of_means
from globalbandits.evidence.findings import Findings, find_out
from globalbandits.simulation.job import Job
from globalbandits.simulation.operating import (
    characteristics,
    decisions,
    selection,
    true_means_of,
)
from globalbandits.simulation.provenance import made_with, own_code
from globalbandits.simulation.records import Records
from globalbandits.simulation.summary import gains, summarize

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


@dataclasses.dataclass(frozen=True, eq=False)
class SimulationResult:
    """Regret, estimates and plays of policies, over runs and time.

    The dataset has the variables ``regret``, ``nominal_regret`` and ``estimate`` (policy, run,
    time), ``pulls`` (policy, run, arm), ``last_suboptimal`` (policy, run: the last time a
    suboptimal arm was played, 0 if never), under drift ``theta`` (run, time), with a population
    ``theta`` (run), and with a bias ``bias`` (run, arm). Regret is by the true means, nominal
    regret by the model's means at theta (nan where a truth is given without theta); both are in
    the units of the rewards. ``choice`` (policy, run) is the arm a policy would choose at the
    end, -1 for none. Where means stay, ``true_mean`` and ``gap`` (arm, or run and arm) are the
    true means and what a decision costs. With a stopping rule ``stopped`` (policy, run) is
    the time a run was stopped, 0 if it was not, and ``stop_reason`` 1 for too high, 2 for one
    contender, 3 for the number of decisions. With evidence the dataset also has
    ``interval_low``, ``interval_high`` and ``log_e_value`` (policy, run, time) and ``contender``
    (policy, run, time, arm: 1 if the arm can still be best).

    Args:
        dataset: the numbers.
        spec: what was simulated, as plain values: environment, policies, horizon, runs,
            first_run, seed and version; ``own_code``, hashes of policies and parts that do not
            come with the package; and ``made_with``, versions and platform of the machines.
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

        Columns are ``regret_mean``, ``regret_sem``, ``regret_low`` and ``regret_high``, and
        with a baseline ``difference_mean``, ``_sem``, ``_low`` and ``_high``: the policy's
        regret less the baseline's in the same run, which share their random numbers. The printed
        table is at most 80 characters wide.

        Args:
            baseline: name of a policy to compare with.
            confidence: of the intervals (Student's t).
            variable: "regret" or "nominal_regret".
        """
        return summarize(self.dataset, baseline, confidence, variable)

    def earnings(self, baseline: str | int, confidence: float = 0.95) -> "pd.DataFrame":
        """One row per policy: what it earned beyond a baseline in the same runs.

        Columns are ``gain_mean``, ``gain_sem``, ``gain_low`` and ``gain_high``, in the units of
        the worth, at the last checkpoint, by the true means.

        Args:
            baseline: name of a policy of this simulation, or the index of an arm that is always
                played, such as today's price.
            confidence: of the intervals (Student's t).
        """
        return gains(self.dataset, baseline, confidence)

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

        A run recommends what the policy would choose after its last reward. With a stopping
        rule there is the column ``none`` for runs that were stopped because an arm is too high.
        """
        return selection(self.dataset)

    def decisions(self) -> "pd.DataFrame":
        """The mean number of decisions for each arm: one row per policy, one column per arm."""
        return decisions(self.dataset)

    def characteristics(
        self,
        *,
        target: float | None = None,
        more_than: float = 0,
        within: float = 0.0,
    ) -> "pd.DataFrame":
        """Operating characteristics, one row per policy.

        Columns: ``correct``, the share of runs that recommend a best arm (by the true
        means); ``decisions``, their mean number; with a stopping rule ``stopped``, the share of
        runs that ended before the horizon, and ``none``, the share that recommend no arm; with a
        target ``above``, the share of all decisions on arms whose true mean is above the target,
        and ``exceeded``, the share of runs with more than ``more_than`` of them.

        Args:
            target: a mean that should not be exceeded, in units of the rewards.
            more_than: how many decisions above the target are too many.
            within: an arm also counts as correct if it is worth this much less than the best.
        """
        return characteristics(self.dataset, target, more_than, within)

    def plot_selection(self) -> "Figure":
        """Share of runs that recommend each arm, one panel per policy."""
        from globalbandits.simulation.figures import selection_figure

        return selection_figure(self)

    def plot_regret(
        self,
        *,
        variable: str = "regret",
        log_x: bool = False,
        log_y: bool = False,
        confidence: float = 0.95,
        ax: "Axes | None" = None,
    ) -> "Figure":
        """Mean regret over time, with confidence bands of the mean; into ``ax`` if it is given."""
        from globalbandits.simulation.figures import regret_figure

        return regret_figure(self, variable, log_x, log_y, confidence, ax)

    def plot_pulls(self) -> "Figure":
        """Share of the steps in which each arm was played, one panel per policy."""
        from globalbandits.simulation.figures import pulls_figure

        return pulls_figure(self)

    def plot_estimate(
        self, *, run: int | None = None, log_x: bool = False, ax: "Axes | None" = None
    ) -> "Figure":
        """Median estimate over time with the middle 80 % of the runs; or one run alone."""
        from globalbandits.simulation.figures import estimate_figure

        return estimate_figure(self, run, log_x, ax)

    def plot_evidence(self, policy: str | None = None, run: int | None = None) -> "Figure":
        """The evidence of one run over time; the first policy and run by default.

        Needs a simulation with ``evidence=True``.
        """
        from globalbandits.simulation.figures import run_evidence_figure

        return run_evidence_figure(self, policy, run)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one netCDF file, which is complete or absent."""
        from globalbandits.simulation.storage import save_result

        save_result(self.dataset, self.spec, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "SimulationResult":
        """Read a saved result; raise `ResultError` for a damaged or foreign file."""
        from globalbandits.simulation.storage import load_result

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

    An interrupt loses no finished run. Computing the evidence, which takes long, ends with the runs
    done so far; the rest takes a moment and is repeated.
    """
    runs = np.flatnonzero(finished)
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
        return _assemble(job, env, records, found, runs, first_run, spec)
    except KeyboardInterrupt:
        return _assemble(job, env, records, found, runs, first_run, spec)


def _evidence_of(env: Environment, records: Records, runs: IntArray) -> Findings:
    """The evidence of each run, (policy, run, time); of the first runs if interrupted."""
    parts: list[Findings] = []
    try:
        for run in runs:
            parts.append(find_out(env.model, records.histograms[:, run]))
    except KeyboardInterrupt:
        if not parts:
            raise
    return Findings(*(np.stack(columns, axis=1) for columns in zip(*parts, strict=True)))


def _assemble(
    job: Job,
    env: Environment,
    records: Records,
    found: Findings | None,
    runs: IntArray,
    first_run: int,
    spec: dict[str, Any],
) -> SimulationResult:
    import xarray as xr

    curves = ("policy", "run", "time")
    # Copying would be a large part of the work for short runs, so it is avoided.
    kept: Any = slice(None) if len(runs) == records.regret.shape[1] else runs
    variables: dict[str, tuple[tuple[str, ...], AnyArray]] = {
        "regret": (curves, records.regret[:, kept]),
        "nominal_regret": (curves, records.nominal_regret[:, kept]),
        "estimate": (curves, records.estimate[:, kept]),
        "pulls": (("policy", "run", "arm"), records.pulls[:, kept]),
        "last_suboptimal": (("policy", "run"), records.last_suboptimal[:, kept]),
        "choice": (("policy", "run"), records.choice[:, kept]),
    }
    if env.drift is None and env.moving_truth is None:
        axes, true_means = true_means_of(env, records, kept)
        worth = worth_of_means(env.model, true_means)
        variables["true_mean"] = axes, true_means
        variables["gap"] = axes, worth.max(axis=-1, keepdims=True) - worth
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
    }
    whole = spec | {
        "first_run": first_run,
        "own_code": own_code(env, dict(zip(job.names, job.policies, strict=True))),
        "made_with": [made_with()],
    }
    # As after saving and loading: lists for tuples, texts for objects.
    plain = json.loads(json.dumps(whole, default=str))
    return SimulationResult(xr.Dataset(variables, coordinates), plain)


def _arm_labels(arms: tuple[Any, ...]) -> AnyArray:
    """Arms as an axis: numbers where all are numbers, texts otherwise."""
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
