"""One policy of each kind of ours. The registry finds them, so a new one is in every test."""

from globalbandits.policies import registered

# Parameters without defaults.
REQUIRED = {"nonstationary_wagp": {"half_window": 25}}


def our_policies(parameters=None):
    """Our policies by kind, with these parameters by kind and defaults for the others."""
    given = REQUIRED | (parameters or {})
    return {
        kind: policy(**given.get(kind, {}))
        for kind, policy in registered().items()
        # Its rules are for dose models with a target; tests/trial has its tests.
        if policy.__module__.startswith("globalbandits.") and kind != "cohort_design"
    }
