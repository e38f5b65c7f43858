"""The models of the catalogues, and the messages of wrong arguments, compared with recorded ones.

`recorded_catalogues.json` is written by ``python -m tests.model.test_recorded_catalogues``.
"""

import json
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from tests.model.test_recorded_models import differences, plain, summary

RECORD = Path(__file__).with_name("recorded_catalogues.json")

PRICES = [0.4, 0.5, 0.8]
SHOP = [2.0, 3.0, 5.0, 8.0]
DOSES = [0.5, 1.0, 2.5, 4.0]
GUESSES = [0.05, 0.1, 0.2, 0.4]

# A family, its arms, and several sets of options.
CALLS = [
    ("demand.linear", PRICES, {}, {"domain": (0.1, 1.25)}, {"slope": (0.2, 1.2)}, {"cost": 0.45}),
    ("demand.linear", SHOP, {}, {"observe": "sales"}, {"level": 0.5}, {"slope": 0.1}),
    ("demand.linear", [0.5, 0.8], {"level": "unknown"}, {"level": (0.1, 0.4), "cost": 0.1}),
    ("demand.linear_power", PRICES, {}, {"power": 1.5}, {"power": 0.5, "cost": 0.2}, {"power": 0}),
    ("demand.linear_power", SHOP, {"domain": (0.0, 0.126)}, {"domain": (-0.1, 0.1)}, {"cost": -1}),
    ("demand.exponential", PRICES, {}, {"cost": 0.2}, {"level": "unknown"}, {"slope": (-1, 1)}),
    ("demand.exponential", [0.01, 8.0], {}, {"level": "unknown", "cost": 0.005}),
    (
        "demand.exponential",
        SHOP,
        {"level": "unknown", "cost": 1.0},
        {"level": "unknown", "cost": 2.0},
        {"level": "unknown", "cost": 9.0},
        {"level": (0.02, 0.2), "slope": 0.2},
        {"level": 0.2, "slope": (0.1, 0.5)},
        {"level": "some"},
        {"level": (0.0, 0.5)},
        {"level": 1.5},
        {"cost": 9.0},
        {"cost": 1.0, "observe": "revenue"},
        {"cost": 1.0, "observe": "sales"},
        {"observe": "customers"},
        {"domain": (0.1, 0.3)},
        {"domain": (0.1, 3.0), "cost": 0.5},
        {"domain": (0.1, 0.3), "slope": (0.1, 0.3)},
        {"level": 0.5, "slope": 0.2},
    ),
    (
        "demand.logit",
        SHOP,
        {},
        {"sensitivity": 0.5},
        {"sensitivity": (0.2, 0.9)},
        {"sensitivity": 0.0},
        {"level": (0.0, 3.0)},
        {"level": "unknown", "cost": 1.5},
        {"level": "unknown", "sensitivity": 0.7},
        {"level": 1.0, "sensitivity": (0.2, 0.9)},
        {"level": 1.0},
        {"domain": (-1.0, 2.0), "observe": "sales"},
    ),
    (
        "demand.isoelastic",
        SHOP,
        {},
        {"reference": 1.5},
        {"reference": 2.0},
        {"reference": -1.0},
        {"elasticity": (0.5, 2.0), "level": 0.3},
        {"level": (0.1, 0.3), "cost": 1.0},
        {"domain": (-1.0, 1.0)},
    ),
    (
        "demand.log_log",
        SHOP,
        {},
        {"reference": 1.5, "cutoff": 9.0},
        {"cutoff": 8.0},
        {"cutoff": 10.0, "level": (0.1, 0.3), "cost": 1.0},
        {"elasticity": (0.5, 2.0), "observe": "sales"},
    ),
    (
        "demand.anchored",
        SHOP,
        {},
        {"today": 5.0},
        {"today": 0.0, "rate": 0.1},
        {"today": 5.0, "rate": 0.03},
        {"today": 5.0, "rate": 0.3, "cost": 1.0},
        {"today": 4.0, "rate": (0.01, 0.2)},
        {"today": 5.0, "rate": (0.01, 0.2), "elasticity": 1.5},
        {"today": 5.0, "rate": (0.01, 0.2), "elasticity": (0.5, 1.5), "observe": "sales"},
        {"today": 1.5, "rate": 0.5},
        {"today": 5.0, "rate": 1.0},
        {"today": 5.0, "rate": 0.0},
        {"today": 5.0, "rate": (0.2, 1.0)},
        {"today": 5.0, "rate": 0.03, "elasticity": (-1.0, 1.0)},
    ),
    (
        "dose.linear",
        DOSES,
        {},
        {"target": 0.3},
        {"penalty": 0.1},
        {"penalty": -0.1},
        {"target": 0.3, "penalty": 0.02},
        {"target": 1.0},
        {"intercept": 0.1},
        {"intercept": 1.0},
        {"intercept": (0.0, 0.2)},
        {"intercept": (0.0, 0.2), "slope": 0.1, "target": 0.3},
        {"slope": (0.0, 0.2)},
        {"slope": (0.0, 0.251)},
        {"slope": 0.1},
        {"domain": (0.01, 0.25)},
    ),
    (
        "dose.logistic",
        DOSES,
        {},
        {"target": 0.3},
        {"target": 0.3, "intercept": -6.0},
        {"target": 0.3, "intercept": 2.0},
        {"penalty": 0.1, "domain": (0.0, 2.0)},
        {"target": 0.3, "domain": (0.0, 6.0)},
        {"target": 0.3, "domain": (0.0, 9.0)},
        {"reference": 2.0, "target": 0.3},
        {"reference": 2.5, "target": 0.3},
        {"reference": -1.0},
        {"reference": 2.0, "slope": (0.0, 1.0)},
        {"intercept": (-5.0, -1.0), "target": 0.25},
        {"intercept": (-5.0, -1.0), "slope": 0.3},
        {"intercept": (-5.0, 0.0), "slope": (0.2, 4.0), "reference": 2.5, "target": 0.25},
        {"slope": 0.4},
    ),
    (
        "dose.emax",
        DOSES,
        {},
        {"target": 0.3},
        {"target": 0.3, "hill": 2.5},
        {"target": 0.3, "hill": 10.0},
        {"penalty": 0.1, "domain": (0.3, 3.0)},
        {"hill": 0.0},
        {"level": 0.7, "hill": 2.0},
        {"level": (0.4, 1.0), "target": 0.3},
        {"level": (0.4, 1.0), "ed50": 1.5},
        {"ed50": (0.5, 1.5)},
        {"ed50": (0.0, 1.5)},
        {"target": 0.0},
    ),
    ("dose.logistic", [1.0, 2.0], {"target": 0.3}, {"target": 0.3, "intercept": -1.0}),
    ("dose.linear", [4.0, 2.5, 1.0], {}, {"target": 0.3}),
    ("dose.linear", [1.0, 4.0, 2.5], {}, {"target": 0.3}),
    (
        "dose.power",
        GUESSES,
        {},
        {"target": 0.25},
        {"penalty": 0.1},
        {"target": 0.25, "domain": (-2.0, 1.0)},
        {"target": 0.25, "domain": (-2.0, 2.4)},
        {"domain": (-2.0, 2.4)},
    ),
    ("dose.power", [0.999, 0.9999], {"target": 0.25}),
    ("dose.power", [0.0, 0.5], {}),
    (
        "dose.skeleton_logistic",
        GUESSES,
        {},
        {"target": 0.25},
        {"target": 0.25, "intercept": 1.0},
        {"intercept": -0.4},
        {"target": 0.25, "domain": (-2.0, 2.0)},
        {"target": 0.25, "domain": (-2.0, 2.4)},
    ),
    ("dose.skeleton_logistic", [1e-5, 0.4], {}, {"target": 0.25}),
    (
        "dose.hyperbolic_tangent",
        [-1.5, -0.5, 0.5],
        {},
        {"target": 0.25},
        {"target": 0.01},
        {"target": 0.9},
        {"penalty": 0.1},
        {"domain": (-0.1, 1.0)},
        {"domain": (0.0, 1.0)},
        {"target": 0.25, "domain": (0.2, 2.0)},
    ),
    ("dose.hyperbolic_tangent", [-2.9, -2.5], {"target": 0.25}),
    ("dose.hyperbolic_tangent", [-3.0, 1.0], {}),
    ("demand.linear", [0.4, 0.4], {}),
    ("demand.linear", [], {}),
    ("demand.linear", [0.4, -1.0], {}),
    ("demand.linear", [0.4, float("inf")], {}),
    ("demand.linear", 3.0, {}),
    ("dose.emax", [1.0, "two"], {}),
]

CASES = {
    f"{family}({arms}{''.join(f', {key}={value!r}' for key, value in options.items())})": (
        family,
        arms,
        options,
    )
    for family, arms, *several in CALLS
    for options in several
}


def facts_of(family, arms, options):
    room, name = family.split(".")
    try:
        model = getattr(getattr(gb, room), name)(arms, **options)
    except ModelError as error:
        return {"refused": str(error)}
    facts = {
        "dict": model.to_dict(),
        "domain": model.domain,
        "ranges": [*model.reward_range, *model.worth_range],
        "repr": repr(model),
        "flags": [model.monotone, model.valued, model.observes_sales, model.target],
        "formula": str(model._sources[0] if isinstance(model, gb.VectorModel) else ""),
    }
    if isinstance(model, gb.VectorModel):
        points = model.from_unit([[0.0, 0.0], [0.2, 0.9], [0.7, 0.4], [1.0, 1.0]])
        return facts | {"means": summary(model.means(points), model.worth(points))}
    points = np.linspace(*model.domain, 6)
    means = model.means(points)
    facts["means"] = summary(means, model.worth(points))
    facts["regions"] = [region.arm for region in model.regions]
    facts["remarks"] = list(model.remarks)
    if model.monotone:
        arms = range(model.n_arms)
        facts["inverse"] = [model.invert(arm, float(means[2, arm])) for arm in arms]
        facts["closed form"] = model._inverse is not None
        facts["proved"] = model.resolution == 0.0
    return facts


@pytest.mark.parametrize("case", CASES)
def test_a_family_is_as_recorded(case):
    recorded = json.loads(RECORD.read_text())[case]
    assert differences(plain(facts_of(*CASES[case])), recorded) == []


if __name__ == "__main__":
    rows = (f"  {json.dumps(name)}: {json.dumps(plain(facts_of(*CASES[name])))}" for name in CASES)
    RECORD.write_text("{\n" + ",\n".join(rows) + "\n}\n")
