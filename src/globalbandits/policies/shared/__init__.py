"""Building blocks of several policies. Nothing here imports a policy."""
