"""Models named on the command line."""

from pathlib import Path

import pytest

import globalbandits as gb
from globalbandits.cli.arguments import file_model, named_model
from globalbandits.errors import GlobalBanditsError, ModelError, ScenarioError
from globalbandits.model.catalogue.names import short_names, three_arms

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_every_name_of_the_catalogues_is_offered():
    names = short_names()
    assert len(names) == len(gb.demand.__all__) + len(gb.dose.__all__)
    assert {"linear-power", "demand.linear", "dose.linear"} <= set(names)


def test_a_name_gives_the_catalogues_model():
    arms = [0.4, 0.6, 0.8]
    named = named_model("linear-power", arms, {"power": 3})
    assert named.fingerprint == gb.demand.linear_power(arms, power=3).fingerprint
    assert named_model("linear_power", arms, {"power": 3}).fingerprint == named.fingerprint


def test_an_unknown_name_is_refused_with_the_known_ones():
    for name in ("linear-powr", "linear"):
        with pytest.raises(ModelError, match=f"one of three-arms, .*linear-power.*'{name}'"):
            named_model(name, [1.0], {})


def test_an_unknown_parameter_is_refused_with_the_known_ones():
    message = r"parameter of demand.linear_power must be .*power.*'powr'; did you mean 'power'"
    with pytest.raises(ModelError, match=message):
        named_model("linear-power", [0.5], {"powr": 2})


def test_arms_must_be_given():
    with pytest.raises(ScenarioError, match="linear-power needs arms, for example --arms"):
        named_model("linear-power", None, {})


def test_wrong_values_are_refused_by_the_catalogue():
    with pytest.raises(ModelError, match="power"):
        named_model("linear-power", [0.5, 0.6], {"power": "two"})


def test_the_illustration_is_the_shipped_example():
    model = named_model("three-arms", None, {})
    assert model.fingerprint == three_arms().fingerprint
    assert model.fingerprint == file_model(str(EXAMPLES / "three_arms.py")).fingerprint
    for arguments in (([1.0], {}), (None, {"power": 2})):
        with pytest.raises(ScenarioError, match="three-arms has its own three arms and no"):
            named_model("three-arms", *arguments)


def test_a_file_gives_the_model_it_names(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "import globalbandits as gb\n"
        "def mean(theta, arm):\n    return theta * arm\n"
        "model = gb.RewardModel(mean, [1.0, 0.5])\n"
        "other = gb.RewardModel(mean, [0.7])\n"
        "number = 3\n"
    )
    assert file_model(str(path)).arms == (1.0, 0.5)
    assert file_model(f"{path}:model").arms == (1.0, 0.5)
    assert file_model(f"{path}:other").arms == (0.7,)
    with pytest.raises(ScenarioError, match=r"mine\.py must define 'missing'"):
        file_model(f"{path}:missing")
    with pytest.raises(ScenarioError, match=r"file must name a model, got a int: .*mine\.py"):
        file_model(f"{path}:number")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nowhere.py", "file must name an existing Python file, got 'nowhere.py'"),
        ("nowhere.py:model", "file must name an existing Python file, got 'nowhere.py:model'"),
        ("nowhere_at_all:model", "file: nowhere_at_all cannot be loaded: ModuleNotFoundError"),
        ("model", "file must be package.module:name or path/file.py:name, got 'model'"),
        ("", "file must be package.module:name or path/file.py:name, got ''"),
        ("nowhere.json", "nowhere.json cannot be read: No such file"),
    ],
)
def test_a_file_that_is_not_there_is_refused(text, message):
    with pytest.raises(GlobalBanditsError, match=message):
        file_model(text)


def test_a_file_that_fails_is_named_with_its_error(tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("model = undefined\n")
    with pytest.raises(ScenarioError, match=r"broken\.py cannot be loaded: NameError: .*undefined"):
        file_model(str(path))
