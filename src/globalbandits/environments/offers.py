"""What can be played when: the contexts that come, and the arms that are available."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_float, require
from globalbandits.errors import ScenarioError

# Smallest chance of the arm that is available most often. Rarer offers need a schedule.
MIN_CHANCE = 0.001


class OfferLaw(NamedTuple):
    """The law of contexts and available arms. A round offers the available arms of its context.

    Attributes:
        n_contexts: number of contexts; 1 for a model without contexts.
        n_arms: number of arms in each context.
        chances: (n_contexts,) how often each context comes; empty with a schedule.
        schedule: (n,) contexts in turn; empty with chances.
        available: (n_contexts, n_arms) chances of the arms; empty if they are given otherwise.
        rows: (n, n_arms) available arms in turn; empty if they are given otherwise.
        function: returns the available arms of a time, counted from 1; None otherwise.
    """

    n_contexts: int
    n_arms: int
    chances: FloatArray
    schedule: IntArray
    available: FloatArray
    rows: BoolArray
    function: Callable[[int], Any] | None

    @property
    def n_uniforms(self) -> int:
        """Uniform numbers that a round needs."""
        return int(self.chances.size > 1) + int(self.available.shape[1])

    @property
    def always_all(self) -> bool:
        """Whether all arms of a context are always available."""
        return self.available.size == 0 and self.rows.size == 0 and self.function is None


def as_offer_law(
    contexts: Any, available: Any, names: Sequence[str], n_arms: int
) -> OfferLaw | None:
    """Check the two arguments of an environment; None if everything can always be played.

    Args:
        contexts: shares of the contexts by name, or names in turn; None for equal shares.
        available: a chance, chances of the arms, available arms in turn, or a function of time.
        names: the names of the model's contexts; empty if it has none.
        n_arms: number of arms in each context.
    """
    if not names:
        rule = "be None for a model without contexts"
        require(contexts is None, "contexts", rule, contexts, ScenarioError)
        if available is None:
            return None
    n_contexts = max(1, len(names))
    chances, schedule = np.ones(1), np.zeros(0, np.int64)
    if names:
        chances, schedule = _as_contexts(contexts, names)
    law = OfferLaw(
        n_contexts=n_contexts,
        n_arms=n_arms,
        chances=chances,
        schedule=schedule,
        available=np.zeros((0, 0)),
        rows=np.zeros((0, 0), np.bool_),
        function=None,
    )
    if available is None:
        return law
    if callable(available):
        as_available_arms(available(1), n_arms, 1)
        return law._replace(function=available)
    return _with_available(law, available)


def _as_contexts(contexts: Any, names: Sequence[str]) -> tuple[FloatArray, IntArray]:
    none = np.zeros(0, np.int64)
    if contexts is None:
        return np.full(len(names), 1.0 / len(names)), none
    known = ", ".join(repr(name) for name in names[:20]) + (", ..." if len(names) > 20 else "")
    if isinstance(contexts, Mapping):
        for name in contexts:
            require(name in names, "contexts", f"be among {known}", name, ScenarioError)
        shares = [
            as_float(f"contexts[{name!r}]", contexts.get(name, 0.0), ScenarioError)
            for name in names
        ]
        valid = min(shares) >= 0.0 and abs(sum(shares) - 1.0) <= 1e-6
        require(valid, "contexts", "have shares that sum to 1", contexts, ScenarioError)
        return np.array(shares) / sum(shares), none
    rule = f"be a dict of shares, or names in turn, of {known}"
    listed = isinstance(contexts, Sequence) and not isinstance(contexts, str) and len(contexts) > 0
    require(listed, "contexts", rule, contexts, ScenarioError)
    for name in contexts:
        require(name in names, "contexts", rule, name, ScenarioError)
    return np.zeros(0), np.array([list(names).index(name) for name in contexts], np.int64)


def _with_available(law: OfferLaw, available: Any) -> OfferLaw:
    rule = (
        "be a chance, one chance per arm, rows of True and False per arm in turn, or a function "
        "of time"
    )
    try:
        array = np.asarray(available)
    except ValueError:
        array = np.empty(0, object)
    if array.dtype == np.bool_:
        fits = array.ndim == 2 and array.shape[1] == law.n_arms and array.shape[0] > 0
        require(fits, "available", rule, available, ScenarioError)
        empty = np.flatnonzero(~array.any(axis=1))
        where = f"row {empty[0]}" if empty.size else None
        require(where is None, "available", "have an arm in every row", where, ScenarioError)
        return law._replace(rows=array.copy())
    fits = array.dtype.kind in "iuf" and array.shape in (
        (),
        (law.n_arms,),
        (law.n_contexts, law.n_arms),
    )
    require(fits, "available", rule, available, ScenarioError)
    chances = np.broadcast_to(array.astype(float), (law.n_contexts, law.n_arms)).copy()
    inside = bool(((chances >= 0.0) & (chances <= 1.0)).all())
    require(inside, "available", "be chances in [0, 1]", available, ScenarioError)
    often = bool((chances.max(axis=1) >= MIN_CHANCE).all())
    least = f"have a chance of at least {MIN_CHANCE} in every context"
    require(often, "available", least, available, ScenarioError)
    return law._replace(available=chances)


def as_available_arms(found: Any, n_arms: int, time: int) -> BoolArray:
    """Check what a function of time returned: True or False for every arm, or indices of arms."""
    array = np.asarray(found)
    rule = f"return one True or False per arm, or indices of arms, at time {time}"
    if array.dtype == np.bool_ and array.shape == (n_arms,):
        row = array
    else:
        valid = array.ndim == 1 and array.dtype.kind in "iu" and array.size > 0
        valid = valid and bool(((array >= 0) & (array < n_arms)).all())
        require(valid, "available", rule, found, ScenarioError)
        row = np.zeros(n_arms, np.bool_)
        row[array] = True
    require(bool(row.any()), "available", f"leave an arm at time {time}", found, ScenarioError)
    return row


def describe_offers(law: OfferLaw, names: Sequence[str]) -> dict[str, Any]:
    """Return the law as plain values."""
    found: dict[str, Any] = {}
    if names:
        found["contexts"] = (
            [names[place] for place in law.schedule.tolist()]
            if law.schedule.size
            else dict(zip(names, law.chances.tolist(), strict=True))
        )
    if law.available.size:
        found["available"] = law.available.tolist()
    elif law.rows.size:
        found["available"] = law.rows.tolist()
    elif law.function is not None:
        found["available"] = "a function of time"
    return found
