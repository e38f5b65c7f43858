"""The numbers of the page's main picture, computed by its own script, against the library."""

import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.service import http
from globalbandits.service.http.handlers import curves_out
from globalbandits.service.http.request import encode_json

PAGE = Path(http.__file__).parent / "page"
pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="no Node.js here")


def evaluate(tmp_path, expression, data=None):
    """The value of an expression with the functions of prices.js."""
    module = tmp_path / "prices.mjs"
    module.write_text((PAGE / "prices.js").read_text())
    code = (
        f'import * as page from "{module.as_uri()}"; const data = {json.dumps(data)}; '
        f"let found; try {{ found = {expression}; }} catch (error) {{ found = error.message; }} "
        "console.log(JSON.stringify(found));"
    )
    command = ["node", "--input-type=module", "--eval", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_the_band_holds_every_worth_that_the_interval_allows(tmp_path):
    model = gb.demand.exponential([2.0, 3.0, 4.0, 5.0], cost=1.5)
    low, theta, high = 0.21, 0.3, 0.37
    curves = json.loads(encode_json(curves_out(model)))
    data = {"curves": curves, "theta": theta, "low": low, "high": high}
    expression = "page.worthByArm(data.curves, data.theta, data.low, data.high)"
    rows = evaluate(tmp_path, expression, data)
    worths = np.asarray(model.worth(np.linspace(low, high, 2_001)))
    # The page interpolates 81 points of each curve.
    step = (model.domain[1] - model.domain[0]) / 80
    slopes = np.abs(np.gradient(np.asarray(model.worth(np.linspace(*model.domain, 81))), step)[0])
    tolerance = step * slopes.max()
    assert [row["value"] for row in rows] == [2.0, 3.0, 4.0, 5.0]
    for arm, row in enumerate(rows):
        assert row["mid"] == pytest.approx(float(model.worth(theta)[arm]), abs=tolerance)
        assert row["low"] == pytest.approx(worths[:, arm].min(), abs=tolerance)
        assert row["high"] == pytest.approx(worths[:, arm].max(), abs=tolerance)
        assert row["low"] <= row["mid"] <= row["high"]
    asked = {"rows": rows, "regions": curves["regions"], "interval": {"low": low, "high": high}}
    top = evaluate(tmp_path, "page.best(data.rows, data.regions, data.interval)", asked)
    assert top["value"] == model.arms[model.best_arms(theta)[0]]
    # Bands overlap although some prices are best for no theta of the interval.
    allowed = {model.arms[arm] for at in np.linspace(low, high, 500) for arm in model.best_arms(at)}
    assert set(top["others"]) == allowed - {top["value"]}


def test_labels_of_arms_and_worth_for_shops(tmp_path):
    said = evaluate(tmp_path, "page.words({family: 'demand.linear', cost: 1})")
    assert (said["arm"], said["worth"]) == ("price", "profit per customer")
    assert evaluate(tmp_path, "page.words({family: 'dose.emax'}).arm") == "dose"
    assert evaluate(tmp_path, "page.words({mean: 'theta'}).arm") == "arm"


def test_a_file_of_a_model_or_of_a_fit(tmp_path):
    model = gb.demand.linear([0.4, 0.8]).to_dict()
    both = {"model": model, "policy": {"policy": "elastic"}}
    assert evaluate(tmp_path, "page.uploaded(data)", json.dumps(model))["model"] == model
    assert evaluate(tmp_path, "page.uploaded(data)", json.dumps(both)) == both
    for text, message in (("{", "must be JSON"), ("[1]", "must have a model"), ("null", "a model")):
        assert message in evaluate(tmp_path, "page.uploaded(data)", text)
