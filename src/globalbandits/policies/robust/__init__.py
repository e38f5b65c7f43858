"""Policies for curves that may be wrong, and for decisions that must be careful."""

from globalbandits.policies.robust.elastic import Elastic
from globalbandits.policies.robust.guarded import Guarded
from globalbandits.policies.robust.limited import Limited
from globalbandits.policies.robust.random_effects_thompson import RandomEffectsThompson
from globalbandits.policies.robust.safe import Safe

__all__ = ["Elastic", "Guarded", "Limited", "RandomEffectsThompson", "Safe"]
