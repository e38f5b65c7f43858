"""``globalbandits warm``: compile policies before their first use."""

from typing import Annotated

import typer


def warm(
    policy: Annotated[
        list[str] | None,
        typer.Argument(
            help="Policies by their label in the league, or module:Object for your own; all by "
            "default."
        ),
    ] = None,
) -> None:
    """Compile policies for the simulator and for live learners, and store the code on disk.

    Later processes load the stored code in a moment. To prepare a container image, set
    GLOBALBANDITS_CACHE_DIR to a folder inside the image, and run the command on the same kind of
    processor as the container.

    [bold]Examples[/bold]

      globalbandits warm

      globalbandits warm WAGP UCB1

      globalbandits warm my_package.policies:Careful
    """
    import time

    from globalbandits.compiling.cache import VARIABLE, usable_folder
    from globalbandits.errors import SimulationError
    from globalbandits.lab.league import league_policies
    from globalbandits.simulation.compile_ahead import warm as warm_policies

    policies = league_policies(policy or None)
    try:
        folder = usable_folder()
    except OSError as error:
        text = f"be a folder that can be made, got {error.filename!r}: {error.strerror}"
        raise SimulationError(f"{VARIABLE} must {text}") from None
    if folder is None:
        raise SimulationError(
            f"{VARIABLE} must be a folder that only you can write to, got one for compiled code "
            "that is not"
        )
    begun = time.perf_counter()
    warm_policies(list(policies.values()))
    n = len(policies)
    what = "1 policy is" if n == 1 else f"{n} policies are"
    print(f"{what} ready after {time.perf_counter() - begun:.0f} s, in {folder}")
