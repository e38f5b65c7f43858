"""Settings shared by all tests."""

from hypothesis import settings

# The same examples in every run: a red build can be repeated, a green one means the same twice.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile("steady")
