"""One noise of each kind of ours. The registry finds them, so a new one is in every test."""

import globalbandits.environments  # noqa: F401, the noises are registered when it is imported
from globalbandits._registry import registered


def our_noises(parameters=None):
    """Our noises by kind, with these parameters by kind and defaults for the others."""
    given = parameters or {}
    return {
        kind: noise(**given.get(kind, {}))
        for kind, noise in registered("noise").items()
        if noise.__module__.startswith("globalbandits.")
    }
