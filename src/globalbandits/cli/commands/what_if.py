"""``globalbandits what-if``: what other policies would earn, from a log of decisions."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits._version import __version__
from globalbandits.cli.arguments import file_model, parse_parameters, without_contexts
from globalbandits.cli.log_files import arm_index, read_rows
from globalbandits.cli.output import as_json
from globalbandits.errors import PolicyError

if TYPE_CHECKING:
    from globalbandits.evidence import DecisionLog
    from globalbandits.policies.base import Policy


def what_if(
    log: Annotated[
        str,
        typer.Argument(
            help="SQLite file of the service, postgresql://user@host/database, or a CSV file with "
            "a row for every decision."
        ),
    ],
    policy: Annotated[
        list[str] | None,
        typer.Option(help="A policy, such as wagp or epsilon_greedy:epsilon=0.1; repeat it."),
    ] = None,
    always: Annotated[
        list[str] | None,
        typer.Option(help="Always this arm, such as a price; the first is compared with."),
    ] = None,
    bandit: Annotated[str | None, typer.Option(help="Which bandit of the service.")] = None,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="Decisions; as many as the log has by default.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(help="The model of a CSV file: .json, .toml or path.py:name.")
    ] = None,
    arm: Annotated[str, typer.Option(help="Column of what was played, such as price.")] = "arm",
    reward: Annotated[str, typer.Option(help="Column of what was observed.")] = "reward",
    confidence: Annotated[float, typer.Option(help="Of all intervals.")] = 0.95,
    markets: Annotated[int, typer.Option(help="How many markets to draw.")] = 400,
    seed: Annotated[int, typer.Option(help="Seed of all randomness.")] = 0,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the earnings into this .svg, .png or .pdf file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Play policies in the markets that a log allows, and compare what they earn.

    [bold]Examples[/bold]

      globalbandits what-if shop.db --always 4.99 --policy wagp --policy elastic

      globalbandits what-if sales.csv --file model.json --arm price --reward sold
      --always 4.99 --always 5.99 --plot earnings.svg
    """
    from rich.console import Console

    from globalbandits.counterfactuals import what_if as play
    from globalbandits.counterfactuals.what_if import COLUMNS
    from globalbandits.pages import text_table
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    decisions = _read(log, bandit, file, arm, reward)
    policies = _policies(policy or [], always or [], decisions.model)
    found = play(decisions, policies, horizon, confidence=confidence, markets=markets, seed=seed)
    free = {name: str(text) for name, text in found.model_free.items()}
    if json:
        facts = {
            "version": __version__,
            "horizon": found.horizon,
            "policies": found.rows(),
            "notes": list(found.notes),
            "model_free": free,
        }
        print(as_json(facts), end="")
    else:
        console = Console()
        console.print(text_table(COLUMNS, found.text_rows(), title=found.heading))
        lines = [*found.notes, *(f"{name} without curves: {text}" for name, text in free.items())]
        for line in lines:
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    if plot is not None:
        typer.echo(f"figure: {save_figure(found.plot(), plot)}", err=True)


def _read(log: str, bandit: str | None, file: str | None, arm: str, reward: str) -> "DecisionLog":
    """The decisions of a bandit, or of a CSV file."""
    from globalbandits.evidence import DecisionLog

    if not log.lower().endswith((".csv", ".csv.gz")):
        from globalbandits.service.log.archive.decision_log import read_log

        return read_log(log, bandit)
    model = without_contexts(file_model("model.json" if file is None else file))
    arms, rewards = read_rows(Path(log), arm, reward, model.arms)
    return DecisionLog(model, arms=arms, rewards=rewards)


def _policies(texts: list[str], always: list[str], model: Any) -> "dict[str, Policy]":
    """Policies by name: fixed arms first, then the others."""
    from globalbandits.policies import FixedArm

    named: dict[str, Policy] = {}
    for text in always:
        named[f"always {text}"] = FixedArm(arm=arm_index("always", text, model.arms))
    for text in texts:
        named[text] = parse_policy(text)
    if not named:
        raise PolicyError("policy must be given at least once, got none: --policy or --always")
    return named


def parse_policy(text: str) -> "Policy":
    """Return a policy from its kind and parameters.

    >>> parse_policy("epsilon_greedy:epsilon=0.2").label
    'EpsilonGreedy(epsilon=0.2)'
    """
    from globalbandits.policies.base import Policy

    kind, _, rest = text.partition(":")
    parameters = parse_parameters(rest.split(",")) if rest else {}
    return Policy.from_dict({"policy": kind.strip().replace("-", "_"), **parameters})
