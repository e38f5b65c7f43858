"""Results of sweeps: one dataset with the sweep's axes, and tables."""

import dataclasses
import json
import os
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._files import replacing
from globalbandits._validation import require
from globalbandits.errors import ResultError
from globalbandits.simulation.result import SimulationResult
from globalbandits.simulation.sweeps.folder import Folder

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

# Keys of a spec whose values change the sizes of results.
_SIZE_KEYS = frozenset({"model", "horizon", "runs", "checkpoints"})


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class SweepResult:
    """The results of a sweep, finished or not. Files are read when their values are used.

    Args:
        folder: the folder of the sweep.
        index: its spec, axes and task names.
    """

    folder: Folder
    index: dict[str, Any]

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "SweepResult":
        """The results in a folder; raise `ResultError` if it holds no sweep."""
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
        """One dataset, the sweep's axes first. A file is read when its values are used.

        Where tasks differ in arms, checkpoints or policies, the shorter ones are padded with nan
        (integers with -1, texts with ""), and the variables ``arm_of``, ``time_of`` and
        ``policy_of`` hold the values. Variables that a task does not have, and points that are not
        finished, are padded too. Select before you compute:
        ``result.dataset["regret"].sel(theta=0.4).isel(time=-1)`` reads one file.
        """
        from globalbandits.simulation.sweeps.stacking import stack_tasks

        finished = [k for k, name in enumerate(self.index["tasks"]) if self.folder.has(name)]
        if not finished:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        telling = finished[:1] if self._is_uniform() else finished
        data = stack_tasks(self._read, self.axes, telling)
        return data.assign_attrs(spec=json.dumps(self.spec))

    def _is_uniform(self) -> bool:
        """Whether the axes imply that all tasks have the same variables, sizes and coordinates."""
        return all(
            axis["key"].partition(".")[0] not in _SIZE_KEYS
            and all(isinstance(value, (int, float)) for value in axis["values"])
            for axis in self.index["axes"]
        )

    def summary(self, baseline: str | None = None, confidence: float = 0.95) -> "pd.DataFrame":
        """One row for each point and policy: mean regret with its interval, as of one result."""
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
        """Point by point: a row for each policy and run, and time unless it is the last."""
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
            final: only the last checkpoint.
        """
        import pandas as pd

        frames = list(self._frames(variable, final))
        if not frames:
            raise ResultError(f"{self.folder.path} has no finished task yet")
        return pd.concat(frames, ignore_index=True)

    def to_polars(self, variable: str = "regret", *, final: bool = True) -> Any:
        """The same rows as a Polars frame."""
        polars = _import_optional("polars")
        return polars.from_dict(dict(self.to_pandas(variable, final=final).items()))

    def to_parquet(
        self, path: str | os.PathLike[str], variable: str = "regret", *, final: bool = True
    ) -> None:
        """The same rows into a Parquet file, task by task, so that memory stays small."""
        pa, pq = _import_optional("pyarrow"), _import_optional("pyarrow.parquet")
        writer = None
        with replacing(path) as temporary:
            try:
                for frame in self._frames(variable, final):
                    table = pa.Table.from_pandas(frame, preserve_index=False)
                    if writer is None:
                        writer = pq.ParquetWriter(temporary, table.schema)
                    writer.write_table(table.cast(writer.schema))
                if writer is None:
                    raise ResultError(f"{self.folder.path} has no finished task yet")
            finally:
                if writer is not None:
                    writer.close()


def _import_optional(name: str) -> Any:
    """Import a module of an optional package."""
    try:
        return import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        text = f"these rows need the package {package}: pip install {package}"
        raise ResultError(text) from None
