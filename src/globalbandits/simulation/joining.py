"""Join results that hold different runs of the same simulation."""

from collections.abc import Sequence
from typing import Any

from globalbandits._validation import as_list, require
from globalbandits.errors import ResultError
from globalbandits.simulation.result import SimulationResult

_MAY_DIFFER = {"runs", "first_run", "made_with"}


def concat(results: Sequence[SimulationResult]) -> SimulationResult:
    """Join results of the same simulation with different runs: shards, or a continued one.

    The joined result equals that of a single simulation of all the runs. The results must agree in
    everything but their runs and the machines they were made on, which are listed in
    ``spec["made_with"]``.

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
    # Variables without an axis of runs, such as true means, are the same in all shards.
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
    """Raise if two results are of different simulations; the message says what differs."""
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
