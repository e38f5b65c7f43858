"""Entries from the numbers of single runs, with the paper's claims about them."""

from collections.abc import Mapping

import numpy as np

from globalbandits._means import Moments
from globalbandits._types import FloatArray
from globalbandits.errors import ScenarioError
from globalbandits.lab.paper.experiment_spec import Spec
from globalbandits.lab.paper.verdicts import Entry


def measured(spec: Spec, key: str, values: FloatArray, *, label: str, unit: str = "") -> Entry:
    """Return an entry for the mean of one number per run.

    Args:
        spec: the experiment, with the paper's claims.
        key: name of the entry.
        values: one number per run, shape (runs,).
        label: description of the number.
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
    """Return an entry for a number with a known standard error.

    Args:
        spec: the experiment, with the paper's claims.
        key: name of the entry.
        value: the number.
        sem: its standard error; 0 for a number without randomness.
        runs: number of runs that it is the mean of.
        label: description of the number.
        unit: its unit.
        comparable: whether the simulation is the paper's.
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
    """Return the decrease of each run's values when the position grows tenfold.

    The slope over log10 of the position is fitted by least squares.

    Args:
        values: shape (positions, runs).
        positions: positive numbers, shape (positions,).

    >>> decrease_per_decade(np.array([[3.0], [2.0], [1.0]]), np.array([1.0, 10.0, 100.0])).tolist()
    [1.0]
    """
    logs = np.log10(positions)
    centred = logs - logs.mean()
    return np.asarray(-(centred @ values) / (centred @ centred))


def differences(
    spec: Spec, regrets: Mapping[str, FloatArray], suffix: str = ""
) -> dict[str, Entry]:
    """Return the entries ``a_minus_b<suffix>``, which judge statements like "b beats a".

    Runs are paired: in each run all policies share the random numbers, so the difference has a
    smaller error than the two numbers.

    Args:
        spec: the experiment; its statements are named after two of its policies.
        regrets: regret at the horizon by policy, shape (runs,).
        suffix: end of the names of the statements to judge.
    """
    entries = {}
    for key, claim in spec.claims.items():
        if not claim.statement or "_minus_" not in key or not key.endswith(suffix):
            continue
        worse, _, better = key.removesuffix(suffix).partition("_minus_")
        if worse not in regrets or better not in regrets:
            raise ScenarioError(
                f"statements.{key} must name two of {', '.join(regrets)}, got {worse} and {better}"
            )
        label = f"{spec.policies[worse].label} - {spec.policies[better].label}"
        entries[key] = measured(spec, key, regrets[worse] - regrets[better], label=label)
    return entries
