"""A run to step through: the run that `simulate` plays, and a page that shows it."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.errors import SimulationError
from globalbandits.simulation.watch import data

PRICES = [0.4, 0.6, 0.8]
POLICIES = {"WAGP": gb.WAGP(), "<b>UCB1</b></script>": gb.UCB1()}


@pytest.fixture(scope="module")
def env():
    return gb.Environment(gb.demand.linear_power(PRICES), theta=0.4)


@pytest.fixture(scope="module")
def watched(env):
    return gb.watch(env, POLICIES, horizon=40, seed=3, run=2)


def test_a_watched_run_equals_the_run_of_simulate(env, watched):
    names = dict(zip(watched.names, POLICIES.values(), strict=True))
    same = gb.simulate(env, names, 40, 1, seed=3, first_run=2, checkpoints=40, evidence=True)
    data = same.dataset.isel(run=0)
    assert np.array_equal(data["regret"].values, watched.regrets)
    assert np.array_equal(data["estimate"].values, watched.estimates, equal_nan=True)
    assert np.array_equal(data["interval_low"].values, watched.lows)
    assert np.array_equal(data["interval_high"].values, watched.highs)
    for number, arms in enumerate(watched.arms):
        assert np.bincount(arms, minlength=3).tolist() == data["pulls"].values[number].tolist()


def test_rewards_lead_a_learner_to_the_same_estimates(env, watched):
    learner = gb.Learner(gb.WAGP(), env.model, compiled=False)
    for time, (arm, reward) in enumerate(zip(watched.arms[0], watched.rewards[0], strict=True)):
        learner.update(int(arm), float(reward))
        assert learner.estimate == pytest.approx(watched.estimates[0, time], abs=1e-6)


def test_a_moving_parameter_is_drawn_as_it_moved():
    model = gb.demand.linear_power(PRICES)
    drift = gb.Jumps(times=[6], values=[0.8])
    moving = gb.watch(gb.Environment(model, 0.4, drift=drift), [gb.WAGP()], horizon=10)
    assert moving.thetas.tolist() == [0.4] * 5 + [0.8] * 5


def test_a_truth_without_a_parameter_has_no_line():
    model = gb.demand.linear_power(PRICES)
    given = gb.watch(gb.Environment(model, truth=[0.3, 0.2, 0.1]), [gb.WAGP()], horizon=3)
    assert data(given)["truth"] == [None, None, None]
    assert json.dumps(data(given), allow_nan=False)


def test_the_page_needs_nothing_else_and_labels_stay_text(watched, tmp_path):
    written = watched.save(tmp_path / "watch.html").read_text("utf-8")
    assert not re.search(r'(?:src|href)=["\']', written)
    assert written.count("</script>") == 2  # a label cannot close an element
    assert "<b>" not in written
    frame = watched._repr_html_()
    assert frame.count("<") == 2
    assert html.unescape(re.search(r'srcdoc="([^"]*)"', frame)[1]) == written


def test_what_cannot_be_watched_is_refused(env, tmp_path):
    with pytest.raises(SimulationError, match="horizon must be at most 500, got 501"):
        gb.watch(env, [gb.WAGP()], horizon=501)
    with pytest.raises(SimulationError, match="policies must be at least one"):
        gb.watch(env, [])
    with pytest.raises(SimulationError, match="env must be an Environment"):
        gb.watch("market", [gb.WAGP()])
    watched = gb.watch(env, [gb.WAGP()], horizon=2)
    with pytest.raises(SimulationError, match=r"path must end in \.html, got 'run\.svg'"):
        watched.save("run.svg")


HARNESS = """
const fs = require("fs");
const page = fs.readFileSync(process.argv[2], "utf8");
const found = {};
function element(tag) {
  return { tagName: tag, children: [], attributes: {}, heard: {}, value: "1", text: "",
    get textContent() { return this.text; },
    set textContent(text) { this.text = text; this.children = []; },
    setAttribute(name, value) { this.attributes[name] = value; },
    addEventListener(name, call) { this.heard[name] = call; },
    appendChild(child) { this.children.push(child); } };
}
global.document = {
  getElementById(id) { return found[id] || (found[id] = element("DIV")); },
  createElement: element, createElementNS: (space, tag) => element(tag),
  addEventListener(name, call) { found.key = call; },
};
found.data = element("SCRIPT");
found.data.textContent = /id="data">(.*?)<.script>/s.exec(page)[1];
found.policy = element("SELECT"); found.policy.value = "0";
eval(page.split("<script>")[1].split("</script>")[0]);
const said = [found.say.textContent];
const press = (key) => { found.key({ key, target: element("BODY"), preventDefault() {} });
                         said.push(found.say.textContent); };
press("ArrowRight"); press("End"); press("ArrowRight"); press("Home");
found.policy.value = "1"; found.policy.heard.change(); said.push(found.say.textContent);
console.log(JSON.stringify([said, found.curves.children.length, found.policy.children.length]));
"""


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node to run the page's script")
def test_keys_step_through_the_rounds(watched, tmp_path):
    written = watched.save(tmp_path / "watch.html")
    script = tmp_path / "harness.js"
    script.write_text(HARNESS, encoding="utf-8")
    done = subprocess.run(["node", script, written], capture_output=True, text=True, check=True)
    said, n_drawn, n_policies = json.loads(done.stdout)
    starts = [line.partition(":")[0] for line in said]
    assert starts == [f"Round {number} of 40" for number in (1, 2, 40, 40, 1, 1)]
    arm, reward = PRICES[watched.arms[0, 1]], float(f"{watched.rewards[0, 1]:.4g}")
    assert said[1].startswith(f"Round 2 of 40: WAGP plays {arm} and sees {reward:g}. It believes")
    assert "<b>UCB1</b></script> plays" in said[-1]
    assert "no estimate" in said[-1]
    assert n_drawn > 10
    assert n_policies == 2
