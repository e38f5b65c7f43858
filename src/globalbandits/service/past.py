"""A past decision, made again."""

from typing import NamedTuple

from globalbandits.policies.learner import Explanation
from globalbandits.service.bandit import Bandit, Choice
from globalbandits.service.loading import load
from globalbandits.service.settings import Settings
from globalbandits.service.stores.base import Store
from globalbandits.service.stores.records import Decision


class Past(NamedTuple):
    """A past decision, made again from the state it was made in."""

    decision: Decision
    choice: Choice
    explanation: Explanation
    settings: Settings


def make_again(store: Store, bandit: Bandit, decision: Decision) -> Past:
    """A decision of a bandit, from the state it was made in."""
    row = bandit.row._replace(version=max(decision.version, bandit.version))
    then = load(store, row, at=(decision.version, decision.settings), compiled=bandit.compiled)
    return Past(decision, then.choose(decision.key), then.explain(decision.key), then.settings)
