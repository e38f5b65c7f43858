"""From numbers of single runs to entries."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.experiments.entries import Entry
from globalbandits.experiments.moments import Moments
from globalbandits.experiments.specs import Spec


def measured(spec: Spec, key: str, values: FloatArray, *, label: str, unit: str = "") -> Entry:
    """An entry for the mean of one number per run, with what the paper says of it.

    Args:
        spec: the experiment, which knows the paper's claims.
        key: the entry's name.
        values: one number per run, shape (runs,).
        label: what the number is.
        unit: its unit.
    """
    moments = Moments()
    moments.add(np.asarray(values, dtype=np.float64))
    value, sem = float(moments.mean), float(moments.sem)
    return known(spec, key, value, sem, moments.runs, label=label, unit=unit)


def known(
    spec: Spec,
    key: str,
    value: float,
    sem: float = 0.0,
    runs: int = 0,
    *,
    label: str,
    unit: str = "",
    comparable: bool = True,
) -> Entry:
    """An entry for a number whose error is known already; by default one without randomness.

    Args:
        spec: the experiment, which knows the paper's claims.
        key: the entry's name.
        value: the number.
        sem: its standard error.
        runs: how many runs it is a mean of.
        label: what the number is.
        unit: its unit.
        comparable: whether it was got under the paper's conditions.
    """
    claim = spec.claim(key)
    return Entry(
        label=label,
        value=value,
        sem=sem,
        runs=runs,
        unit=unit,
        published=claim.published,
        statement=claim.statement,
        why=claim.why,
        number=claim.number,
        comparable=comparable,
    )


def decrease_per_decade(values: FloatArray, positions: FloatArray) -> FloatArray:
    """How much each run's values fall when the position grows tenfold, by least squares.

    Args:
        values: shape (positions, runs).
        positions: positive numbers, shape (positions,).

    >>> decrease_per_decade(np.array([[3.0], [2.0], [1.0]]), np.array([1.0, 10.0, 100.0])).tolist()
    [1.0]
    """
    logs = np.log10(positions)
    centred = logs - logs.mean()
    return np.asarray(-(centred @ values) / (centred @ centred))
