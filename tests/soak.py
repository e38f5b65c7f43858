"""How long a test is: short in every run, long in `make soak`."""

import os

SOAK = "GLOBALBANDITS_SOAK" in os.environ


def length(usual, soak):
    """A number of rounds, runs or examples."""
    return soak if SOAK else usual
