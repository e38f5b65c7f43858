"""`fit(context=...)`: one theta per group, curves of each context."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import FitError
from globalbandits.fitting import ContextFit

PRICES = [2.0, 3.0, 4.0]
OFFSETS = {"weekday": 0.0, "weekend": 1.5}


def history(groups=24, rows=60, seed=3):
    """Sales of stores whose demand falls with a number of their own, higher at weekends."""
    rng = np.random.default_rng(seed)
    columns = {"store": [], "price": [], "day": [], "sold": []}
    for store, slope in enumerate(np.linspace(0.4, 1.4, groups)):
        for day, offset in OFFSETS.items():
            for price in PRICES:
                chance = 1 / (1 + np.exp(-(2.0 + offset - slope * price)))
                sold = rng.random(rows) < chance
                columns["store"] += [f"s{store}"] * rows
                columns["price"] += [price] * rows
                columns["day"] += [day] * rows
                columns["sold"] += sold.astype(int).tolist()
    return {name: np.array(values) for name, values in columns.items()}


NAMES = {"group": "store", "arm": "price", "reward": "sold"}
ROWS = history()


@pytest.fixture(scope="module")
def found():
    return gb.fit(ROWS, **NAMES, context="day", cost=1.0)


def test_a_model_with_contexts_is_fitted(found):
    assert isinstance(found, ContextFit)
    assert found.model.contexts == ("weekday", "weekend")
    assert found.model.arms == tuple(PRICES)
    assert found.share > 0.5
    # The curves of the middle group.
    expected = [
        [1 / (1 + np.exp(-(2.0 + offset - 0.9 * price))) for price in PRICES]
        for offset in OFFSETS.values()
    ]
    np.testing.assert_allclose(found.model.means(0.5), expected, atol=0.05)
    # Worth is profit.
    worth = (np.array(PRICES) - 1.0) * found.model.means(0.5)
    np.testing.assert_allclose(found.model.worth(0.5), worth, atol=1e-9)
    frame = found.arms
    assert frame.index.names == ["context", "arm"]
    np.testing.assert_allclose(frame.groupby("context")["best"].sum(), 1.0)
    assert "weekend: best in" in str(found)
    assert found.to_dict()["contexts"] == ["weekday", "weekend"]
    assert len(found.groups) == 24


def test_the_learner_and_the_file_of_the_model(found, tmp_path):
    found.save(tmp_path / "model.json")
    model = gb.load_model(tmp_path / "model.json")
    theta = np.linspace(0.0, 1.0, 7)
    np.testing.assert_allclose(model.means(theta), found.model.means(theta), atol=1e-12)
    np.testing.assert_allclose(model.worth(theta), found.model.worth(theta), atol=1e-12)
    learner = gb.Learner(found.policy, model, seed=1, compiled=False)
    for number in range(12):
        context = model.contexts[number % 2]
        learner.update(learner.select(context=context), float(number % 3 == 0), context=context)
    assert learner.pulls.sum() == 12
    one = model.in_context("weekend")
    np.testing.assert_allclose(one.means(0.3), model.means(0.3, context="weekend"))


def test_the_command_line(tmp_path, capsys):
    from globalbandits.cli import main

    path, out = tmp_path / "rows.csv", tmp_path / "model.json"
    lines = ["store,price,day,sold"]
    lines += [",".join(map(str, row)) for row in zip(*ROWS.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n")
    words = ["fit", str(path), "--group", "store", "--arm", "price", "--reward", "sold"]
    with pytest.raises(SystemExit, match="0"):
        main([*words, "--context", "day", "--out", str(out)])
    assert "in 2 contexts" in capsys.readouterr().out
    assert json.loads(out.read_text())["contexts"] == {"weekday": "weekday", "weekend": "weekend"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"context": 3}, "context must be the name of a column"),
        ({"context": "month"}, "month"),
        ({"context": "day", "by": "day"}, "by must be None with context"),
        ({"context": "day", "arms": [2.0]}, "arms must be None with context"),
        ({"context": "day", "reward": None}, "reward must be given with context"),
        ({"context": "sold", "reward": "price"}, "must"),
    ],
)
def test_bad_input(options, message):
    with pytest.raises(FitError, match=message):
        gb.fit(ROWS, **NAMES | options)


def test_every_arm_must_be_in_every_context():
    keep = ~((ROWS["day"] == "weekend") & (ROWS["price"] == 4.0))
    rows = {name: values[keep] for name, values in ROWS.items()}
    with pytest.raises(FitError, match=r"'weekend' has no row of arm 4\.0"):
        gb.fit(rows, **NAMES, context="day")


def test_a_value_that_is_code_cannot_be_saved(tmp_path):
    found = gb.fit(ROWS, **NAMES, context="day", value=lambda mean, arm: arm * mean)
    assert found.model.valued
    with pytest.raises(FitError, match="value must be a formula, or a cost, to be saved"):
        found.save(tmp_path / "model.json")
