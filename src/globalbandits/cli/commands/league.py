"""``globalbandits league``: every policy on every scenario, in one table."""

import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

Tick = Callable[[str, str], None]
Restart = Callable[[int], None]


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
    random: Annotated[
        int | None,
        typer.Option(help="Instead of the scenarios, play this many worlds drawn by the seed."),
    ] = None,
    horizon: Annotated[
        int | None,
        typer.Option(help="Decisions in each random world; by default each draws its own."),
    ] = None,
    mixture: Annotated[
        str | None,
        typer.Option(
            help="Random worlds to draw: all (the default), only general ones, only those with "
            "the conversion rates of shops and trials (conversion), or those with two unknown "
            "numbers, which are not part of all (two_numbers)."
        ),
    ] = None,
    runs: Annotated[
        int | None, typer.Option(help="Runs of each scenario or world instead of its own number.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option(
            help="Seed of all randomness; with --random, of the first world. Our constants were "
            "chosen on seeds below 1,000."
        ),
    ] = 0,
    out: Annotated[Path, typer.Option(help="Folder for page, figure, numbers and games.")] = Path(
        "results"
    ),
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Play games again that are in the folder.")
    ] = False,
) -> None:
    """Play every policy on every scenario and rank them by regret.

    Regret is measured by the true means, so a policy that trusts a wrong curve loses here.
    Games are stored in the folder. The same command continues where it stopped, and a command
    with more policies, scenarios or worlds plays only the new games.
    Writes league.html (a page that needs no network), league.json and a heat map; with --random
    unseen.html and unseen.json.

    [bold]Examples[/bold]

      globalbandits league

      globalbandits league --scenario pricing --scenario bias_05 --runs 100

      globalbandits league --scenario list

      globalbandits league --policy WAGP --policy my_module:MyPolicy --scenario my_worlds.toml

      globalbandits league --random 100 --seed 10000 --horizon 1000

      globalbandits league --random 100 --seed 10000 --mixture conversion
    """
    from rich.console import Console

    from globalbandits._validation import as_integer, as_seed, require
    from globalbandits.cli.output import resumable
    from globalbandits.errors import ScenarioError
    from globalbandits.lab.league import load_scenarios
    from globalbandits.simulation.checkpoints import MAX_RUNS

    if runs is not None:
        as_integer("runs", runs, 2, ScenarioError, maximum=MAX_RUNS)
    as_seed(seed, ScenarioError)
    if random is None:
        require(horizon is None, "horizon", "come with --random", horizon, ScenarioError)
        require(mixture is None, "mixture", "come with --random", mixture, ScenarioError)
    else:
        rule = "not be given with --random"
        require(scenario is None, "scenario", rule, scenario, ScenarioError)
    console = Console()
    if scenario == ["list"]:
        for known in load_scenarios():
            console.print(f"[bold]{known.key}[/bold]  {known.text}")
        return
    about = {"command": shlex.join(["globalbandits", *sys.argv[1:]]), "seed": str(seed)}
    with resumable():
        if random is None:
            page = _play(scenario, policy, runs, seed, out, fresh, about, console)
        else:
            page = _play_unseen(
                random, horizon, mixture or "all", policy, runs, seed, out, fresh, about, console
            )
    console.print(f"The page: {page}", markup=False, soft_wrap=True)


def _play(
    scenario: list[str] | None,
    policy: list[str] | None,
    runs: int | None,
    seed: int,
    out: Path,
    fresh: bool,
    about: dict[str, str],
    console: "Console",
) -> Path:
    from globalbandits._validation import as_folder
    from globalbandits.errors import ScenarioError
    from globalbandits.lab.league import (
        Games,
        compile_ahead,
        league_policies,
        load_scenarios,
        play_league,
    )
    from globalbandits.lab.report.league_report import print_league, write_league

    scenarios, policies = load_scenarios(scenario), league_policies(policy)
    as_folder("out", out, ScenarioError)  # raises an error before the first game
    with _progress() as (tick, restart):
        compile_ahead(list(policies) if policy is None else policy, tick)
        restart(len(scenarios) * len(policies))
        games = Games(out / "games", fresh=fresh)
        standings = play_league(scenarios, policies, runs=runs, seed=seed, tick=tick, games=games)
    page = write_league(standings, about, out)
    print_league(standings, console)
    return page


def _play_unseen(
    number: int,
    horizon: int | None,
    mixture: str,
    policy: list[str] | None,
    runs: int | None,
    seed: int,
    out: Path,
    fresh: bool,
    about: dict[str, str],
    console: "Console",
) -> Path:
    from globalbandits._validation import as_folder
    from globalbandits.errors import ScenarioError
    from globalbandits.lab.league import Games, draw_worlds, play_unseen, unseen_players
    from globalbandits.lab.report.league_report import print_unseen, write_unseen

    players = unseen_players(policy)
    with _progress() as (tick, restart):
        restart(number)
        worlds = draw_worlds(number, seed, horizon, tick, mixture=mixture)
        as_folder("out", out, ScenarioError)
        restart(len(worlds) * len(players))
        games = Games(out / "games", fresh=fresh)
        played = play_unseen(worlds, players, runs=runs, tick=tick, games=games)
    page = write_unseen(played, about, out)
    print_unseen(played, console)
    return page


@contextmanager
def _progress() -> Iterator[tuple[Tick, Restart]]:
    """Show a progress bar; yield a function to call before each game, and one to restart it."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("games"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("compiling", total=None)

        def tick(title: str, label: str) -> None:
            progress.update(task, description=f"{title}: {label}", advance=1)

        def restart(total: int) -> None:
            progress.reset(task, total=total)

        yield tick, restart
