"""``globalbandits simulate`` and ``globalbandits spec``: experiments described in files."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import typer

FAILED = 3  # exit code if some points failed


def simulate(
    spec: Annotated[Path, typer.Argument(help="TOML file of the experiment; see `spec`.")],
    out: Annotated[Path, typer.Option(help="Folder for the results, new or of the same spec.")],
    executor: Annotated[
        str,
        typer.Option(
            help="threads, processes, joblib, dask (on this machine) or dask://HOST:PORT."
        ),
    ] = "threads",
    workers: Annotated[
        int | None, typer.Option(help="Threads or processes; the number of cores by default.")
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Accept a folder of another spec; keep common results.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print a line of JSON for each event, for programs.")
    ] = False,
) -> None:
    """Simulate the experiment in a file, or every point of its sweep.

    Finished points are stored. If you repeat the command, it simulates only the missing points, and
    the files have the same bytes. Exit codes: 0 finished, 2 error in the file or the options, 3
    some points failed (the others are stored), 130 interrupted.

    [bold]Examples[/bold]

      globalbandits spec --example pricing > pricing.toml

      globalbandits simulate pricing.toml --out results/pricing

      globalbandits simulate pricing.toml --out results/pricing --executor processes --quiet
    """
    from rich.console import Console

    from globalbandits.cli.output import complain, resumable
    from globalbandits.errors import SweepError
    from globalbandits.lab.report.sweep_tables import print_sweep
    from globalbandits.simulation.sweeps import SweepResult, sweep
    from globalbandits.simulation.sweeps.sweep import JsonLines, Listener, progress_listener

    shown = not (quiet or json)
    with (
        progress_listener()
        if shown
        else nullcontext(JsonLines() if json else Listener()) as listener
    ):
        try:
            with resumable():
                sweep(spec, out, executor=executor, workers=workers, force=force, listener=listener)
        except SweepError as error:
            complain(str(error))
            raise typer.Exit(FAILED) from None
    if shown:
        print_sweep(SweepResult.load(out), Console())


def spec(
    example: Annotated[
        str | None,
        typer.Option(help="Print this example: pricing, dose, drift, bias or population."),
    ] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="Print the JSON schema of spec files, for editors.")
    ] = False,
    check: Annotated[
        Path | None, typer.Option(help="Check this file, and print the number of tasks and steps.")
    ] = None,
) -> None:
    """Print an example of a spec file or its schema, or check a file without simulating it.

    [bold]Examples[/bold]

      globalbandits spec --example pricing > pricing.toml

      globalbandits spec --check pricing.toml

      globalbandits spec --schema > spec.schema.json
    """
    import json

    from globalbandits.errors import ScenarioError
    from globalbandits.simulation.sweeps.examples import example_text
    from globalbandits.simulation.sweeps.spec import spec_schema
    from globalbandits.simulation.sweeps.sweep import plan_of

    if [example is not None, schema, check is not None].count(True) != 1:
        raise ScenarioError("spec needs one of --example, --schema and --check; see spec --help")
    if example is not None:
        sys.stdout.write(example_text(example))
    elif schema:
        print(json.dumps(spec_schema(), indent=2))
    else:
        assert check is not None
        plan = plan_of(check)
        n_steps = sum(task.n_steps for task in plan.tasks)
        axes = ", ".join(f"{axis.key} ({len(axis.values)})" for axis in plan.axes)
        print(f"{len(plan.tasks):,} tasks, {n_steps:,} steps; axes: {axes or 'none'}")
