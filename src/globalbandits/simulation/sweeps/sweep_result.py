"""`SweepResult`: the results of a sweep as one dataset and as tables, and their comparison."""

import dataclasses
import json
import os
from collections.abc import Iterator
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._arrow_files import write_tables
from globalbandits._extras import needs_extra
from globalbandits._means import mean_interval
from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, require, require_known
from globalbandits.errors import ResultError
from globalbandits.simulation.result import SimulationResult, check_regret
from globalbandits.simulation.sweeps.folder import Folder

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr


# Keys of a spec whose values change the sizes of results.
_SIZE_KEYS = frozenset({"model", "horizon", "runs", "checkpoints"})


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The results of a sweep, which may be unfinished. Files are read when their values are used.

    Args:
        folder: the folder of the sweep.
        index: its spec, axes and task names.
    """

    folder: Folder
    index: dict[str, Any]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "SweepResult":
        """Open the results in a folder; raise `ResultError` if it holds no sweep."""
        folder = Folder(path)
        return SweepResult(folder, folder.index())

    def __repr__(self) -> str:
        axes = ", ".join(f"{name} ({len(values)})" for name, values in self.axes.items())
        done = f"{self.n_tasks - len(self.missing)} of {self.n_tasks} tasks"
        return f"SweepResult({str(self.folder.path)!r}: {done}; axes: {axes or 'none'})"

    @property
    def spec(self) -> dict[str, Any]:
        """The spec, as plain values."""
        spec: dict[str, Any] = self.index["spec"]
        return spec

    @property
    def axes(self) -> dict[str, list[Any]]:
        """The sweep's axes: values by name."""
        return {axis["name"]: axis["values"] for axis in self.index["axes"]}

    @property
    def n_tasks(self) -> int:
        """The number of points."""
        return len(self.index["tasks"])

    @property
    def missing(self) -> list[dict[str, Any]]:
        """The points that are not finished."""
        names = self.index["tasks"]
        return [self.where(key) for key in range(self.n_tasks) if not self.folder.has(names[key])]

    def where(self, key: int) -> dict[str, Any]:
        """The values of the axes at a task."""
        place = np.unravel_index(key, self._shape) if self.axes else ()
        return {
            name: values[int(at)]
            for (name, values), at in zip(self.axes.items(), place, strict=True)
        }

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.axes.values())

    def results(self) -> Iterator[tuple[dict[str, Any], SimulationResult]]:
        """The values of the axes and the result, for each finished point."""
        for key, name in enumerate(self.index["tasks"]):
            if self.folder.has(name):
                yield self.where(key), self.folder.load(name)

    def _read(self, key: int) -> "xr.Dataset | None":
        name = self.index["tasks"][key]
        return self.folder.load(name).dataset if self.folder.has(name) else None

    @cached_property
    def dataset(self) -> "xr.Dataset":
        """One dataset with the sweep's axes first. A file is read when its values are used.

        If tasks differ in arms, checkpoints or policies, shorter tasks are padded with nan
        (integers with -1, texts with ""), and the variables ``arm_of``, ``time_of`` and
        ``policy_of`` hold the coordinates. Missing variables and unfinished points are padded too.
        Select before you compute: ``result.dataset["regret"].sel(theta=0.4).isel(time=-1)`` reads
        one file.
        """
        from globalbandits.simulation.sweeps.stacked_tasks import stack_tasks

        finished = [k for k, name in enumerate(self.index["tasks"]) if self.folder.has(name)]
        if not finished:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        keys = finished[:1] if self._is_uniform() else finished
        data = stack_tasks(self._read, self.axes, keys)
        return data.assign_attrs(spec=json.dumps(self.spec))

    def _is_uniform(self) -> bool:
        """Whether the axes imply that all tasks have the same variables, sizes and coordinates."""
        return all(
            axis["key"].partition(".")[0] not in _SIZE_KEYS
            and all(isinstance(value, (int, float)) for value in axis["values"])
            for axis in self.index["axes"]
        )

    def summary(self, baseline: str | None = None, confidence: float = 0.95) -> "pd.DataFrame":
        """One row for each point and policy, with the columns of `SimulationResult.summary`."""
        import pandas as pd

        frames = []
        for where, result in self.results():
            frame = pd.DataFrame(result.summary(baseline, confidence)).reset_index()
            for place, (name, value) in enumerate(where.items()):
                frame.insert(place, name, [value] * len(frame))
            frame["runs"] = result.dataset.sizes["run"]
            frames.append(frame)
        if not frames:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        return pd.concat(frames, ignore_index=True)

    def _frames(self, variable: str, final: bool) -> "Iterator[pd.DataFrame]":
        """One frame per point: a row for each policy and run, and for each time unless final."""
        for where, result in self.results():
            known = sorted(map(str, result.dataset.data_vars))
            rule = f"be one of {', '.join(known)}"
            require(variable in known, "variable", rule, variable, ResultError)
            data = result.dataset[variable]
            if final and "time" in data.dims:
                data = data.isel(time=-1, drop=True)
            frame = data.to_dataframe(variable).reset_index()
            for place, (name, value) in enumerate(where.items()):
                frame.insert(place, name, [value] * len(frame))
            yield frame

    def to_pandas(self, variable: str = "regret", *, final: bool = True) -> "pd.DataFrame":
        """One row for each point, policy and run: a variable at the end, or over time.

        Args:
            variable: a variable of the dataset.
            final: return only the last checkpoint.
        """
        import pandas as pd

        frames = list(self._frames(variable, final))
        if not frames:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        return pd.concat(frames, ignore_index=True)

    def to_polars(self, variable: str = "regret", *, final: bool = True) -> Any:
        """The rows of `to_pandas` as a Polars frame."""
        try:
            import polars
        except ModuleNotFoundError:
            raise ResultError("polars must be installed: pip install polars") from None
        return polars.from_dict(dict(self.to_pandas(variable, final=final).items()))

    def to_parquet(
        self, path: str | os.PathLike[str], variable: str = "regret", *, final: bool = True
    ) -> None:
        """Write the rows of `to_pandas` to a Parquet file, task by task to save memory.

        If the path ends with .arrow, it is a file of Arrow instead.
        """
        with needs_extra("files"):
            import pyarrow as pa

        frames = self._frames(variable, final)
        tables = (pa.Table.from_pandas(frame, preserve_index=False) for frame in frames)
        first = next(tables, None)
        if first is None:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        write_tables(path, chain([first], tables))


def compare(
    first: SweepResult,
    second: SweepResult,
    *,
    policies: tuple[str, str] | None = None,
    variable: str = "regret",
    confidence: float = 0.95,
) -> "pd.DataFrame":
    """Paired differences: one row for each common point and policy, the second minus the first.

    Runs with the same number and seed share their random numbers, so the difference has a much
    smaller error than the two means. Columns are the axes, ``policy``, ``first_mean``,
    ``second_mean``, ``difference_mean``, ``_sem``, ``_low``, ``_high`` and ``runs``.

    Args:
        first: the results of a sweep.
        second: the results of a sweep with the same axes. Only common points are compared.
        policies: a policy of the first and a policy of the second sweep. By default the common
            policies; or, if each sweep has a single policy, these two.
        variable: "regret" or "nominal_regret", at the last checkpoint.
        confidence: the confidence of the intervals (Student's t).
    """
    import pandas as pd

    confidence = as_fraction("confidence", confidence, ResultError)
    check_regret(variable)
    names = list(first.axes), list(second.axes)
    rule = f"have the axes of the first, {', '.join(names[0]) or 'none'}"
    require(names[0] == names[1], "the second sweep", rule, names[1], ResultError)
    tasks = second.index["tasks"]
    places = {tuple(second.where(key).values()): name for key, name in enumerate(tasks)}
    rows: list[dict[str, Any]] = []
    for where, mine in first.results():
        name = places.get(tuple(where.values()))
        if name is not None and second.folder.has(name):
            other = second.folder.load(name)
            for pair in _pairs(mine, other, policies):
                rows.append(where | _row(mine, other, pair, variable, confidence))
    rule = "have a finished point in common with the first"
    require(len(rows) > 0, "the second sweep", rule, str(second.folder.path), ResultError)
    return pd.DataFrame(rows)


def _pairs(
    first: SimulationResult, second: SimulationResult, policies: tuple[str, str] | None
) -> list[tuple[str, str]]:
    if policies is not None:
        for name, result in zip(policies, (first, second), strict=True):
            require_known("policy", name, result.policies, ResultError)
        return [policies]
    common = [(name, name) for name in first.policies if name in second.policies]
    if common:
        return common
    one_each = len(first.policies) == len(second.policies) == 1
    rule = f"share a policy with the first, which has {', '.join(first.policies)}"
    require(one_each, "the second sweep", rule, second.policies, ResultError)
    return [(first.policies[0], second.policies[0])]


def _row(
    first: SimulationResult,
    second: SimulationResult,
    pair: tuple[str, str],
    variable: str,
    confidence: float,
) -> dict[str, Any]:
    runs = np.intersect1d(first.dataset["run"].values, second.dataset["run"].values)
    require(runs.size > 0, "the second sweep", "have runs of the first", 0, ResultError)
    seeds = first.spec["seed"], second.spec["seed"]
    rule = f"have the first's seed {seeds[0]}, so that runs are pairs"
    require(seeds[0] == seeds[1], "the second sweep", rule, seeds[1], ResultError)
    mine, other = (
        _final(result, name, runs, variable)
        for result, name in zip((first, second), pair, strict=True)
    )
    mean, sem, low, high = (float(v) for v in mean_interval(other - mine, confidence))
    return {
        "policy": pair[0] if pair[0] == pair[1] else f"{pair[1]} against {pair[0]}",
        "first_mean": float(mine.mean()),
        "second_mean": float(other.mean()),
        "difference_mean": mean,
        "difference_sem": sem,
        "difference_low": low,
        "difference_high": high,
        "runs": int(runs.size),
    }


def _final(result: SimulationResult, name: str, runs: Any, variable: str) -> FloatArray:
    chosen = result.dataset[variable].sel(policy=name, run=runs).isel(time=-1)
    return np.ascontiguousarray(chosen.values)
