"""The program ``globalbandits`` and its commands."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from globalbandits._version import __version__
from globalbandits.cli import output
from globalbandits.cli.commands.advise import advise
from globalbandits.cli.commands.analyze import analyze
from globalbandits.cli.commands.fit import fit
from globalbandits.cli.commands.league import league
from globalbandits.cli.commands.logs import copy, export, import_log, prune, replay
from globalbandits.cli.commands.reproduce import reproduce
from globalbandits.cli.commands.serve import serve, token_app
from globalbandits.cli.commands.show import compare, show
from globalbandits.cli.commands.simulate import simulate, spec
from globalbandits.cli.commands.trial import trial
from globalbandits.cli.commands.warm import warm
from globalbandits.cli.commands.what_if import what_if
from globalbandits.errors import GlobalBanditsError

# One function per command. The heavy imports of a command are inside its function.
COMMANDS = (
    reproduce,
    analyze,
    advise,
    what_if,
    league,
    simulate,
    spec,
    show,
    compare,
    trial,
    fit,
    serve,
    replay,
    export,
    import_log,
    copy,
    prune,
    warm,
)
# `import` is a keyword, so the function has another name.
NAMES = {"import_log": "import", "what_if": "what-if"}

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
for command in COMMANDS:
    app.command(NAMES.get(command.__name__))(command)
app.add_typer(token_app, name="token")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"globalbandits {__version__}")
        raise typer.Exit


@app.callback()
def globalbandits(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Decisions from known curves with a few unknown numbers in them."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    An error that the user can correct prints one line and gives exit code 2. If standard output is
    closed or ends early, the exit code is 1 and there is no message.
    """
    output.make_safe()
    code = 1
    try:
        code = _run(arguments)
        output.flush()
        if code == 0 and not output.is_open(sys.stdout):
            code = 1
    except BrokenPipeError:
        code = 1
    except OSError as error:  # for example a full disk
        code = 2
        output.complain(str(error))
    finally:
        output.abandon()
    sys.exit(code)


def _run(arguments: Sequence[str] | None) -> int:
    """Run a command and return its exit code."""
    try:
        app(args=arguments, prog_name="globalbandits")
    except SystemExit as stop:  # every command ends with it
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BrokenPipeError:
        raise
    except (GlobalBanditsError, OSError) as error:
        from globalbandits.plots.labels import escape_controls

        output.complain(escape_controls(str(error)))
        return 2
    return 0
