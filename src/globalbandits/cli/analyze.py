"""``globalbandits analyze``: what is known about a model before any decision."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits.cli.values import parse_arms, parse_domain, parse_parameters
from globalbandits.errors import ScenarioError

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


def analyze(
    model: Annotated[
        str | None,
        typer.Option(help="Name in the catalogues, such as linear-power, or three-arms."),
    ] = None,
    arms: Annotated[
        str | None, typer.Option(help="Arms: first:last:step, or a list with commas.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="Parameter of the catalogue's model, key=value; may be repeated."),
    ] = None,
    domain: Annotated[
        str | None, typer.Option(help="Interval the parameter θ lies in: low:high.")
    ] = None,
    file: Annotated[
        str | None, typer.Option(help="Your own RewardModel instead: path.py:name.")
    ] = None,
    theta: Annotated[
        float | None, typer.Option(help="Also show gap and distance at this parameter.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the model into this .svg, .png or .pdf file.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Show a model's arms, regions, constants and hardest parameters.

    [bold]Examples[/bold]

      globalbandits analyze --model linear-power --arms 0.4:0.95:0.05

      globalbandits analyze --model three-arms --theta 0.5 --plot three-arms.svg

      globalbandits analyze --model emax --arms 1,2,5,10 --parameter penalty=0.03 --json

      globalbandits analyze --file examples/newsletter.py:model
    """
    from globalbandits.cli.facts import model_facts
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    chosen, name = _choose(model, arms, parameter or [], domain, file)
    facts = model_facts(chosen, name, theta)
    if json:
        _print_json(facts)
    else:
        from rich.console import Console

        from globalbandits.cli.tables import print_facts

        print_facts(facts, Console(highlight=False, markup=False, emoji=False))
    if plot is not None:
        from globalbandits.cli.picture import draw_model

        written = save_figure(draw_model(chosen, name, theta), plot)
        typer.echo(f"figure: {written}", err=True)


def _choose(
    model: str | None, arms: str | None, parameter: list[str], domain: str | None, file: str | None
) -> "tuple[RewardModel, str]":
    from globalbandits.cli.models import catalogue_model, file_model

    if (model is None) == (file is None):
        raise ScenarioError("analyze needs either --model or --file; see analyze --help")
    if file is not None:
        if arms or parameter or domain:
            raise ScenarioError("--arms, --parameter and --domain belong to --model, not to --file")
        return file_model(file), file
    assert model is not None
    parameters = parse_parameters(parameter)
    if domain is not None:
        parameters["domain"] = parse_domain(domain)
    return catalogue_model(model, None if arms is None else parse_arms(arms), parameters), model


def _print_json(facts: dict[str, Any]) -> None:
    import json

    # Arms may be any values of the user's; what JSON cannot hold is shown as Python writes it.
    print(json.dumps(facts, indent=2, default=repr, ensure_ascii=False, allow_nan=False))
