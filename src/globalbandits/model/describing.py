"""Models as data: building a model from a table or a description, and the reverse."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from os import PathLike
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import ModelError
from globalbandits.model.arms import as_arms
from globalbandits.model.curve_tables import MOST_KNOTS, TableCurves, as_table
from globalbandits.model.functions import PerArm, as_worth
from globalbandits.model.holder import Holder
from globalbandits.model.intervals import as_numbers, as_span

if TYPE_CHECKING:
    from globalbandits.model.reward_model import RewardModel

Sources = tuple[PerArm, PerArm | None, PerArm | None, Holder | None]


class Descriptions:
    """The part of a reward model that turns data into models and models into data."""

    _sources: Sources  # mean, value, inverse, holder, as they were given
    _family: dict[str, Any] | None = None  # name and parameters, of a catalogue's model
    _arms: tuple[Any, ...]
    _domain: tuple[float, float]

    @classmethod
    def from_table(
        cls,
        theta: ArrayLike,
        means: ArrayLike,
        arms: Sequence[Any] | None = None,
        domain: tuple[float, float] | None = None,
        *,
        reward_range: tuple[float, float] = (0.0, 1.0),
        value: Callable[..., Any] | str | None = None,
        values: Sequence[Callable[..., Any] | str] | None = None,
        monotone: bool = True,
    ) -> "RewardModel":
        """A model from means at some parameters, with smooth curves through them.

        The curves rise where the numbers rise and fall where they fall (PCHIP), so that they are
        known to be monotone between the parameters too.

        Args:
            theta: Parameters, rising, shape (n_knots,).
            means: Mean rewards, shape (n_knots, n_arms); each column must rise, or fall,
                all the way, unless ``monotone`` is False.
            arms: As in `from_functions`.
            domain: The interval theta lies in, within the table; all of the table by default.
            reward_range: The interval rewards lie in.
            value: As in `RewardModel`.
            values: As in `from_functions`, instead of ``value``.
            monotone: As in `RewardModel`.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel.from_table(
            ...     [0.0, 0.5, 1.0], [[0.9, 0.7], [0.6, 0.5], [0.1, 0.4]], arms=["high", "low"])
            >>> model.means(0.5).tolist(), model.resolution
            ([0.6, 0.5], 0.0)
        """
        named = None if arms is None else as_arms(arms)
        knots, table = as_table(theta, means, None if named is None else len(named), monotone)
        curves, n_arms = TableCurves(knots, table), table.shape[1]
        span = float(knots[0]), float(knots[-1])
        chosen = span if domain is None else as_span("domain", domain)
        rule = f"lie within the table's parameters, [{span[0]:g}, {span[1]:g}]"
        require(span[0] <= chosen[0] and chosen[1] <= span[1], "domain", rule, domain, ModelError)
        model: Any = cls.__new__(cls)
        model._build(
            as_arms(range(n_arms)) if named is None else named,
            chosen,
            reward_range,
            PerArm(tuple(partial(curves.of_arm, arm) for arm in range(n_arms)), table=curves),
            as_worth(value, values, n_arms),
            None,
            None,
            monotone,
        )
        return cast("RewardModel", model)

    @classmethod
    def from_dict(cls, description: Mapping[str, Any]) -> "RewardModel":
        """The model of a description: what `to_dict` gives, or what a file holds.

        A description has one of the keys ``family`` (a name of the catalogues), ``mean`` (a
        formula), ``means`` (a formula per arm) and ``table``; docs/models.md lists the others. No
        code is executed, and sizes are limited.

        Examples:
            >>> import globalbandits as gb
            >>> gb.RewardModel.from_dict({"family": "demand.linear", "arms": [0.4, 0.6]}).arms
            (0.4, 0.6)
        """
        from globalbandits.model.reading import build_model

        return build_model(description)

    def remember_family(self, name: str, parameters: dict[str, Any]) -> None:
        """Note the name and the parameters of a catalogue's model, for `to_dict`."""
        domain = list(self._domain)
        self._family = {"family": name, "arms": list(self._arms), "domain": domain} | parameters

    def to_dict(self) -> dict[str, Any]:
        """The model as plain data that JSON can hold; `from_dict` gives the same model back.

        Models of the catalogues, of formulas and of tables have a description; a Python function
        has none: see `to_table`.

        Examples:
            >>> import globalbandits as gb
            >>> gb.RewardModel("arm * theta", [0.5, 1.0]).to_dict()
            {'version': 1, 'mean': 'arm * theta', 'arms': [0.5, 1.0], 'domain': [0.0, 1.0],
             'reward_range': [0.0, 1.0]}
        """
        from globalbandits.model.writing import describe

        return describe(self)  # type: ignore[arg-type]

    def to_table(self, knots: int | ArrayLike = 201) -> "RewardModel":
        """A model of a table of this one's means, which can always be saved.

        Between the knots the curves are close to this model's, not equal; compare them with
        `means`. Values that are formulas, or of the catalogues, stay as they are; one that is a
        Python function must be a straight line in the mean, which is then written as a formula.

        Args:
            knots: How many parameters, evenly over the domain; or the parameters themselves.

        Examples:
            >>> import globalbandits as gb
            >>> model = gb.RewardModel(lambda t, price: price * (1 - price * t) ** 2, [0.4, 0.8])
            >>> table = model.to_table()
            >>> bool(abs(table.means(0.333) - model.means(0.333)).max() < 1e-6)
            True
        """
        from globalbandits.model.writing import value_as_data

        model: RewardModel = self  # type: ignore[assignment]
        if np.ndim(knots) == 0:
            number = as_integer("knots", knots, 2, ModelError, maximum=MOST_KNOTS)
            places: FloatArray = np.linspace(*model.domain, number)
        else:
            places = as_numbers("knots", knots)
        return type(model).from_table(
            places,
            model.means(places),
            model.arms,
            reward_range=model.reward_range,
            monotone=model.monotone,
            **value_as_data(model),
        )

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model into a JSON file that `globalbandits.load_model` reads."""
        from globalbandits.model.writing import save

        save(self, path)  # type: ignore[arg-type]
