"""``globalbandits show`` and ``globalbandits compare``: results of sweeps."""

from pathlib import Path
from typing import Annotated

import typer

from globalbandits.cli.output import as_json

Folder = Annotated[Path, typer.Argument(help="Folder of a sweep.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Everything = Annotated[bool, typer.Option("--all", help="Show all rows.")]


def show(
    folder: Folder,
    everything: Everything = False,
    json: AsJson = False,
    parquet: Annotated[
        Path | None, typer.Option(help="Write a row per point, policy and run into this file.")
    ] = None,
    csv: Annotated[Path | None, typer.Option(help="The same into a CSV file.")] = None,
    variable: Annotated[str, typer.Option(help="Which variable these files hold.")] = "regret",
) -> None:
    """Show the progress of a sweep, and the regret of every policy at every finished point.

    [bold]Examples[/bold]

      globalbandits show results/pricing

      globalbandits show results/pricing --parquet regret.parquet
    """
    from rich.console import Console

    from globalbandits._files import replacing
    from globalbandits.lab.report.sweep_tables import print_sweep, state_of
    from globalbandits.simulation.sweeps import SweepResult

    result = SweepResult.load(folder)
    if parquet is not None:
        result.to_parquet(parquet, variable)
    if csv is not None:
        with replacing(csv) as temporary:
            result.to_pandas(variable).to_csv(temporary, index=False)
    if json:
        some = len(result.missing) < result.n_tasks
        rows = result.summary().to_dict("records") if some else []
        found = {
            "state": state_of(result),
            "tasks": result.n_tasks,
            "missing": result.missing,
            "summary": rows,
        }
        print(as_json(found), end="")
    else:
        print_sweep(result, Console(), everything=everything)


def compare(
    first: Folder,
    second: Folder,
    policies: Annotated[
        str | None,
        typer.Option(help="A policy of the first and one of the second, with a comma between."),
    ] = None,
    everything: Everything = False,
    json: AsJson = False,
) -> None:
    """Compare two sweeps: regret of the second minus that of the first, with 95 % intervals.

    Runs are paired: runs with the same seed share their random numbers.

    [bold]Examples[/bold]

      globalbandits compare results/today results/tomorrow

      globalbandits compare results/a results/b --policies WAGP,Elastic
    """
    from rich.console import Console

    from globalbandits.errors import ScenarioError
    from globalbandits.lab.report.sweep_tables import print_comparison
    from globalbandits.simulation.sweeps import SweepResult
    from globalbandits.simulation.sweeps.sweep_result import compare as compare_sweeps

    pair = None
    if policies is not None:
        one, comma, other = policies.partition(",")
        if not (one and comma and other):
            raise ScenarioError(
                f"policies must be two names with a comma between, got {policies!r}"
            )
        pair = one.strip(), other.strip()
    frame = compare_sweeps(SweepResult.load(first), SweepResult.load(second), policies=pair)
    if json:
        print(as_json(frame.to_dict("records")), end="")
    else:
        print_comparison(frame, Console(), everything=everything)
