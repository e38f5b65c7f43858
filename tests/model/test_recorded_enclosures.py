"""Enclosures of every operation, as ends and their distance from the values in units of rounding.

`recorded_enclosures.json` is written by ``python -m tests.model.test_recorded_enclosures``. An
enclosure must be wide enough for the rounding errors of the operation, and it should not be wider.
"""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from globalbandits.errors import ModelError
from globalbandits.model.formulas import Expression
from globalbandits.model.formulas.evaluation import OPERATIONS
from globalbandits.model.formulas.proof import _RULES, enclose_steps
from tests.model.test_recorded_models import differences, plain

RECORD = Path(__file__).with_name("recorded_enclosures.json")

INTERVALS = [
    (0.0, 0.0),
    (1.0, 1.0),
    (-1.0, 1.0),
    (0.0, 0.7),
    (-0.7, 0.0),
    (0.3, 1.7),
    (-1.7, -0.3),
    (-0.3, 1.7),
    (-3.0, 2.0),
    (2.0, 2.0),
    (-2.0, -2.0),
    (0.0, 3.0),
    (1.1, 1000.0),
    (0.0, np.inf),
    (-np.inf, np.inf),
]
POWERS = [
    *((power, power) for power in (-3.0, -2.0, -1.0, 0.0, 1.0, 2.0, 3.0, 2.5, -0.5, 2.0**53)),
    (0.5, 1.5),
    (-1.0, 2.0),
]
SINGLE = [
    *("neg", "exp", "expm1", "exprel", "log", "log1p", "sqrt", "abs", "tanh", "expit", "sign"),
    *("tanh_slope", "expit_slope", "exprel_slope"),
]
EXACTLY_ROUNDED = ("neg", "sqrt", "abs", "sign", "add", "sub", "mul", "div", "min", "max")
PAIRS = ("add", "sub", "mul", "div", "min", "max", "pow")


def described(op, low, high, *intervals):
    """Both ends, and how far they lie outside of the values at the ends of the intervals."""
    with np.errstate(all="ignore"):
        values = [float(OPERATIONS[op](*ends)) for ends in itertools.product(*intervals)]
    values = [value for value in values if np.isfinite(value)] or [0.0]
    found = []
    for end, value in ((float(low), min(values)), (float(high), max(values))):
        with np.errstate(over="ignore"):
            away = abs(end - value) / np.spacing(abs(value)) if np.isfinite(end) else 0.0
        found += [str(float(f"{end:.10g}")), round(away) if away < 100.0 else -1]
    return found


def enclosures(op):
    second = POWERS if op == "pow" else INTERVALS
    arrays = [INTERVALS] if op in SINGLE else [INTERVALS, second]
    found = []
    for intervals in itertools.product(*arrays):
        pairs = [tuple(np.array(end) for end in interval) for interval in intervals]
        with np.errstate(all="ignore"):
            low, high = _RULES[op](*pairs)
        found.append(described(op, low, high, *intervals))
    return found


# Formulas with several arms, and the domain.
FORMULAS = [
    ("theta * (1 - theta/2)", (1.0,), (0.0, 1.0)),
    ("theta * (1 - theta/2)", (1.0,), (0.0, 1.1)),
    ("arm*theta / (1 + theta)", (0.5, 2.0), (0.0, 3.0)),
    ("(theta - 0.3)**3", (1.0,), (0.0, 1.0)),
    ("(theta - 0.5)**3", (1.0,), (-2.0, 1.0)),
    ("(theta - 0.3)**5 * arm", (1.0, -2.0), (0.0, 1.0)),
    ("abs(theta - 0.3)", (1.0,), (0.3, 1.0)),
    ("abs(theta - 0.3)", (1.0,), (0.0, 1.0)),
    ("max(theta, 0.5)", (1.0,), (0.0, 1.0)),
    ("max(theta, arm)", (-1.0, 0.999999), (0.0, 1.0)),
    ("max(theta, arm)", (1e-10, 3e-10), (0.0, 1.0)),
    ("max(theta, arm)", (3e-10, 1e-10), (0.0, 1.0)),
    ("min(theta, 0.4) + max(theta - 0.4 - 1e-9, 0)", (1.0,), (0.0, 1.0)),
    ("min(theta, 0.4) + max(theta - 0.4 - 1e-9, 0) + max(theta - 1, -1e-10)", (1.0,), (-1.0, 1.0)),
    ("max(theta, 4e-15)", (1.0,), (0.0, 1.0)),
    ("max(theta, 3e-15)", (1.0,), (0.0, 1.0)),
    ("1 - min(theta, 1 - 3e-15)", (1.0,), (0.0, 1.0)),
    ("max(1 - arm*theta, 0)**1.5", (1.0, 49.0), (0.0, 1 / 49)),
    ("min(arm*theta, 0.5 + theta/3)", (0.2, 1.5), (0.0, 1.0)),
    ("1 / theta", (1.0,), (0.1, 1.0)),
    ("1 / theta", (1.0,), (0.0, 1.0)),
    ("1 / (theta - 0.4)", (1.0,), (0.0, 1.0)),
    ("theta**2 - theta**2 + theta", (1.0,), (0.0, 1.0)),
    ("(theta - theta)*arm", (1.0, 3.0), (0.0, 1.0)),
    ("arm", (1.0, 3.0), (0.0, 1.0)),
    ("theta/2 - 1e-12/(theta - 0.3773101)", (1.0,), (0.0, 1.0)),
    ("theta + max(theta - arm, 0)*(theta - theta)", (0.25, 0.75), (0.0, 1.0)),
    ("sqrt(theta)", (1.0,), (0.0, 4.0)),
    ("theta**arm", (2.0, 2.5, 0.5), (0.1, 1.0)),
    ("(theta - 0.5)**arm", (2.0, 2.5, 3.0), (0.5, 1.0)),
    ("theta**1.5 - 2*theta", (1.0,), (0.0, 1.0)),
    ("1000*theta**3 - 999*theta**2 + 333*theta", (1.0,), (0.0, 1.0)),
    ("theta*theta*(3 - 2*theta)", (1.0,), (0.0, 1.0)),
    ("theta*theta*(3 - 2*theta)", (1.0,), (0.0, 1.01)),
]


def width(text, arms, domain):
    try:
        # As text, because most widths are much smaller than what counts as a difference.
        return f"{Expression(text).unseen_width(arms, domain):.6g}"
    except ModelError as error:
        return str(error)


def plain_tape(tape):
    """The steps of a derivative as text: what is shared and what is left out."""
    return [f"{step.op} {step.parts} {step.number:g} {step.name}" for step in tape.steps]


def plan(text):
    """How a formula is evaluated: which slots its operations read and write."""
    tape = Expression(text, ("theta", "arm"))._tape
    made = tape._plan
    calls = [[call.function.__name__, *call.inputs, call.slot] for call in made.calls]
    known = [None if slot is None else float(slot) for slot in made.slots]
    flags = [tape.uses("theta"), tape.uses("arm"), tape.constant, tape.smooth, made.last]
    values = tape.run({"theta": np.array([0.3, 0.7]), "arm": np.array([[0.2], [0.9]])})
    return [known, [list(pair) for pair in made.names], calls, flags, values.tolist()]


PLANNED = [
    "theta",
    "2",
    "2*3 + 1",
    "arm * (1 - arm*theta)**2",
    "(theta + 1) * (theta + 2) * (theta + 3)",
    "exp(theta) + exp(theta)*arm - exp(2)*min(theta, arm, 0.5)",
    "1 / (1 + (theta/arm)**2.5)",
    "sqrt((theta + arm)*(theta + arm)) - abs(arm - theta)",
]


DERIVED = [
    "theta",
    "arm",
    "theta + arm",
    "arm + theta",
    "arm - theta",
    "theta - arm",
    "theta*arm",
    "theta*theta",
    "theta/arm",
    "arm/theta",
    "theta/(1 + theta)",
    "theta**3",
    "theta**1",
    "theta**arm",
    "arm**theta",
    "theta**theta",
    "2*3*theta",
    "-theta + +theta",
    "min(theta, arm)",
    "max(arm, theta, 2)",
    "min(theta, theta**2)",
    *(f"{name}(2*theta)" for name in ("exp", "expm1", "exprel", "log", "log1p", "sqrt", "abs")),
    *(f"{name}(2*theta)" for name in ("tanh", "expit", "logistic")),
]

CASES = {
    **{f"operation {op}": (enclosures, op) for op in (*SINGLE, *PAIRS)},
    **{f"width {formula}": (width, *formula) for formula in FORMULAS},
    **{f"plan {text}": (plan, text) for text in PLANNED},
    **{f"slope {text}": (lambda t: plain_tape(Expression(t).slope), text) for text in DERIVED},
}


@pytest.mark.parametrize("case", CASES)
def test_enclosures_are_as_recorded(case):
    recorded = json.loads(RECORD.read_text())[case]
    function, *given = CASES[case]
    found = plain(function(*given))
    if function is enclosures and given[0] not in EXACTLY_ROUNDED:
        # The functions of another processor or library may round differently.
        found, recorded = (np.array(numbers, dtype=float) for numbers in (found, recorded))
        np.testing.assert_allclose(found[:, ::2], recorded[:, ::2], rtol=1e-9)
        assert np.abs(found[:, 1::2] - recorded[:, 1::2]).max() <= 2
    else:
        assert differences(found, recorded) == []


def test_a_choice_uses_one_side_only_where_the_comparison_is_certain():
    def ends(low, high):
        return np.array(low), np.array(high)

    at_first, at_second = ends(1.0, 2.0), ends(-3.0, 5.0)
    for first, second, expected in (
        ((0.0, 1.0), (1.0, 2.0), (1.0, 2.0)),  # first <= second everywhere
        ((0.0, 1.1), (1.0, 2.0), (-3.0, 5.0)),
        ((2.0, 3.0), (1.0, 2.0), (-3.0, 5.0)),
        ((2.5, 3.0), (1.0, 2.0), (-3.0, 5.0)),  # first > second everywhere
        ((0.0, 3.0), (1.0, 2.0), (-3.0, 5.0)),
    ):
        low, high = _RULES["choose"](ends(*first), ends(*second), at_first, at_second)
        assert (float(low), float(high)) == expected
    narrow = ends(1.5, 1.6)
    low, high = _RULES["choose"](ends(2.5, 3.0), ends(1.0, 2.0), at_first, narrow)
    assert (float(low), float(high)) == (1.5, 1.6)
    low, high = _RULES["choose"](ends(0.0, 3.0), ends(1.0, 2.0), at_first, narrow)
    assert (float(low), float(high)) == (1.0, 2.0)


def test_everything_is_unknown_where_one_step_is_unknown():
    steps = Expression("theta + 0*log(theta - 0.5)")._tape.steps
    numbers = {"theta": (np.array([0.6, 0.4]), np.array([0.7, 0.6]))}
    (low, high), (first, last) = enclose_steps(steps, numbers, [len(steps) - 1, 0])
    assert np.isfinite([low[0], high[0], first[0], last[0]]).all()
    assert (low[1], high[1], first[1], last[1]) == (-np.inf, np.inf, -np.inf, np.inf)


if __name__ == "__main__":
    rows = (
        f"  {json.dumps(case)}: {json.dumps(plain(function(*given)))}"
        for case, (function, *given) in CASES.items()
    )
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
