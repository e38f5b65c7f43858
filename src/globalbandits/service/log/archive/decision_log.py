"""Read the decisions of a bandit for off-policy estimates and for `what_if`."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import require
from globalbandits.errors import EvidenceError, UnknownError
from globalbandits.evidence import DecisionLog
from globalbandits.model import ContextModel
from globalbandits.policies.learner.probabilities import DEFAULT_DRAWS
from globalbandits.service.log.replay import replay
from globalbandits.service.log.settings import Settings
from globalbandits.service.stores import open_store
from globalbandits.service.stores.records import DECISION, RETRACTION, BanditRow, Decision
from globalbandits.service.stores.store import Store


def read_log(db: str, bandit: str | None = None, *, draws: int = DEFAULT_DRAWS) -> DecisionLog:
    """Read the decisions of a bandit with their rewards and the probabilities of all arms.

    The probabilities are derived from the log. Retracted rewards and open decisions are left out.
    A server may be running.

    Args:
        db: the SQLite file of the service, or the address of its PostgreSQL database.
        bandit: the name of the bandit; the only one by default.
        draws: how often to draw where probabilities are not exact.

    Raises:
        UnknownError: if there is no such bandit, or several and no name is given.
    """
    store = open_store(db, read_only=True)
    try:
        return decision_log(store, the_bandit(store, bandit), draws=draws)
    finally:
        store.close()


def the_bandit(store: Store, name: str | None) -> BanditRow:
    """The bandit of this name; the only one of the store for None."""
    rows = store.bandits()
    found = [row for row in rows if name is None or row.name == name]
    if len(found) != 1:
        known = ", ".join(sorted(row.name for row in rows)) or "none"
        raise UnknownError(f"bandit must be one of {known}, got {name!r}")
    return found[0]


def decision_log(store: Store, row: BanditRow, *, draws: int = DEFAULT_DRAWS) -> DecisionLog:
    """The decisions of a bandit that have a reward, in their order."""
    learned: dict[str, float] = {}
    for event in store.events(row.id, upto=row.version):
        if event.kind == RETRACTION:
            learned.pop(event.decision, None)
        elif event.kind != DECISION:
            if event.n_rewards != 1:
                raise EvidenceError(
                    f"log must have one reward per decision, got a sum of {event.n_rewards} rewards"
                )
            learned[event.decision] = event.value
    decisions = [decision for decision in store.decisions(row.id) if decision.id in learned]
    # The newest settings have the arms of all earlier ones.
    model, _ = Settings.from_log(store.settings(row.id)[-1].body).build()
    plain = not isinstance(model, ContextModel)
    require(plain, "log", "be of a model without contexts", model, EvidenceError)
    return DecisionLog(
        model,
        arms=np.array([decision.shown for decision in decisions], np.int64),
        rewards=np.array([learned[decision.id] for decision in decisions], np.float64),
        probabilities=_probabilities(store, row, decisions, model.n_arms, draws),
    )


def _probabilities(
    store: Store, row: BanditRow, decisions: list[Decision], n_arms: int, draws: int
) -> FloatArray | None:
    """The probabilities of all arms, or of the shown ones where some had to be drawn.

    They are nan for decisions that no policy of this version made, such as imported ones.
    """
    found = replay(store, row, probability_draws=draws).probabilities
    if not found:
        return None
    if all(chances.exact for chances in found.values()):
        rows = np.full((len(decisions), n_arms), np.nan)
        for place, decision in enumerate(decisions):
            if decision.id in found:
                # Arms that were added later had no chance.
                values = found[decision.id].values
                rows[place] = np.pad(values, (0, n_arms - len(values)))
        return rows
    shown = np.full(len(decisions), np.nan)
    for place, decision in enumerate(decisions):
        if decision.id in found:
            shown[place] = found[decision.id].of_chosen(decision.shown)
    return shown
