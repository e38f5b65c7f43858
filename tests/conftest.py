"""Settings shared by all tests."""

import math

import pytest
from hypothesis import settings

# The same examples in every run: a red build can be repeated, a green one means the same twice.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")


@pytest.fixture(autouse=True, scope="session")
def nothing_compiled_in_the_background():
    """Learners of long tests would start other processes; tests of that have processes too."""
    from globalbandits.policies.learner import workshop

    workshop.PRICE_OF_COMPILING = math.inf
