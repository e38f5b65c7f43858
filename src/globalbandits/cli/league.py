"""``globalbandits league``: every policy on every scenario, in one table."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer


def league(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this scenario, or those of a TOML file of yours; give it again for more. "
            "`list` names them all."
        ),
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="Only this policy: its label, or a policy of yours as module:Object or "
            "file.py:Object; again for more."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each scenario instead of its own number.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for page, figure and numbers.")] = Path(
        "results"
    ),
) -> None:
    """Play every policy on every scenario and say who lost least.

    Regret is scored by what is really paid, so a policy that trusts a wrong curve loses here.
    Writes league.html (a page that needs no network), league.json and a heat map.

    [bold]Examples[/bold]

      globalbandits league

      globalbandits league --scenario pricing --scenario bias_05 --runs 100

      globalbandits league --scenario list

      globalbandits league --policy WAGP --policy my_module:MyPolicy --scenario my_worlds.toml
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from globalbandits._validation import as_integer, as_seed
    from globalbandits.errors import ScenarioError
    from globalbandits.experiments.league import (
        compile_ahead,
        league_policies,
        load_scenarios,
        play_league,
    )
    from globalbandits.report.league import print_league, write_league
    from globalbandits.simulation.checkpoints import MAX_RUNS

    if runs is not None:
        as_integer("runs", runs, 2, ScenarioError, maximum=MAX_RUNS)
    as_seed(seed, ScenarioError)
    console = Console()
    if scenario == ["list"]:
        for known in load_scenarios():
            console.print(f"[bold]{known.key}[/bold]  {known.text}")
        return
    scenarios, policies = load_scenarios(scenario), league_policies(policy)
    out.mkdir(parents=True, exist_ok=True)  # a folder that cannot be written to fails at once
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compiling", total=None)

        def tick(title: str, label: str) -> None:
            progress.update(task, description=f"{title}: {label}", advance=1)

        compile_ahead(list(policies) if policy is None else policy, tick)
        progress.reset(task, total=len(scenarios) * len(policies))
        standings = play_league(scenarios, policies, runs=runs, seed=seed, tick=tick)
    about = {"command": shlex.join(["globalbandits", *sys.argv[1:]]), "seed": str(seed)}
    page = write_league(standings, about, out)
    print_league(standings, console)
    console.print(f"The page: {page}", markup=False, soft_wrap=True)
