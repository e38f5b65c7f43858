"""Objects named by a text: from a module or a file, and what goes wrong with them."""

import pytest

from globalbandits._objects import load_object
from globalbandits.errors import PolicyError, ScenarioError


def test_an_object_of_a_module():
    assert load_object("policy", "globalbandits.errors:PolicyError", PolicyError) is PolicyError


def test_an_object_of_a_file(tmp_path):
    path = tmp_path / "own.py"
    path.write_text("answer = 42\nmodel = 'm'\n")
    assert load_object("file", f"{path}:answer", ScenarioError) == 42
    assert load_object("file", str(path), ScenarioError, "model") == "m"


def test_a_file_is_executed_once_until_it_is_changed(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "own.py").write_text(f"class Thing: place = {folder!r}\n")
    first, other = (f"{tmp_path}/{folder}/own.py:Thing" for folder in ("a", "b"))
    thing = load_object("policy", first, PolicyError)
    assert load_object("policy", other, PolicyError).place == "b"
    assert load_object("policy", first, PolicyError) is thing
    (tmp_path / "a" / "own.py").write_text("class Thing: place = 'elsewhere'\n")
    assert load_object("policy", first, PolicyError).place == "elsewhere"


def test_a_module_in_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "beside_the_user.py").write_text("found = True\n")
    monkeypatch.chdir(tmp_path)
    assert load_object("policy", "beside_the_user:found", PolicyError) is True


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("nothing", "policy must be package.module:name or path/file.py:name, got 'nothing'"),
        (":name", "policy must be package.module:name"),
        ("module:", "policy must be package.module:name"),
        ("no_such_module_here:x", "no_such_module_here cannot be loaded: ModuleNotFoundError"),
        ("globalbandits.errors:Nope", "globalbandits.errors must define 'Nope'"),
        ("missing.py:x", "policy must name an existing Python file, got 'missing.py:x'"),
    ],
)
def test_wrong_names(text, message):
    with pytest.raises(PolicyError) as error:
        load_object("policy", text, PolicyError)
    assert message in str(error.value)


@pytest.mark.parametrize("code", ["raise SystemExit(0)", "import sys; sys.exit()", "1 / 0", "1 +"])
def test_code_that_fails_or_exits_is_an_error(tmp_path, code):
    path = tmp_path / "bad.py"
    path.write_text(code)
    with pytest.raises(ScenarioError, match="cannot be loaded"):
        load_object("file", f"{path}:x", ScenarioError)
