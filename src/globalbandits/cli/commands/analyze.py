"""``globalbandits analyze``: properties of a model before any decision."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from globalbandits._objects import line_in
from globalbandits.cli.arguments import (
    file_model,
    formula_model,
    named_model,
    parse_arms,
    parse_domain,
    parse_parameters,
    parse_theta,
)
from globalbandits.cli.output import as_json
from globalbandits.errors import GlobalBanditsError, ScenarioError

if TYPE_CHECKING:
    from globalbandits.model import AnyModel, ContextModel

_MAX_CONTEXTS = 20  # shown in one call


def analyze(
    model: Annotated[
        str | None,
        typer.Option(help="Name in the catalogues, such as linear-power, or three-arms."),
    ] = None,
    mean: Annotated[
        str | None,
        typer.Option(help="A formula of theta and arm instead, such as 'arm * exp(-arm*theta)'."),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(help="With --mean: what a decision is worth, a formula of mean and arm."),
    ] = None,
    arms: Annotated[
        str | None, typer.Option(help="Arms: first:last:step, or a list with commas.")
    ] = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(help="Parameter of the catalogue's model, key=value; may be repeated."),
    ] = None,
    cost: Annotated[
        float | None,
        typer.Option(help="What a sold unit costs: sales are observed, profit counts."),
    ] = None,
    target: Annotated[
        float | None,
        typer.Option(help="The response that is best, such as 0.25: the nearest dose counts."),
    ] = None,
    domain: Annotated[
        str | None,
        typer.Option(
            help="Interval of the parameter θ, low:high; or of several, level=0:1,slope=0:2."
        ),
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="A model file instead, .json or .toml; or your RewardModel, path.py:name."
        ),
    ] = None,
    theta: Annotated[
        str | None,
        typer.Option(
            help="Also show the best arm at this parameter; several as level=0.1,slope=0.3."
        ),
    ] = None,
    context: Annotated[
        str | None,
        typer.Option(help="Of a model with contexts: only this one; all of them by default."),
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

      globalbandits analyze --model exponential --arms 2:8:1 --cost 1.5 --plot shop.svg

      globalbandits analyze --model logistic --arms 1:6:1 --target 0.25

      globalbandits analyze --model emax --arms 1,2,5,10 --parameter penalty=0.03 --json

      globalbandits analyze --mean "arm * (1 - arm*theta)**2" --arms 0.4:0.95:0.05

      globalbandits analyze --model exponential --arms 2:8:1 --cost 1.5 --parameter level=0.02:0.2

      globalbandits analyze --mean "level*exp(-slope*arm)" --arms 2:8:1 --domain level=0:1,slope=0:2

      globalbandits analyze --file model.json

      globalbandits analyze --file examples/newsletter.py:model
    """
    from globalbandits.cli.model_facts import facts_of
    from globalbandits.plots import check_figure_path, save_figure

    if plot is not None:
        check_figure_path(plot)
    # The user's functions are called before the first output, so that an error prints nothing else.
    with _code_of(file):
        options = {"cost": cost, "target": target}
        chosen, name = _choose(model, mean, value, arms, parameter or [], options, domain, file)
        at = None if theta is None else parse_theta(theta)
        models = _by_context(chosen, name, context)
        if plot is not None and len(models) > 1:
            raise ScenarioError("context must be given for a figure of a model with contexts")
        facts = {title: facts_of(one, title, at) for title, one in models.items()}
        if json:
            text = as_json(facts if len(facts) > 1 else facts[next(iter(facts))])
        else:
            text = "\n".join(_as_tables(one) for one in facts.values())
        if plot is not None:
            ((title, drawn),) = models.items()
            figure = drawn.plot(at, title=title)
    print(text, end="")
    if plot is not None:
        written = save_figure(figure, plot)
        typer.echo(f"figure: {written}", err=True)


@contextmanager
def _code_of(file: str | None) -> Iterator[None]:
    """Turn any exception in the user's file into an error message of one line.

    SystemExit is included, because a file that ends the program must not look like success.
    """
    try:
        yield
    except GlobalBanditsError:
        raise
    except (Exception, SystemExit) as error:
        if file is None:
            raise
        path = file if file.endswith(".py") else file.rpartition(":")[0]
        what = f"{type(error).__name__}: {error}{line_in(path, error)}"
        raise ScenarioError(f"{path} cannot be used: {what}") from error


def _choose(
    model: str | None,
    mean: str | None,
    value: str | None,
    arms: str | None,
    parameter: list[str],
    options: dict[str, float | None],
    domain: str | None,
    file: str | None,
) -> "tuple[AnyModel | ContextModel, str]":
    if [model, mean, file].count(None) != 2:
        raise ScenarioError("analyze needs one of --model, --mean and --file; see analyze --help")
    given = {key: number for key, number in options.items() if number is not None}
    if value is not None and mean is None:
        raise ScenarioError("--value belongs to --mean; a catalogue has --cost and --target")
    if file is not None:
        if arms or parameter or given or domain:
            raise ScenarioError(
                "--arms, --parameter, --cost, --target and --domain belong to --model, "
                "not to --file"
            )
        return file_model(file), file
    parameters = parse_parameters(parameter)
    for key, number in given.items():
        if key in parameters:
            raise ScenarioError(f"{key} must be given once, got --{key} and --parameter {key}=")
        parameters[key] = number
    if domain is not None:
        named = "=" in domain
        parameters["domain"] = (
            parse_parameters(domain.split(",")) if named else parse_domain(domain)
        )
    values = None if arms is None else parse_arms(arms)
    if mean is not None:
        if value is not None:
            parameters["value"] = value
        return formula_model(mean, values, parameters), mean
    assert model is not None
    return named_model(model, values, parameters), model


def _by_context(
    model: "AnyModel | ContextModel", name: str, context: str | None
) -> "dict[str, AnyModel]":
    """The models to analyse by their titles: one for each context, or the model itself."""
    from globalbandits.model import ContextModel

    if not isinstance(model, ContextModel):
        if context is not None:
            raise ScenarioError(f"context must be left out for a model without any, got {context}")
        return {name: model}
    chosen = model.contexts if context is None else (context,)
    if len(chosen) > _MAX_CONTEXTS:
        raise ScenarioError(
            f"context must be given for a model with more than {_MAX_CONTEXTS}, got {len(chosen)}"
        )
    return {f"{name}, {one}": model.in_context(one) for one in chosen}


def _as_tables(facts: dict[str, Any]) -> str:
    from rich.console import Console

    from globalbandits.cli.model_facts import print_facts

    console = Console(highlight=False, markup=False, emoji=False)
    with console.capture() as captured:
        print_facts(facts, console)
    return captured.get()
