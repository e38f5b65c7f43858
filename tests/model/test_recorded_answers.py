"""What models answer to right and wrong questions, compared with recorded answers.

Each question is an expression. `recorded_answers.json` is written by
``python -m tests.model.test_recorded_answers``; read the difference before you commit it.
"""

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import ModelError
from globalbandits.model import files, inputs, reward_model, vector_model
from globalbandits.model.analysed_model import can_be_pickled
from globalbandits.model.analysis.holder import Holder, verify_holder
from globalbandits.model.catalogue import names
from globalbandits.model.context_model import as_contexts
from globalbandits.model.formulas import Expression
from globalbandits.model.objectives import Benefit, Profit
from globalbandits.model.regional import RegionalModel
from globalbandits.model.vector import tabulation
from globalbandits.model.vector.prior import NormalPrior
from globalbandits.model.vector_model import as_box
from tests.model.test_recorded_models import summary

RECORD = Path(__file__).with_name("recorded_answers.json")


def one_at_a_time(t, x):
    if t > 0.5:
        return x * float(t)
    return x * float(t)


def drawn(model, *given, **options):
    """What a model gives to the function that draws."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name in ((reward_model, "model_figure"), (vector_model, "arm_map_figure")):
            patch.setattr(module, name, lambda *parts, **named: (*parts, named))
        *arrays, named = model.plot(*given, **options)
    for key in ("worth", "trapped"):
        arrays.append(named.pop(key, None))
    shown = [x for x in arrays if not isinstance(x, np.ndarray)]
    return summary(*(x for x in arrays if isinstance(x, np.ndarray))), shown, named


def pickled(model):
    """The model as another process gets it."""
    return pickle.loads(pickle.dumps(model))


def build(**content):
    return gb.RewardModel.from_dict(content)


def build_box(**content):
    return gb.VectorModel.from_dict(content)


LINE = gb.RewardModel("0.1 + arm*theta", [0.3, 0.5, 0.7], (0.0, 1.0))
SHOP = gb.RewardModel("(1 - arm*theta)**2", [0.4, 0.8], (0.25, 1.0), value="(arm - 0.3)*mean")
MONEY = gb.RewardModel("10*arm*theta", [1, 2], (1.0, 2.0), reward_range=(-10.0, 40.0))
BOX = gb.VectorModel("a + b*arm", [0.5, 1.0, 2.0], {"a": (0.0, 0.3), "b": (0.1, 0.3)})
WORTH = gb.VectorModel(
    "a / (1 + b*arm)", [0.5, 1.0], {"a": (0.2, 0.9), "b": (0.1, 3.0)}, value="arm*mean - 0.1"
)
SPACE_BOX = gb.VectorModel(
    "c*a / (1 + b*arm)", [0.5, 1.0], {"a": (0.3, 1.0), "b": (0.1, 2.0), "c": (0.2, 0.9)}
)
CELLS = gb.RewardModel(
    "arm*theta + 0.1*context", [0.3, 0.6], contexts={"x": 1.0, "y": 2.0}, value="mean - 0.2*arm"
)
TABLE = gb.RewardModel.from_table([0.0, 0.5, 1.0], [[0.1, 0.9], [0.2, 0.5], [0.8, 0.1]])
GROUPS = RegionalModel([LINE, gb.RewardModel("theta**2*arm", [0.4, 0.9])])
TOUCHING = gb.RewardModel.from_functions(["theta", "1 - theta", "0.1 * theta"])
CLOSURE = gb.RewardModel(
    lambda t, x: 10.0 + 5.0 * x * t,
    [1.0, 2.0],
    (2.0, 3.0),
    reward_range=(-10.0, 50.0),
    value=lambda m, x: np.minimum(m, 30.0) * 2.0 - x,
    inverse=lambda m, x: (m - 10.0) / (5.0 * x),
)
CLOSURE_BOX = gb.VectorModel(
    lambda a, b, x: 10.0 * a + 5.0 * b * x,
    [1.0, 2.0],
    {"a": (-1.0, 1.0), "b": (1.0, 3.0)},
    reward_range=(-10.0, 50.0),
    value=lambda m, x: np.minimum(m, 20.0) * 2.0 - x,
)
LABELS = gb.RewardModel(lambda t, x: t * len(x) / 9.0, ["ab", "abcd"])
DEEP = "(" * 99 + "theta" + ")" * 99
SUMS = "theta" + "+theta" * 124

# What questions use besides these models.
NAMES = {
    each.__name__.rpartition(".")[2]: each
    for each in (
        *(files, inputs, names, tabulation),
        *(as_box, as_contexts, can_be_pickled, one_at_a_time, build, build_box, drawn, pickled),
        *(Benefit, Expression, Holder, ModelError, NormalPrior, Profit, RegionalModel),
    )
}

QUESTIONS = [
    # One unknown number.
    *(f"LINE.means({theta})" for theta in ("0.0", "1.0", "[0.1, 0.9]", "1.1", "-0.1", "'x'")),
    *("LINE.means([[0.1, 1.2]])", "LINE.means(np.nan)", "SHOP.worth([0.25, 1.0])"),
    *(f"LINE.invert({given})" for given in ("1, 0.35", "1, [0.0, 0.35, 5.0]", "0, '1'", "3, 0.2")),
    *("LINE.invert(-1, 0.2)", "LINE.invert(True, 0.2)", "LINE.invert(0, np.inf)"),
    *("MONEY.invert(0, 15.0)", "MONEY.invert(1, [[20.0, 25.0], [19.0, 41.0]])"),
    *("MONEY.worth_of(0, 40.0 + 4e-8)", "MONEY.worth_of(0, 40.0 + 6e-8)"),
    *("MONEY.worth_of(0, -10.0 - 4e-8)", "MONEY.worth_of(0, -10.0 - 6e-8)"),
    *("MONEY.worth_of(0, 40.0 + 1e-9 * 50.0)", "MONEY.worth_of(0, -10.0 - 1e-9 * 50.0)"),
    *("MONEY.worth_of(2, 0.0)", "MONEY.worth_of(1, [0.0, 1.0])", "SHOP.worth_of(0, 0.5)"),
    *("LINE.best_arms(2.0)", "LINE.best_arms([0.1])", "LINE.suboptimality_gap(0.5)"),
    *("TOUCHING.best_arms(0.5)", "TOUCHING.suboptimality_gap(0.5)", "TOUCHING.nearest_edge(0.5)"),
    *("TOUCHING.nearest_edge(0.4)", "TOUCHING.nearest_edge(0.7)", "TOUCHING.nearest_edge(0.0)"),
    *(
        "TOUCHING.best_arms(0.5 + 9e-13)",
        "TOUCHING.best_arms(0.5 - 9e-13)",
        "TOUCHING.best_arms(0.5 + 1e-11)",
        "LINE.nearest_edge(1)",
    ),
    *(f"SHOP.end_of_domain({x})" for x in (None, 0.25, 0.2574, 0.2576, 0.5, 0.9924, 0.9926, 1.0)),
    *("SHOP.holder.constant", "MONEY.holder.constant", "MONEY.unit_holder.constant"),
    *("MONEY.unit_holder.lower_constant", "SHOP.informativeness", "SHOP.worth_lipschitz"),
    *("LINE.worth_lipschitz", "LINE.turning_points", "LINE.resolution", "LABELS.resolution"),
    *("repr(LINE)", "repr(LABELS)", "gb.RewardModel('arm*theta', [.1, .2, .3, .4, .5, .6])"),
    *("gb.RewardModel('arm*theta', [.1, .2, .3, .4])", "gb.RewardModel('arm*theta', [.1])"),
    *("LINE.remarks", "SHOP.remarks", "gb.RewardModel('arm*theta', [0.5]).remarks"),
    *("SHOP.observed_samples()", "MONEY.observed_samples()['means'][0][::8]", "SHOP.fingerprint"),
    *("MONEY.fingerprint", "BOX.fingerprint", "CELLS.fingerprint", "GROUPS.fingerprint"),
    *("LINE.to_dict()", "SHOP.to_dict()", "MONEY.to_dict()", "TABLE.to_dict()", "CELLS.to_dict()"),
    *("LABELS.to_dict()", "TOUCHING.to_dict()", "BOX.to_dict()", "GROUPS.observed_samples()"),
    *("LABELS.to_table(3).to_dict()", "SHOP.to_table(3).to_dict()", "SHOP.to_table(1)"),
    *(
        "SHOP.to_table([0.25, 0.3, 1.0]).to_dict()",
        "SHOP.to_table(2_001)",
        "SHOP.to_table(2).domain",
    ),
    "gb.RewardModel('arm*theta', [.5], value=lambda m, x: 2*m - 1).to_table(2).to_dict()",
    "gb.RewardModel('arm*theta', [.5], value=lambda m, x: 2*m).to_table(2).to_dict()",
    "gb.RewardModel('arm*theta', [.5], value=lambda m, x: m*m).to_table(2).to_dict()",
    "gb.RewardModel('arm*theta', [.5], value=lambda m, x: m*m).to_dict()",
    "gb.RewardModel('1e6 + arm*theta', [1], reward_range=(1e6, 1e6 + 2),"
    " value=lambda m, x: 3.3 * (m - 1e6)).to_table(2)",
    "gb.RewardModel('arm*theta', [.5], value=Profit(0.2)).to_table(2).to_dict()",
    "gb.RewardModel('arm*theta', [.5], value=Benefit(0.2, 0.1)).to_dict()",
    "gb.RewardModel('arm*theta', [.5], value=Benefit(None, 0.1)).to_dict()",
    "gb.RewardModel.from_functions(['theta', '1 - theta'], values=['mean', '2*mean']).to_dict()",
    "gb.RewardModel.from_functions(['theta', '1 - theta'], values=['mean', abs]).to_dict()",
    "gb.RewardModel.from_functions(['theta', lambda t: 1 - t]).to_dict()",
    "gb.RewardModel.from_functions(['theta', lambda t: 1 - t], values=['mean', '2*mean'])"
    ".to_table(2).to_dict()",
    "gb.RewardModel.from_functions(['theta', '1 - theta'], values=['mean', abs])"
    ".to_table(2).to_dict()",
    "gb.RewardModel.from_functions(['theta', '1 - theta'], values=['mean'])",
    "gb.RewardModel.from_functions(['theta'], values=['mean'], value='mean')",
    "gb.RewardModel.from_functions(['theta'], [1, 2])",
    "gb.RewardModel.from_functions([])",
    "gb.RewardModel.from_functions('theta')",
    "gb.RewardModel.from_functions([3])",
    "gb.RewardModel.from_functions(['theta'], inverses=['mean']).invert(0, 0.25)",
    "gb.RewardModel.from_functions(['theta'], inverses=['1 - mean'])",
    "gb.RewardModel.from_functions(['theta'], inverses=['mean'], monotone=False)",
    "gb.RewardModel.from_functions(['theta'], inverses=['mean']).to_dict()",
    "gb.RewardModel.from_functions(['theta'], holder=Holder(1, 1, 1, 1)).to_dict()",
    "gb.RewardModel.from_functions(['theta'], holder=Holder(1, 1, 1, 1), monotone=False)",
    "gb.RewardModel.from_functions(['theta'], holder=Holder(1.1, 1, 1, 1))",
    "gb.RewardModel.from_functions(['theta'], holder=Holder(1, 1, 0.9, 1))",
    "gb.RewardModel.from_functions(['theta'], holder=Holder([1, 1], 1, 1, 1))",
    "gb.RewardModel.from_functions(['theta'], monotone=False).holder",
    "gb.RewardModel.from_functions(['theta'], monotone=False).invert(0, 0.2)",
    "gb.RewardModel.from_functions(['theta'], monotone=1)",
    "gb.RewardModel('arm', [0.5])",
    "gb.RewardModel(7, [0.5])",
    "gb.RewardModel('arm*theta', ['x'])",
    "gb.RewardModel('arm*theta', [True])",
    "gb.RewardModel('0.5*theta', ['x', True]).means(0.4)",
    "gb.RewardModel('arm*theta', [0.5], {'theta': (0, 1)})",
    "gb.RewardModel('arm*theta', [0.5], (1, 0))",
    "gb.RewardModel('arm*theta', [0.5], (0, 1), reward_range=(0, 1e301))",
    "gb.RewardModel(one_at_a_time, [0.5, 1.0]).means([0.1, 0.9])",
    "gb.RewardModel(lambda t, x: t, [10**400, 1]).means(0.5)",
    "gb.RewardModel(lambda t, x: np.array([t]), [1]).means(0.5)",
    "gb.RewardModel(lambda t, x: np.array([t, t]), [1])",
    "gb.RewardModel(lambda t, x: t if np.ndim(t) else np.array([t]), [1, 2]).means([0.1, 0.2])",
    "gb.RewardModel(lambda t, x: t * 0.9 if np.ndim(t) else t, [1, 2]).means([0.1, 0.2])",
    "gb.RewardModel('arm*theta', [0.5], value=lambda m, x: m / 0).worth(0.1)",
    "gb.RewardModel('arm*theta', [0.5], value='mean + theta')",
    "gb.RewardModel('arm*theta', ['x'], value='mean')",
    "gb.RewardModel('theta', ['x'], value='mean*arm')",
    "gb.RewardModel.from_table([0, 1], [[0.1], [0.9]], domain=(0.2, 1.5))",
    "gb.RewardModel.from_table([0, 1], [[0.1], [0.9]], domain=(-0.2, 0.5))",
    "gb.RewardModel.from_table([0, 1], [[0.1], [0.9]], domain=(0.2, 0.5)).to_dict()",
    "gb.RewardModel.from_table([0, 1], [[0.1, 0.2], [0.9, 0.8]], ['x'])",
    "gb.RewardModel.from_table([0, 1], [[0.1], [0.9]], contexts=['x'], values=['mean'])",
    "gb.RewardModel.from_table([0, 1], [[0.1], [0.9]], contexts=['x'])",
    "gb.RewardModel.from_table([0, 1], [[[0.1]], [[0.9]]], [4], contexts=['x']).to_dict()",
    "gb.RewardModel.from_table([0, 1], [[0.1, 0.2], [0.9, 0.8]], [4], contexts=['x', 'y'])"
    ".to_dict()",
    "gb.RewardModel.from_table([0, 1], [[0.1, 0.2], [0.9, 0.8]], [4], contexts=['x'])",
    "gb.RewardModel.from_table([0, 1], [[[0.1], [0.2]], [[0.9], [0.3]]], [4], contexts=['x', 'y'],"
    " value='mean*arm').worth(0.5, 'y')",
    # Several unknown numbers.
    *(f"BOX.means({theta})" for theta in ("[0.1, 0.2]", "{'a': 0.1, 'b': 0.2}", "{'a': 0.1}")),
    *("BOX.means({'a': 0.1, 'b': 0.2, 'c': 0})", "BOX.means([0.1])", "BOX.means([0.1, 0.31])"),
    *(
        "BOX.means({'a': [0.1, 0.2], 'b': 0.2})",
        "BOX.means({'a': [0.1, 0.2], 'b': [0.1, 0.2, 0.3]})",
    ),
    *("BOX.means([[0.1, 0.2], [0.1, 0.05]])", "BOX.means(0.1)", "BOX.best_arms([[0.1, 0.2]])"),
    *("BOX.best_arms([0.1, 0.2])", "BOX.suboptimality_gap([0.1, 0.2])", "BOX.named([0.1, 0.2])"),
    *("BOX.to_unit([0.1, 0.2])", "BOX.from_unit([0.0, 1.0])", "BOX.from_unit([[0.5, 1.0]])"),
    *("WORTH.worth([0.5, 1.0])", "WORTH.worth_of(1, 0.4)", "WORTH.gaps([0.5, 1.0])"),
    *("WORTH.fixed(a=0.5)", "WORTH.fixed(a=0.5).means(1.0)", "WORTH.fixed(b=1.0).worth(0.5)"),
    *("WORTH.fixed()", "WORTH.fixed(a=0.1)", "WORTH.fixed(c=0.1)", "WORTH.fixed(a=0.5, b=1.0)"),
    *("SPACE_BOX.fixed(b=1.0)", "SPACE_BOX.fixed(b=1.0).means([0.5, 0.5])", "SPACE_BOX.fixed()"),
    *("WORTH.fixed(a=0.5).to_dict()", "SPACE_BOX.fixed(b=1.0).to_dict()"),
    *("WORTH.along([0.5, 1.0], {'a': 0.1})", "WORTH.along([0.5, 1.0], {'a': 0.1}).means(1.0)"),
    *("WORTH.along([0.5, 1.0], [0.1, -0.5]).domain", "WORTH.along([0.5, 1.0], [0.0, 0.0])"),
    *("WORTH.along([0.5, 1.0], [0.1])", "WORTH.along([0.5, 1.0], {'c': 1})"),
    *("WORTH.along([0.5, 1.0], [np.nan, 1.0])", "WORTH.along([0.5, 1.0], [0.1, -0.5]).to_dict()"),
    *("BOX.invert(0, 0.5)", "BOX.holder", "BOX.informativeness", "BOX.suboptimality_distance([0])"),
    *("BOX.regions(1)", "BOX.regions(1_025)", "BOX.regions(2).labels", "BOX.regions(3).dominated"),
    *("BOX.remarks", "WORTH.remarks", "BOX.monotone", "BOX.prior", "BOX.observed_samples()"),
    *("repr(BOX)", "repr(SPACE_BOX)", "BOX._repr_html_()", "SHOP._repr_html_()[-300:]"),
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel('a*arm + 0*b', [0.5], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 2.1)})",
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 2.0 * (1 + 5e-10))}).means([2.0])",
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 2.0 * (1 + 4e-9))})",
    "gb.VectorModel('0.2 + log(a)*arm', [0.5], {'a': (0, 1)})",
    "gb.VectorModel(lambda a, b, x: a * b * x, [0.5], {'a': (0, 1), 'b': (0, 1)})"
    ".means([0.5, 0.5])",
    "gb.VectorModel(lambda a, b, x: float(a) * b * x, ['x'], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel(lambda a, b, x: None, [0.5], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel(lambda a, b, x: 'x', [0.5], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel(lambda a, b, x: 1.0 / 0, [0.5], {'a': (0, 1), 'b': (0, 1)})",
    "gb.VectorModel(lambda a, b, x: a * b * x, [0.5], {'a': (0, 1), 'b': (0, 1)}).to_dict()",
    "gb.VectorModel(lambda a, b, x: a + len(x) * b / 9, ['x', 'yy'], {'a': (0, .5), 'b': (0, 1)})"
    ".means([[0.1, 0.2], [0.3, 0.9]])",
    "gb.VectorModel('a*arm', [True], {'a': (0, 1)})",
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 1)}, prior=3)",
    "gb.VectorModel(3, [0.5], {'a': (0, 1)})",
    *("as_box(3)", "as_box({})", "as_box({'a': (0, 1), 'b': 2})", "as_box({1: (0, 1)})"),
    *("as_box({'a': (1, 1)})", "as_box({'arm': (0, 1)})", "as_box({'1a': (0, 1)})"),
    *("as_box({k: (0, 1) for k in 'abc'})", "as_box({k: (0, 1) for k in 'abcd'})"),
    *("as_box({'a': (1, 1, 1)})", "as_box({'a': 'xx'})", "as_box({'a': (2, 1)})"),
    "tabulation.spread_points(1, 3)",
    "tabulation.spread_points(2, 3)",
    "tabulation.spread_points(3, 3)",
    "tabulation.grid_points(2, 3)",
    "gb.VectorModel('a*b*c*arm', list(np.linspace(0.1, 1, 223)),"
    " {'a': (0, 1), 'b': (0, 1), 'c': (0, 1)})",
    # Priors.
    "NormalPrior(mean={'a': 1}, sd={'a': 2}).to_dict()",
    "NormalPrior(mean={'a': 1}, sd={'b': 2})",
    "NormalPrior(mean={}, sd={})",
    "NormalPrior(mean=1, sd={'a': 2})",
    "NormalPrior(mean={'a': 1}, sd={'a': 0})",
    "NormalPrior(mean={'a': 'x'}, sd={'a': 1})",
    *(
        f"NormalPrior(mean={{'a': 1}}, sd={{'a': 2}}, correlation={c})"
        for c in (-1, 1, 0.99, "'x'")
    ),
    "NormalPrior(mean={'a': 1}, sd={'a': 2}, log=['b'])",
    "NormalPrior(mean={'a': 1}, sd={'a': 2}, log='a')",
    "NormalPrior.from_dict({'mean': {'a': 1}, 'sd': {'a': 2}, 'log': ['a']})",
    "NormalPrior.from_dict({'mean': {'a': 1}})",
    "NormalPrior.from_dict({'mean': {'a': 1}, 'sd': {'a': 2}, 'logs': []})",
    "NormalPrior.from_dict(3)",
    *(
        f"BOX.with_prior(NormalPrior(mean={{'a': {a}, 'b': 0.2}}, sd={{'a': 0.1, 'b': 1}}))"
        ".prior.mean"
        for a in (-1.0, -1.01, 0.1, 1.3, 1.31)
    ),
    "BOX.with_prior(NormalPrior(mean={'a': 0.2}, sd={'a': 0.1}))",
    "BOX.with_prior(NormalPrior(mean={'a': 0.2, 'b': 0.2}, sd={'a': 1, 'b': 1}, log=['a']))",
    "BOX.with_prior(NormalPrior(mean={'a': 0.2, 'b': 2.2}, sd={'a': 1, 'b': 0.2}, log=['b']))",
    "BOX.with_prior(NormalPrior(mean={'a': 0.2, 'b': -1}, sd={'a': 1, 'b': 0.2}, log=['b']))"
    ".to_dict()",
    "BOX.with_prior(None).prior",
    "BOX.with_prior(4)",
    "gb.VectorModel('a*arm', [0.5], {'a': (0, 1)},"
    " prior=NormalPrior(mean={'a': 1}, sd={'a': 2}, correlation=0.5))",
    # Figures, and models in another process.
    *("drawn(LINE)", "drawn(SHOP, 0.5)", "drawn(SHOP, 0.9, title='A')", "drawn(SHOP, 1.5)"),
    *("drawn(TOUCHING, 0.5)", "drawn(TOUCHING, 0.3)", "drawn(LABELS)", "drawn(CLOSURE, 2.5)"),
    *("drawn(BOX)", "drawn(WORTH, [0.5, 1.0])", "drawn(SPACE_BOX)", "drawn(BOX, [0.5, 1.0])"),
    *("drawn(SPACE_BOX, [0.5, 1.0, 0.3], title='A')", "drawn(CLOSURE_BOX, {'a': 0.5, 'b': 2.0})"),
    "drawn(gb.VectorModel('a*arm', [0.5], {'a': (0, 1)}), [0.25], title='A')",
    "CLOSURE._repr_html_()[-200:]",
    "gb.RewardModel.from_functions([f'{0.3 - 0.01*k} + {0.02*k}*theta' for k in range(25)])"
    "._repr_html_()[-120:]",
    "gb.VectorModel('a*arm/30', list(range(1, 24)), {'a': (0, 1)})._repr_html_()[-120:]",
    *(
        f"pickled({model}){question}"
        for model, thetas in (
            ("CLOSURE", "[2.1, 3.0]"),
            ("CLOSURE_BOX", "[[0.2, 1.5], [1.0, 3.0]]"),
        )
        for question in (
            f".means({thetas})",
            f".worth({thetas})",
            ".worth_of(1, [5.0, 33.0])",
            ".fingerprint",
            ".to_dict()",
            "._seen['mean']",
            "._seen['value']",
            f"._observed is {model}._observed",
        )
    ),
    *("pickled(CLOSURE).invert(1, 25.0)", "pickled(pickled(CLOSURE)).worth(2.5)"),
    *("CLOSURE.worth_lipschitz", "CLOSURE.invert(1, [25.0, 5.0, 60.0])", "CLOSURE.worth_range"),
    *(
        "CLOSURE_BOX.worth_range",
        "CLOSURE_BOX.fixed(a=0.5).worth(1.5)",
        "CLOSURE_BOX._seen['value']",
    ),
    "CLOSURE_BOX.along([0.5, 2.0], [0.1, 0.3]).worth(0.5)",
    # Contexts and groups.
    *(
        "CELLS.means(0.5)",
        "CELLS.means(0.5, 'y')",
        "CELLS.means(0.5, 'z')",
        "CELLS.best_arms(0.5, 'x')",
    ),
    *("CELLS.worth(0.5)", "CELLS.gaps([0.1, 0.9], 'x')", "CELLS.worth_of(1, 0.5, 'y')"),
    *(
        "CELLS.worth_of(2, 0.5, 'y')",
        "CELLS.worth_of(-1, 0.5, 'y')",
        "CELLS.remarks",
        "CELLS.domain",
    ),
    *(
        "CELLS.parameters",
        "CELLS.reward_range",
        "CELLS.worth_range",
        "CELLS.valued",
        "CELLS.monotone",
    ),
    *(
        "CELLS.end_of_domain(0.001)",
        "CELLS.in_context('x')",
        "CELLS.in_context(1)",
        "CELLS.n_contexts",
    ),
    *("CELLS.context_index('y')", "CELLS.context_index(None)", "CELLS.cells.tables.n_contexts"),
    *("as_contexts('xy')", "as_contexts([])", "as_contexts(['x', ''])", "as_contexts(['x', 'x'])"),
    *("as_contexts({'x': 3})", "as_contexts(iter(['x', 'y']))", "as_contexts([1])"),
    "gb.RewardModel('arm*theta', [0.5], contexts=['x'], holder=Holder(1, 1, 1, 1))",
    "gb.RewardModel('arm*theta + context', [0.5], contexts=['x'])",
    "gb.RewardModel('arm*theta + context', [0.5], contexts={'x': True})",
    "gb.RewardModel('arm*theta', ['x'], contexts=['x'])",
    "gb.RewardModel('theta', ['x'], contexts=['x']).to_dict()",
    "gb.RewardModel('arm*theta', [0.5], contexts=['x'], monotone=False,"
    " reward_range=(0, 2)).to_dict()",
    "gb.RewardModel('arm*theta', range(1, 1_002), contexts=range(100))",
    "gb.RewardModel('arm*theta', range(1_001), contexts=[str(k) for k in range(100)])",
    *(
        "gb.RewardModel('arm*theta', [0.3, 0.6], contexts={'x': 1, 'y': 2, 'z': 4},"
        f" value='mean - 0.2*arm*context').worth_of({arm}, 0.5, {context!r})"
        for arm in (0, 1)
        for context in "xyz"
    ),
    "gb.RewardModel(lambda t, x, c: x * t / c, [0.5], contexts={'x': 1, 'y': 2}).means(0.5)",
    "gb.RewardModel(lambda t, x, c: x * t / len(c), [0.5], contexts=['x', 'yy']).means(0.5)",
    "gb.RewardModel(lambda t, x, c: x * t, [0.5], contexts=['x']).to_dict()",
    "gb.VectorModel('a*arm + b*context', [0.5], {'a': (0, 1), 'b': (0, 0.5)},"
    " contexts={'x': 0.5, 'y': 1}).to_dict()",
    *("GROUPS.means([0.5, 0.5])", "GROUPS.means(0.5)", "GROUPS.means([0.5])", "GROUPS.tables"),
    *("GROUPS.domain", "GROUPS.worth_of(4, 0.2)", "GROUPS.worth_of(5, 0.2)", "RegionalModel([])"),
    *("RegionalModel([LINE, MONEY])", "GROUPS.same_observed(GROUPS.observed_samples())"),
    *("GROUPS.same_observed({'groups': []})", "GROUPS.same_observed(3)", "repr(GROUPS)"),
    "GROUPS.same_observed(GROUPS.observed_samples(), [0, 1, 2, 3, 4])",
    "GROUPS.same_observed(GROUPS.observed_samples(), [1, 0, 2, 3, 4])",
    "GROUPS.same_observed({'groups': GROUPS.observed_samples()['groups'][::-1]})",
    # Whether two models agree.
    *(
        f"LINE.same_observed(LINE.observed_samples(), {rows})"
        for rows in ("[0, 1, 2]", "[1, 0, 2]")
    ),
    *(f"LINE.same_observed(LINE.observed_samples(), {rows})" for rows in ("[0, 1]", "[0, 1, 3]")),
    *("LINE.same_observed(LINE.observed_samples(), [None, 1, None])", "LINE.same_observed({})"),
    *("LINE.same_observed(LINE.observed_samples(), [None] * 3)", "LINE.same_observed([])"),
    *("LINE.same_observed(LINE.observed_samples(), [-1, 1, 2])", "LINE.same_observed('x')"),
    *(
        f"gb.RewardModel('{shift!r} + arm*theta', [0.3, 0.5, 0.7])"
        f".same_observed(LINE.observed_samples())"
        for shift in (0.1, 0.1 + 9e-8, 0.1 + 1.1e-7)
    ),
    *(
        f"gb.RewardModel('0.1 + arm*theta', [0.3, 0.5, 0.7], (0.0, {end!r}))"
        f".same_observed(LINE.observed_samples())"
        for end in (1.0 - 5e-8, 1.0 - 2e-7)
    ),
    "gb.RewardModel('0.1 + arm*theta', [0.3, 0.5]).same_observed(LINE.observed_samples())",
    "gb.RewardModel('0.1 + arm*theta', [0.3, 0.5]).same_observed(LINE.observed_samples(), [0, 1])",
    "LINE.same_observed(LINE.observed_samples() | {'means': [[0.1] * 33]})",
    "LINE.same_observed(LINE.observed_samples() | {'means': [[0.1] * 32] * 3})",
    "LINE.same_observed(LINE.observed_samples() | {'domain': [0.0, 'x']})",
    "LINE.same_observed(BOX.observed_samples())",
    "BOX.same_observed(BOX.observed_samples())",
    "BOX.same_observed(LINE.observed_samples())",
    "BOX.same_observed(WORTH.observed_samples())",
    "BOX.same_observed(BOX.observed_samples() | {'domain': [['b', 0, 0.3], ['a', 0.1, 0.3]]})",
    "BOX.same_observed(BOX.observed_samples() | {'domain': [['a', 0, 0.3], ['b', 0.1, 0.31]]})",
    "can_be_pickled([len])",
    "can_be_pickled([lambda: 0])",
    # Formulas at their limits.
    *(f"Expression({text}, names=('theta',)).n_steps" for text in ("SUMS", "SUMS + '+theta'")),
    *("Expression('theta' + ' ' * 995).n_steps", "Expression('theta' + ' ' * 996).n_steps"),
    *("Expression(DEEP).n_steps", "Expression('-' * 98 + 'theta').n_steps"),
    *("Expression('-' * 99 + 'theta').n_steps", "Expression('-' * 100 + 'theta').n_steps"),
    *(f"Expression('theta**{power}').n_steps" for power in ("100", "100.5", "(-100)", "(-101)")),
    *(f"Expression('theta**{power}').n_steps" for power in ("(99 + 2)", "(99 + 1)", "arm")),
    *("Expression('1e100*theta').n_steps", "Expression('1.1e100*theta').n_steps"),
    *(
        f"Expression({text!r}).n_steps"
        for text in (
            "",
            "  ",
            "  theta +",
            "\ttheta\n+ $",
            "theta arm",
            "2 3",
            "theta (2)",
            "2(theta)",
            "exp",
            "exp + 1",
            "exp()",
            "exp(theta, arm)",
            "min(theta)",
            "min(theta, arm, 1)",
            "max()",
            "exp (theta)",
            "(theta",
            "theta)",
            "((theta)",
            "()",
            "theta**",
            "**theta",
            "theta ** ** 2",
            "1.2.3",
            "1e5x",
            "0x10",
            "1_000",
            "thetta",
            "log2(theta)",
            "theta, arm",
            "(theta, arm)",
            "theta + - + arm",
            "+theta",
            "theta*(arm + 1",
            ".5*theta",
            "5.*theta",
            "1e400*theta",
            "theta * , arm",
            "min(theta,, arm)",
            "a" * 1_001,
            "theta + 0777",
            "  0777",
            "theta*\n\t07",
        )
    ),
    *(
        "Expression(3)",
        "repr(Expression('c*theta', constants={'c': 2}))",
    ),
    "repr(Expression('theta'))",
    "Expression('theta') == Expression('theta')",
    "Expression('theta') == 'theta'",
    "Expression('c', constants={'c': 1.0}) == Expression('c', constants={'c': 2.0})",
    "Expression('theta') == Expression('theta', ('theta',))",
    "hash(Expression('theta')) == hash(Expression('theta'))",
    "Expression('theta**c', constants={'c': 500.0}).n_steps",
    "Expression('arm')(np.zeros(3), 2.0)",
    "Expression('2')(np.zeros(3), 2.0)",
    "Expression('theta', ('theta', 'arm'))(np.zeros(3), np.ones((2, 1)))",
    "Expression('exprel(theta)')([-2.0, 0.0, 1e-9, 2.0], 0)",
    "Expression('exprel(theta)').slope.run({'theta': np.array([-3, -1, -1e-3, 0, .5, 1, 4])})",
    "Expression('expit(theta)').slope.run({'theta': np.array([-3.0, 0.0, 40.0])})",
    "Expression('tanh(theta)').slope.run({'theta': np.array([-3.0, 0.0, 40.0])})",
    "Expression('abs(theta) + min(theta, arm) + max(theta, 0.5, arm)').slope.run("
    "{'theta': np.array([-1, 0.4, 0.6, 2.0]), 'arm': np.array(0.55)})",
    *(
        f"Expression('{name}(theta, arm)').slope.run("
        "{'theta': np.array([0.4, 0.5, 0.6]), 'arm': np.array(0.5)})"
        for name in ("min", "max")
    ),
    # Descriptions.
    *(
        f"build({content})"
        for content in (
            "mean='arm*theta', arms=[0.5, 1.0]",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5, 'step': 0.1}",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5, 'number': 3}",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5}",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5, 'number': 0}",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5, 'number': 1001}",
            "mean='arm*theta', arms={'from': 0, 'to': 1, 'step': 0.0001}",
            "mean='arm*theta', arms={'from': 0.5, 'to': 0.1, 'step': 0.1}",
            "mean='arm*theta', arms={'from': 0.1, 'to': 0.5, 'steps': 2}",
            "mean='arm*theta'",
            "mean='arm*theta', arms=3",
            "mean='arm*theta', arms=[]",
            "mean='arm*theta', arms=[None]",
            "mean='arm*theta', arms=[True]",
            "mean='arm*theta', arms=[float('nan')]",
            "mean='arm*theta/2**53', arms=[2**53]",
            "mean='arm*theta/2**53', arms=[2**53 + 1]",
            "mean='arm*theta/1001', arms=list(range(1, 1002))",
            "mean='theta', arms=['x'], value='mean'",
            "mean='theta', arms=['x'], value=['mean']",
            "mean='theta', arms=['x'], value=3",
            "mean='theta', arms=['x'], cost=0.1",
            "mean='theta', arms=['x'], target=0.1",
            "mean='theta', arms=['x'], target=0.1, penalty=0.1",
            "mean='theta', arms=['x'], target=0.1, penalty=-0.1",
            "mean='theta', arms=['x'], penalty=0.1, cost=0.1",
            "mean='theta', arms=['x'], value='mean', cost=0.1",
            "mean='theta', arms=[0.5], cost=0.1",
            "mean='theta', arms=[0.5], cost=-0.1",
            "mean='theta', arms=[0.5], penalty=0.1",
            "mean='theta', arms=[0.5], version=1",
            "mean='theta', arms=[0.5], version=2",
            "mean='theta', arms=[0.5], version=True",
            "mean='theta', arms=[0.5], version=1.0",
            "mean='theta', arms=[0.5], domain=(0, 0.5), reward_range=(0, 2), monotone=False",
            "mean='theta', arms=[0.5], domains=(0, 0.5)",
            "mean='theta', arms=[0.5], family='demand.linear'",
            "means=['theta'], table={}",
            "arms=[0.5]",
            "aims=[0.5]",
            "mean=3, arms=[0.5]",
            "mean='theta', arms=[0.5], holder={'lower_constant': 1}",
            "mean='theta', arms=[0.5], holder={'lower_constant': 1, 'lower_exponent': 1,"
            " 'upper_constant': 1, 'upper_exponent': 1}",
            "mean='theta', arms=[0.5], holder={'lower_constant': 2, 'lower_exponent': 1,"
            " 'upper_constant': 1, 'upper_exponent': 1}",
            "mean='theta', arms=[0.5], prior={'mean': {'a': 1}, 'sd': {'a': 1}}",
            "means=['theta', '1 - theta']",
            "means=['theta', '1 - theta'], arms=['x']",
            "means=['theta', '1 - theta'], value=['mean', '2*mean']",
            "means=['theta', '1 - theta'], value=['mean']",
            "means=['theta', '1 - theta'], value=['mean', 3]",
            "means=['theta', '1 - theta'], value='mean*arm'",
            "means=['theta', 3]",
            "means=[]",
            "means='theta'",
            "means=['theta*arm']",
            "table={'theta': [0, 1], 'means': [[0.1], [0.9]]}",
            "table={'theta': [0, 1], 'means': [[0.1], [0.9, 0.3]]}",
            "table={'theta': [0, 1], 'means': [[0.1], ['x']]}",
            "table={'theta': [0, True], 'means': [[0.1], [0.9]]}",
            "table={'theta': [0, 1], 'means': [[0.1], [0.1]]}",
            "table={'theta': [0, 1], 'means': [[0.1], [1.1]]}",
            "table={'theta': [0, 1], 'means': 3}",
            "table={'theta': [0, 1]}",
            "table=[0, 1]",
            "table={'theta': [0, 1], 'means': [[0.1], [0.9]]}, holder={}",
            "table={'theta': [0, 1], 'means': [[0.1] * 50_001, [0.9] * 50_001]}",
            "table={'theta': [1, 0], 'means': [[0.1], [0.9]]}, arms=['x'], target=0.3",
            "table={'theta': [0, 1], 'means': [[0.1], [0.9]]}, arms=['x'], target=0.3",
            "family='demand.linear', arms=[0.4, 0.6], cost=0.1",
            "family='linear', arms=[0.4, 0.6]",
            "family='logit', arms=[0.4, 0.6]",
            "family='power', arms=[0.4, 1.6]",
            "family='logits', arms=[0.4, 0.6]",
            "family=3, arms=[0.4, 0.6]",
            "family='logit', arms=[0.4, -0.6]",
            "family='emax', arms=[0.4, -0.6]",
            "family='logit', arms=[0.4, 0.6], costs=3",
            "family='logit', arms=[0.4, 0.6], version=1",
            "family='demand.exponential', arms=[2.0, 4.0], level=[0.1, 0.5]",
            "mean='arm*theta + context', arms=[0.5], contexts={'x': 0.1, 'y': 0.2}",
            "mean='arm*theta', arms=[0.5], contexts=['x', 'y'], value='mean*arm'",
            "mean='arm*theta', arms=[0.5], contexts=['x', 'y'], cost=0.2",
            "mean='arm*theta', arms=[0.5], contexts=[]",
            "mean='arm*theta', arms=[0.5], contexts='x'",
            "mean='arm*theta', arms=[0.5], contexts=['x'], value=3",
            "mean=3, arms=[0.5], contexts=['x']",
            "means=['arm*theta'], arms=[0.5], contexts=['x']",
            "mean='arm*theta/501', arms=list(range(1, 502)), contexts=['x', 'y']",
            "table={'theta': [0, 1], 'means': [[0.1, 0.2], [0.9, 0.8]]}, arms=[4],"
            " contexts=['x', 'y']",
        )
    ),
    *(
        f"build_box({content})"
        for content in (
            "mean='a*arm', arms=[0.5, 1.0], domain={'a': (0, 1)}",
            "mean='a*arm + b', arms=[0.5], domain={'b': (0, 0.5), 'a': (0, 1)}",
            "mean='a*arm + b', arms=[0.5], domain={'b': (0, 0.5), 'a': (0, 1)},"
            " parameters=['a', 'b'], value='mean', reward_range=(0, 2)",
            "mean='a*arm + b', arms=[0.5], domain={'b': (0, 0.5), 'a': (0, 1)}, parameters=['a']",
            "mean='a*arm', arms=[0.5], domain={'a': (0, 1)}, parameters=[1]",
            "mean='a*arm', arms=[0.5], domain={'a': (0, 1)}, monotone=True",
            "mean='a*arm', arms=[0.5], domain={'a': (0, 1)}, value=['mean']",
            "mean=3, arms=[0.5], domain={'a': (0, 1)}",
            "means=['a'], arms=[0.5], domain={'a': (0, 1)}",
            "mean='arm*theta', arms=[0.5]",
            "mean='a*arm', arms=[0.5], domain={'a': (0, 1)},"
            " prior={'mean': {'a': 0.5}, 'sd': {'a': 1}}",
            "mean='a*arm + context', arms=[0.5], domain={'a': (0, 0.5)}, contexts={'x': 0.1}",
            "mean='a*arm', arms=[0.5], domain={'a': (0, 0.5)}, contexts=['x'], monotone=True",
        )
    ),
    "gb.RewardModel.from_dict({'mean': 'a*arm', 'arms': [0.5], 'domain': {'a': (0, 1)}})",
    "gb.RewardModel.from_dict(3)",
    "gb.RewardModel.from_dict({1: 2})",
    "build(mean='theta+' * 49 + 'arm*theta/50', arms=list(range(1, 501)))",
    "files._check_steps('mean', [Expression('arm*theta')], 6_666)",
    "files._check_steps('mean', [Expression('arm*theta')], 6_667)",
    # Small helpers.
    *("inputs.as_span('x', (0, 1e301))", "inputs.as_span('x', (0, 1e-291))"),
    *("inputs.as_span('x', (0, 1e300))", "inputs.as_span('x', (0, 1e-290))"),
    *("inputs.as_span('x', (1, 1 + 2e-12))", "inputs.as_span('x', (1, 1 + 3e-12))"),
    *("inputs.as_span('x', (-1, -1 + 2e-12))", "inputs.as_span('x', (1, 1))", "inputs.as_arms(3)"),
    *(
        "inputs.as_arms([])",
        "inputs.as_arms([1, 1])",
        "inputs.as_arms([[1]])",
        "inputs.as_arms('ab')",
    ),
    *(
        "inputs.as_arms(np.arange(2))",
        "inputs.as_numbers('x', None)",
        "inputs.as_numbers('x', ['y'])",
    ),
    *(
        f"inputs.decimal_steps('x', {ends}, 5, ModelError, 'shown')"
        for ends in (
            "(0, 1, 0.25)",
            "(0, 1, 0.2)",
            "(0, 1, 0.3)",
            "(1, 1, 1)",
            "(1, 0, 1)",
            "(0, 1, 0)",
            "(0, 1, 'x')",
            "('nan', 1, 1)",
            "(0, 'inf', 1)",
            "(0, 1, '1e-999999')",
        )
    ),
    *("names.full_name('linear')", "names.full_name('emax')", "names.full_name('dose.emax')"),
    *("names.full_name('emxa')", "names.full_name(3)", "names.full_name('x', 'model', ['xy'])"),
    *("names.short_names()", "sorted(names.families())", "names.parameters_of('dose.emax')"),
    *("names.build_family('emax', [1.0], {'hill': 2.0})", "names.three_arms()"),
    *("names.build_family('emax', [1.0], {'hills': 2.0})", "Profit(2.0).remarks((1.0, 2.0))"),
    *("Profit(2.1).remarks((1.0, 2.0))", "Profit(0.5)(0.5, 2.0)", "Benefit(0.3)(0.5, 'x')"),
    *(
        "Benefit(None, 0.1)(0.5, 2.0)",
        "Benefit(0.3, 0.1)(np.array([0.1, 0.5]), 2.0)",
        "Benefit().remarks(())",
    ),
    *("BOX.observes_sales", "gb.demand.linear([0.5]).observes_sales", "gb.dose.emax([1.0]).target"),
    *("gb.demand.linear([0.5], cost=0.1).observes_sales", "gb.dose.emax([1.0], target=0.2).target"),
    "gb.demand.linear([0.5], observe='sales').observes_sales",
]


def answer(question):
    """The answer as plain data, or the message of the error."""
    try:
        found = eval(question, globals() | NAMES)
    except ModelError as error:
        return f"ModelError: {error}"
    if isinstance(found, np.ndarray):
        return [*found.shape, *found.ravel().tolist()]
    if isinstance(found, float):
        return [found]
    if isinstance(found, gb.RewardModel | gb.VectorModel) and type(found._sources[0]) is Expression:
        return f"{found!r} {found.to_dict()}"
    return str(found) if isinstance(found, str) else repr(found)


NUMBER = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?")


def differs(found, recorded):
    """Whether answers differ by more than rounding errors."""
    if isinstance(recorded, list) and isinstance(found, list):
        return not np.allclose(found, recorded, rtol=1e-9, atol=1e-12, equal_nan=True)
    if isinstance(recorded, str) and isinstance(found, str) and found != recorded:
        numbers = [[float(number) for number in NUMBER.findall(text)] for text in (found, recorded)]
        same_words = NUMBER.sub("#", found) == NUMBER.sub("#", recorded)
        return not (same_words and np.allclose(*numbers, rtol=1e-9, atol=1e-12))
    return found != recorded


def test_answers_are_the_recorded_ones():
    recorded = json.loads(RECORD.read_text())
    assert list(recorded) == QUESTIONS
    wrong = {q: (answer(q), recorded[q]) for q in QUESTIONS if differs(answer(q), recorded[q])}
    assert wrong == {}


@pytest.mark.parametrize("model", [LINE, SHOP, MONEY], ids=["line", "shop", "money"])
def test_constants_that_are_a_little_wrong_are_refused(model):
    holder = model.holder
    for factor, refused in ((1.0 - 2e-6, True), (1.0 - 5e-7, False), (1.001, False)):
        wider = Holder(
            holder.lower_constant / factor,
            holder.lower_exponent,
            holder.upper_constant * factor,
            holder.upper_exponent,
        )
        if refused:
            with pytest.raises(ModelError, match="must be at"):
                verify_holder(wider, model._observed, model.n_arms, model.domain)
        else:
            verify_holder(wider, model._observed, model.n_arms, model.domain)


@pytest.mark.parametrize(
    ("size", "change", "refused"),
    [
        (20.0, 1.5e-8, False),
        (20.0, 2.5e-8, True),
        (0.05, 0.9e-9, False),
        (0.05, 1.1e-9, True),
    ],
)
@pytest.mark.parametrize("what", ["mean", "value"])
def test_functions_that_change_by_more_than_rounding_are_noticed(size, change, refused, what):
    drift = {"mean": 0.0, "value": 0.0}

    def mean(t, x):
        return size + 0.0 * t + 1e-12 * size * x * t + drift["mean"]

    def value(m, x):
        return m * x + drift["value"]

    options = {"reward_range": (0.0, 40.0), "value": value}
    models = [
        gb.RewardModel(mean, [1.0], monotone=False, **options),
        gb.VectorModel(lambda a, x: mean(a, x) + 1e-3 * a, [1.0], {"a": (0.0, 1e-7)}, **options),
    ]
    drift[what] = change
    for model, theta in zip(models, (0.5, [5e-8]), strict=True):
        if refused:
            with pytest.raises(ModelError, match=f"{what} of arm 1.0 must not change after the"):
                model.means(theta)
        else:
            model.means(theta)


if __name__ == "__main__":
    RECORD.write_text(json.dumps({q: answer(q) for q in QUESTIONS}, indent=1) + "\n")
