"""`sweep`: many simulations from one spec, saved in a folder; it resumes where it stopped."""

import os
import tomllib
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from globalbandits._validation import as_integer, require
from globalbandits.errors import GlobalBanditsError, ScenarioError, SimulationError, SweepError
from globalbandits.simulation.executors import check_executor
from globalbandits.simulation.sweeps.folder import Folder
from globalbandits.simulation.sweeps.listening import Listener, progress_listener
from globalbandits.simulation.sweeps.plan import Plan, make_plan
from globalbandits.simulation.sweeps.result import SweepResult
from globalbandits.simulation.sweeps.running import run_plan

Spec = Mapping[str, Any] | str | os.PathLike[str]


def sweep(
    spec: Spec,
    out: str | os.PathLike[str],
    *,
    grid: Mapping[str, Any] | None = None,
    executor: str = "threads",
    workers: int | None = None,
    force: bool = False,
    progress: bool = False,
    listener: Listener | None = None,
) -> SweepResult:
    """Simulate every point of a spec and save the results in a folder.

    Every point is checked before the first is played. A finished point is a file named by a hash of
    all it depends on. The same call again plays only what is missing and gives the same bytes as a
    call that was never interrupted. Results do not depend on executor and workers.

    Args:
        spec: the path of a TOML file, or what it holds: ``model``, ``environment``, ``policies``,
            ``horizon``, and perhaps ``runs``, ``seed``, ``checkpoints``, ``spacing``, ``evidence``,
            ``stop`` and ``sweep``. Models, policies, noises, drifts and biases may be objects.
        out: the folder: a new or empty one, or that of the same sweep.
        grid: axes instead of the spec's ``sweep``: dotted keys to lists of values, or to dicts with
            ``from``, ``to`` and either ``step`` or ``number``.
        executor: "threads", "processes", "joblib", "dask" or "dask://HOST:PORT".
        workers: number of threads or processes; the number of cores by default.
        force: use a folder of another spec, and keep only its results that this spec has too.
        progress: show a progress bar.
        listener: receives progress events, for programs.

    >>> import tempfile, globalbandits as gb
    >>> spec = {"model": gb.demand.linear([0.4, 0.6, 0.8]), "environment": {"theta": 0.4},
    ...         "policies": ["ucb1"], "horizon": 50, "runs": 4}
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = gb.sweep(spec, folder, grid={"environment.theta": [0.2, 0.4, 0.6]})
    ...     dict(result.dataset["regret"].isel(time=-1).sizes)
    {'theta': 3, 'policy': 1, 'run': 4}
    """
    check_executor(executor)
    if workers is not None:
        workers = as_integer("workers", workers, 1, SimulationError)
    plan = plan_of(spec, grid)
    folder = Folder(out)
    with folder.lock(), ExitStack() as stack:
        folder.start(plan, force=force)
        if listener is None:
            listener = stack.enter_context(progress_listener()) if progress else Listener()
        outcome = run_plan(plan, folder, executor, workers, listener)
    if outcome.failed:
        key, reason = next(iter(outcome.failed.items()))
        where = plan.where(plan.tasks[key])
        n_failed = f"{len(outcome.failed)} of {len(plan.tasks)} tasks failed"
        raise SweepError(f"{n_failed}; the first at {where}: {reason}")
    return SweepResult.load(out)


def plan_of(spec: Spec, grid: Mapping[str, Any] | None = None) -> Plan:
    """The checked tasks of a spec; messages begin with the name of its file."""
    content, folder = read_spec(spec)
    if grid is not None:
        content = {**content, "sweep": grid}
    try:
        return make_plan(content, folder)
    except GlobalBanditsError as error:
        file = "" if isinstance(spec, Mapping) else f"{os.fspath(spec)}: "
        raise ScenarioError(f"{file}{error}") from error


def read_spec(spec: Spec) -> tuple[Mapping[str, Any], Path | None]:
    """The content of a spec, and the folder of its file."""
    if isinstance(spec, Mapping):
        return spec, None
    path = Path(spec)
    require(path.suffix == ".toml", "spec", "be a .toml file", str(spec), ScenarioError)
    try:
        return tomllib.loads(path.read_text("utf-8")), path.parent
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise ScenarioError(f"{path} must be TOML: {error}") from None
