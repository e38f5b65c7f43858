"""Policies around another policy: a fallback, limits on arms, a floor and a ceiling."""
