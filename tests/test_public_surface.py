"""The names a user's script may rely on."""

import ast
import importlib
import inspect

import pytest

import globalbandits as gb
from globalbandits import errors


def names_for_type_checkers():
    tree = ast.parse(inspect.getsource(gb))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {alias.asname or alias.name for node in block.body for alias in node.names}


@pytest.mark.parametrize("name", gb.__all__)
def test_every_public_name_resolves(name):
    assert getattr(gb, name) is not None
    assert name in dir(gb)


def test_the_three_lists_of_names_agree():
    lazy = gb._HOME_OF.keys() | gb._MODULES.keys()
    assert lazy | {"__version__"} == set(gb.__all__)
    assert lazy == names_for_type_checkers()
    assert len(gb.__all__) == len(set(gb.__all__))


def test_a_star_import_gives_every_name():
    namespace = {}
    exec("from globalbandits import *", namespace)
    assert set(gb.__all__) <= namespace.keys()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'globalbandits' has no attribute 'WAGB'"):
        gb.WAGB  # noqa: B018


def test_every_error_is_public_and_has_the_one_root():
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert all(issubclass(error, gb.GlobalBanditsError) for error in classes)
    assert all(issubclass(error, ValueError) for error in classes if error is not classes[0])
    assert {error.__name__ for error in classes} <= set(gb.__all__)


def test_the_version_is_the_installed_one():
    assert importlib.metadata.version("globalbandits") == gb.__version__
