import pytest

from globalbandits.errors import PolicyError, ScenarioError
from globalbandits.lab.paper.experiment_spec import PolicySpec, load_model, load_spec, parse_spec

GOOD = """
number = 1
title = "t"
text = "two  \\n words"
horizon = 10
runs = 5
model = "pricing"
[settings]
theta = 0.4
thetas = [0.1, 0.2]
[policies.wagp]
label = "WAGP"
policy = "wagp"
[published.regret]
printed = "1.5"
[statements.better]
text = "it is better"
why = "reason"
[reasons]
reason = "it is not"
"""


def test_a_spec_is_read_as_it_is_written():
    spec = parse_spec(GOOD, "good")
    assert (spec.number, spec.horizon, spec.runs, spec.model) == (1, 10, 5, "pricing")
    assert spec.setting("theta") == 0.4
    assert spec.setting_list("thetas") == (0.1, 0.2)
    assert spec.policies["wagp"].label == "WAGP"
    assert spec.claim("regret").published.value == 1.5
    assert spec.claim("better").statement == "it is better"
    assert spec.claim("better").why == "it is not"
    assert spec.claim("other").published is None


def test_runs_count_as_stated_by_default():
    assert parse_spec(GOOD, "good").claim("regret").published.stated
    assumed = parse_spec("runs_stated = false\n" + GOOD, "good")
    assert not assumed.claim("regret").published.stated


def test_a_table_names_its_numbers():
    two = GOOD.replace(
        "[statements.better]", '[published.other]\nprinted = "2"\n[statements.better]'
    )
    spec = parse_spec(two + '[joint]\n"Table" = ["regret", "other"]', "good")
    assert spec.joint == {"Table": ("regret", "other")}
    with pytest.raises(ScenarioError, match=r"joint\.Table must be a list of entries, got"):
        parse_spec(two + '[joint]\n"Table" = "regret"', "bad")
    with pytest.raises(ScenarioError, match=r"joint\.Table must name published numbers, got"):
        parse_spec(two + '[joint]\n"Table" = ["regret", "better"]', "bad")


def test_what_is_not_in_the_paper_has_no_number():
    spec = parse_spec(GOOD.replace("number = 1", ""), "extra")
    assert (spec.name, spec.number) == ("extra", None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("number = 1", "number =", "bad.toml must be TOML"),
        ("number = 1", "number = 0", "bad.toml: number must be at least 1, got 0"),
        ("number = 1", "number = 1\nodd = 2", "bad.toml: a key must be one of .*, got 'odd'"),
        ('title = "t"', "", "bad.toml: the spec must have the key title, got"),
        ('title = "t"', "title = 5", "bad.toml: title must be of type str, got 5"),
        ("horizon = 10", "horizon = 0", "bad.toml: horizon must be at least 1, got 0"),
        ("runs = 5", "runs = 1", "bad.toml: runs must be at least 2, got 1"),
        ('label = "WAGP"', "", "bad.toml: policies.wagp must have a label and a policy, got"),
        ('printed = "1.5"', 'printed = "x"', "bad.toml: printed must be the text of a number"),
        (
            'printed = "1.5"',
            "",
            "bad.toml: published.regret must have printed, and perhaps why and number",
        ),
        ('printed = "1.5"', "printed = 1.5", "bad.toml: published.regret.printed must be a text"),
        (
            'why = "reason"',
            'why = "x"',
            "bad.toml: statements.better.why must be one of reason, got",
        ),
        (
            'text = "it is better"',
            "",
            "bad.toml: statements.better must have text, and perhaps why and number",
        ),
    ],
)
def test_errors_in_a_spec_are_named(old, new, message):
    assert old in GOOD
    with pytest.raises(ScenarioError, match=message):
        parse_spec(GOOD.replace(old, new), "bad")


def test_wrong_settings_are_named():
    spec = parse_spec(GOOD.replace("theta = 0.4", 'theta = "a"\nempty = []'), "good")
    with pytest.raises(ScenarioError, match=r"settings\.theta must be a number, got 'a'"):
        spec.setting("theta")
    with pytest.raises(ScenarioError, match="settings must have bias, got"):
        spec.setting("bias")
    with pytest.raises(ScenarioError, match="settings must have biases, got"):
        spec.setting_list("biases")
    with pytest.raises(ScenarioError, match=r"settings\.empty must be a list of numbers, got \[\]"):
        spec.setting_list("empty")


def test_policies_take_named_values():
    spec = PolicySpec(label="", parameters={"policy": "sliding_window_ucb", "window": "2h"})
    assert spec.build(**{"2h": 200}).window == 200
    with pytest.raises(PolicyError, match="window must be an integer, got '2h'"):
        spec.build()


def test_models_are_found_by_name():
    model = load_model("pricing")
    assert model.arms == pytest.approx([0.4 + 0.05 * k for k in range(12)])
    with pytest.raises(ScenarioError, match="model must be one of pricing, got 'prices'"):
        load_model("prices")


@pytest.mark.parametrize("name", ["comparison", "distance", "random_walk", "misspecification"])
def test_every_spec_that_ships_can_be_read(name):
    spec = load_spec(name)
    assert spec.runs == 1_000
    assert load_model(spec.model).n_arms == 12
