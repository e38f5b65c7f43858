"""Policies around another policy: `Guarded`, `Limited` and `Safe`."""
