"""The model of contexts: arms whose mean rewards also depend on a known, named context.

A context is a segment, such as a country, a weekday or a group of patients. The unknown numbers are
the same in all contexts. An arm in a context is a *cell*. `ContextModel.cells` is an ordinary model
with one arm for every cell, all arms of the first context first. Policies, evidence and the
simulator work on cells.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require, show
from globalbandits.errors import ModelError
from globalbandits.model.analysis.functions import as_function
from globalbandits.model.description import save_description
from globalbandits.model.formulas import Expression
from globalbandits.model.inputs import as_arms
from globalbandits.plots.labels import counted

# Cells that a model may have.
MAX_CELLS = 100_000


def as_contexts(contexts: Any) -> dict[str, Any]:
    """Return the value that functions get for every context, by its name.

    >>> as_contexts(["weekday", "weekend"]), as_contexts({"adult": 1.0})
    ({'weekday': 'weekday', 'weekend': 'weekend'}, {'adult': 1.0})
    """
    rule = "be names of contexts, or a dict from names to the values that functions get"
    named = isinstance(contexts, Mapping)
    iterable = isinstance(contexts, Iterable) and not isinstance(contexts, str | bytes)
    require(iterable, "contexts", rule, contexts, ModelError)
    names = list(contexts)
    require(len(names) > 0, "contexts", "have at least one name", contexts, ModelError)
    for name in names:
        text = isinstance(name, str) and bool(name)
        require(text, "contexts", "have texts as names", name, ModelError)
    require(len(set(names)) == len(names), "contexts", "be distinct", names, ModelError)
    return dict(contexts) if named else {name: name for name in names}


class CellFunction:
    """A user's function of (..., arm, context) as a function of (..., cell).

    Args:
        function: the function.
        values: what it gets for every context.
        arms: the arms of every context.
    """

    def __init__(
        self, function: Callable[..., Any], values: Mapping[str, Any], arms: Sequence[Any]
    ) -> None:
        self._function = function
        self._values = dict(values)
        # Arms and contexts of all cells, if they are numbers: then one call may serve many cells.
        self._numbers: tuple[FloatArray, FloatArray] | None = None
        here = list(self._values.values())
        if all(type(item) in (int, float) for item in (*arms, *here)):
            with suppress(OverflowError):
                numbers = np.array(arms, np.float64), np.array(here, np.float64)
                self._numbers = np.tile(numbers[0], len(here)), np.repeat(numbers[1], len(arms))

    @property
    def over_cells(self) -> Callable[..., Any] | None:
        """The function of (..., places of cells) over arrays; None unless cells are numbers."""
        return None if self._numbers is None else self._call_over_cells

    def _call_over_cells(self, *arguments: Any) -> Any:
        *numbers, places = arguments
        assert self._numbers is not None
        arms, contexts = self._numbers
        index = np.asarray(places, np.int64)
        return self._function(*numbers, arms[index], contexts[index])

    def __call__(self, *arguments: Any) -> Any:
        """Call the function; the last argument is a pair of context and arm."""
        *numbers, (context, arm) = arguments
        return self._function(*numbers, arm, self._values[context])


class ContextModel:
    """Arms in named contexts, which share their unknown numbers.

    ``RewardModel(mean, arms, contexts=...)`` and ``VectorModel(mean, arms, domain, contexts=...)``
    return one.

    Args:
        cells: the model of the cells; its arms are pairs of context and arm.
        arms: the user-facing values of the arms.
        contexts: the value that functions get for every context, by its name.
        in_context: returns the model of one context.
        description: the model as plain data, if it is made of formulas.

    Examples:
        >>> import globalbandits as gb
        >>> shop = gb.RewardModel("expit(2 + context - arm*theta)", [1.0, 2.0, 3.0], (0.5, 3.0),
        ...                       contexts={"weekday": 0.0, "weekend": 1.0}, value="arm * mean")
        >>> shop.n_arms, shop.contexts, shop.n_cells
        (3, ('weekday', 'weekend'), 6)
        >>> shop.means(1.0, context="weekend").round(3)
        array([0.881, 0.731, 0.5  ])
        >>> shop.best_arms(1.5, context="weekday"), shop.best_arms(1.5, context="weekend")
        ((0,), (1,))
    """

    def __init__(
        self,
        cells: Any,
        arms: tuple[Any, ...],
        contexts: Mapping[str, Any],
        in_context: Callable[[str], Any],
        description: Mapping[str, Any] | None = None,
    ) -> None:
        self._cells = cells
        self._arms = arms
        self._contexts = dict(contexts)
        self._places = {name: place for place, name in enumerate(self._contexts)}
        self._in_context = in_context
        self._models: dict[str, Any] = {}
        self._description = None if description is None else dict(description)

    # Description: arms, contexts, ranges, identity.

    def __repr__(self) -> str:
        """The numbers of arms and contexts."""
        shown = ", ".join(self.contexts[:4]) + (", ..." if self.n_contexts > 4 else "")
        kind, arms = type(self._cells).__name__, counted(self.n_arms, "arm")
        return f"{kind}({arms} in {counted(self.n_contexts, 'context')}: {shown})"

    @property
    def cells(self) -> Any:
        """The model with one arm for every cell, a pair of context and arm."""
        return self._cells

    @property
    def arms(self) -> tuple[Any, ...]:
        """The arms' user-facing values."""
        return self._arms

    @property
    def n_arms(self) -> int:
        """Number of arms in each context."""
        return len(self._arms)

    @property
    def contexts(self) -> tuple[str, ...]:
        """The names of the contexts."""
        return tuple(self._contexts)

    @property
    def n_contexts(self) -> int:
        """Number of contexts."""
        return len(self._contexts)

    @property
    def n_cells(self) -> int:
        """Number of cells: arms times contexts."""
        return self.n_arms * self.n_contexts

    def context_index(self, context: object) -> int:
        """Return the position of a context; a ModelError lists the known ones."""
        if not isinstance(context, str) or context not in self._contexts:
            known = ", ".join(repr(name) for name in self.contexts[:20])
            more = ", ..." if self.n_contexts > 20 else ""
            raise ModelError(f"context must be one of {known}{more}, got {show(context)}")
        return self._places[context]

    def in_context(self, context: str) -> Any:
        """Return the model of one context alone, for analysis and pictures.

        >>> import globalbandits as gb
        >>> shop = gb.RewardModel("expit(2 + context - arm*theta)", [1.0, 2.0], (0.5, 3.0),
        ...                       contexts={"weekday": 0.0, "weekend": 1.0})
        >>> shop.in_context("weekend").best_arms(1.0)
        (0,)
        """
        name = self.contexts[self.context_index(context)]
        if name not in self._models:
            self._models[name] = self._in_context(name)
        return self._models[name]

    @property
    def domain(self) -> Any:
        """The interval of theta, or of every unknown number by its name."""
        return self._cells.domain

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the unknown numbers."""
        found: tuple[str, ...] = getattr(self._cells, "parameters", ("theta",))
        return found

    @property
    def reward_range(self) -> tuple[float, float]:
        """The interval of rewards."""
        found: tuple[float, float] = self._cells.reward_range
        return found

    @property
    def worth_range(self) -> tuple[float, float]:
        """Smallest and largest worth of any cell at any mean in the reward range."""
        found: tuple[float, float] = self._cells.worth_range
        return found

    @property
    def valued(self) -> bool:
        """Whether the worth of a decision differs from its mean reward."""
        return bool(self._cells.valued)

    @property
    def monotone(self) -> bool:
        """Whether the mean of every cell is monotone."""
        return bool(self._cells.monotone)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """Warnings about inputs that are allowed but may be mistakes, by context."""
        return tuple(
            f"{context}: {remark}"
            for context in self.contexts
            for remark in self.in_context(context).remarks
        )

    @property
    def fingerprint(self) -> str:
        """A short digest of cells, domain, reward range and means, for display and logs."""
        return str(self._cells.fingerprint)

    def end_of_domain(self, theta: float | None) -> str:
        """Return "lower" or "upper" if theta lies within 1 % of that end of the domain, else ""."""
        return str(self._cells.end_of_domain(theta))

    # Questions about theta.

    def means(self, theta: Any, context: str | None = None) -> FloatArray:
        """Return the mean reward of every arm, shape (..., n_arms).

        Without a context the shape is (..., n_contexts, n_arms).
        """
        return self._of(self._cells.means(theta), context)

    def worth(self, theta: Any, context: str | None = None) -> FloatArray:
        """Return the worth of a decision for every arm, in the shape of `means`."""
        return self._of(self._cells.worth(theta), context)

    def gaps(self, theta: Any, context: str | None = None) -> FloatArray:
        """Return how much less each arm is worth than the best one of its context."""
        worth = self.worth(theta, context)
        return np.asarray(worth.max(axis=-1, keepdims=True) - worth)

    def best_arms(self, theta: Any, context: str) -> tuple[int, ...]:
        """Return the indices of the arms that are best in a context, including ties."""
        found: tuple[int, ...] = self.in_context(context).best_arms(theta)
        return found

    def worth_of(self, arm: int, mean: ArrayLike, context: str) -> Any:
        """Return the worth of a decision for an arm whose mean reward is ``mean``."""
        index = as_integer("arm", arm, 0, ModelError)
        require(index < self.n_arms, "arm", f"be below {self.n_arms}", arm, ModelError)
        return self._cells.worth_of(self.context_index(context) * self.n_arms + index, mean)

    def _of(self, values: FloatArray, context: str | None) -> FloatArray:
        """Return values of all cells by context, or those of one context."""
        shaped = values.reshape(*values.shape[:-1], self.n_contexts, self.n_arms)
        return shaped if context is None else shaped[..., self.context_index(context), :]

    # Files.

    def to_dict(self) -> dict[str, Any]:
        """Return the model as plain data for JSON, if it is made of formulas."""
        rule = "be made of formulas and of contexts with numbers to have a description"
        require(self._description is not None, "model", rule, self, ModelError)
        assert self._description is not None
        return dict(self._description)

    def save(self, path: Any) -> None:
        """Write the description to a JSON file, which `load_model` reads."""
        save_description(self.to_dict(), path)

    # Models are immutable.

    def __copy__(self) -> "ContextModel":
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> "ContextModel":
        return self


def build_context_model(
    kind: Any,
    mean: Callable[..., Any] | str,
    arms: Sequence[Any],
    contexts: Any,
    domain: Any,
    options: Mapping[str, Any],
) -> ContextModel:
    """Build the model of contexts.

    Args:
        kind: `RewardModel`, or `VectorModel` for several unknown numbers.
        mean: a function of the unknown numbers, the arm and the context, or a formula of them.
        arms: the arms.
        contexts: their names, or values by name.
        domain: as for ``kind``.
        options: the other arguments of ``kind``; ``value`` is a function, or a formula, of mean,
            arm and context.
    """
    values, named = as_contexts(contexts), as_arms(arms)
    n_cells = len(values) * len(named)
    rule = f"be at most {MAX_CELLS:,} arms times contexts"
    require(n_cells <= MAX_CELLS, "contexts", rule, n_cells, ModelError)
    numbers = tuple(domain) if isinstance(domain, Mapping) else ("theta",)
    for name in ("inverse", "holder"):
        none = options.get(name) is None
        require(none, name, "be None with contexts", options.get(name), ModelError)
    value = options.get("value")
    mean_function = as_function("mean", mean, (*numbers, "arm", "context"))
    value_function = (
        None if value is None else as_function("value", value, ("mean", "arm", "context"))
    )
    for function in (mean_function, value_function):
        if isinstance(function, Expression):
            _check_numbers(function, named, values)
    rest = {key: item for key, item in options.items() if key not in ("value", "inverse", "holder")}

    def build(function: Any, worth: Any, those: Sequence[Any]) -> Any:
        return kind(function, those, domain, value=worth, **rest)

    def in_context(name: str) -> Any:
        here = values[name]
        worth = None if value_function is None else OneContext(value_function, here)
        return build(OneContext(mean_function, here), worth, named)

    pairs = [(context, arm) for context in values for arm in named]
    worth = None if value_function is None else CellFunction(value_function, values, named)
    cells = build(CellFunction(mean_function, values, named), worth, pairs)
    cells.remember_contexts(len(values))
    description = _describe(mean, value, named, values, domain, rest)
    return ContextModel(cells, named, values, in_context, description)


def build_context_table(
    kind: Any,
    theta: Any,
    means: Any,
    arms: Any,
    contexts: Any,
    domain: Any,
    options: Mapping[str, Any],
) -> ContextModel:
    """Build the model of contexts from means at given parameters.

    Args:
        kind: `RewardModel`.
        theta: parameters in increasing order, shape (n_knots,).
        means: shape (n_knots, n_contexts, n_arms), or the same with the last two axes as one.
        arms: the arms.
        contexts: their names, or values by name.
        domain: as in `RewardModel.from_table`.
        options: its other arguments; ``value`` is a function, or a formula, of mean, arm and
            context.
    """
    require(arms is not None, "arms", "be given with contexts", arms, ModelError)
    values, named = as_contexts(contexts), as_arms(arms)
    n_arms, n_cells = len(named), len(values) * len(named)
    rule = f"be at most {MAX_CELLS:,} arms times contexts"
    require(n_cells <= MAX_CELLS, "contexts", rule, n_cells, ModelError)
    table = np.asarray(means, np.float64)
    valid = (
        table.ndim > 1
        and table[0].size == n_cells
        and table.shape[1:] in ((n_cells,), (len(values), n_arms))
    )
    rule = f"have the shape (n_knots, {len(values)}, {n_arms})"
    require(valid, "means", rule, f"shape {table.shape}", ModelError)
    table = table.reshape(len(table), n_cells)
    value = options.get("value")
    function = None if value is None else as_function("value", value, ("mean", "arm", "context"))
    if isinstance(function, Expression):
        _check_numbers(function, named, values)
    rest = {key: item for key, item in options.items() if key != "value"}
    places = {name: place for place, name in enumerate(values)}

    def in_context(name: str) -> Any:
        worth = None if function is None else OneContext(function, values[name])
        first = places[name] * n_arms
        columns = table[:, first : first + n_arms]
        return kind.from_table(theta, columns, named, domain, value=worth, **rest)

    pairs = [(context, arm) for context in values for arm in named]
    worth = None if function is None else CellFunction(function, values, named)
    cells = kind.from_table(theta, table, pairs, domain, value=worth, **rest)
    cells.remember_contexts(len(values))
    description = _describe("", value, named, values, cells.domain, rest)
    if description is not None:
        del description["mean"]
        knots = np.asarray(theta, np.float64).tolist()
        description["table"] = {"theta": knots, "means": table.tolist()}
    return ContextModel(cells, named, values, in_context, description)


class OneContext:
    """A user's function of (..., arm, context) in one context.

    Args:
        function: the function.
        context: what it gets for the context.
    """

    def __init__(self, function: Callable[..., Any], context: Any) -> None:
        self._function = function
        self._context = context

    def __call__(self, *arguments: Any) -> Any:
        """Call the function."""
        return self._function(*arguments, self._context)


def _check_numbers(formula: Expression, arms: tuple[Any, ...], values: Mapping[str, Any]) -> None:
    """Raise an error if a formula uses arms or contexts that are not numbers."""
    for name, items in (("arm", arms), ("context", tuple(values.values()))):
        if formula.uses(name):
            for item in items:
                number = isinstance(item, int | float) and not isinstance(item, bool)
                rule = f"be numbers where a formula uses {name}"
                require(number, f"{name}s", rule, item, ModelError)


def _describe(
    mean: Any,
    value: Any,
    arms: tuple[Any, ...],
    values: Mapping[str, Any],
    domain: Any,
    rest: Mapping[str, Any],
) -> dict[str, Any] | None:
    """Return the model as plain data; None if a part of it is a Python function."""
    plain = isinstance(mean, str) and (value is None or isinstance(value, str))
    numbers = all(isinstance(x, int | float | str) for x in (*arms, *values.values()))
    if not plain or not numbers:
        return None
    spans = (
        {name: list(span) for name, span in domain.items()}
        if isinstance(domain, Mapping)
        else list(domain)
    )
    found = {"version": 1, "mean": mean, "arms": list(arms), "contexts": dict(values)}
    found |= {"domain": spans} | ({} if value is None else {"value": value})
    if isinstance(domain, Mapping):
        # Programs that write JSON may sort the keys of the domain.
        found["parameters"] = list(domain)
    if "reward_range" in rest:
        found["reward_range"] = list(rest["reward_range"])
    if rest.get("monotone") is False:
        found["monotone"] = False
    return found
