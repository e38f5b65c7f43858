"""The names a user's script may rely on."""

import importlib

import pytest

import globalbandits as gb
from globalbandits import errors
from globalbandits._registry import registered


@pytest.mark.parametrize("name", gb.__all__)
def test_every_public_name_resolves(name):
    assert getattr(gb, name) is not None
    assert name in dir(gb)


def test_names_are_listed_once():
    assert len(gb.__all__) == len(set(gb.__all__))


def test_every_policy_and_part_of_ours_is_public():
    ours = {
        cls.__name__
        for family in ("policy", "noise", "drift", "bias")
        for cls in registered(family).values()
        if cls.__module__.startswith("globalbandits.")
    }
    assert len(ours) > 40
    assert ours <= set(gb.__all__)
    assert set(gb.environments.__all__) <= set(gb.__all__)


def test_file_class_and_kind_of_a_policy_have_one_name():
    for kind, policy in gb.registered().items():
        if policy.__module__.startswith("globalbandits."):
            assert policy.__module__.rpartition(".")[2] == kind
            assert policy.__name__.lower() == kind.replace("_", "")


def test_a_star_import_gives_every_name():
    namespace = {}
    exec("from globalbandits import *", namespace)
    assert set(gb.__all__) <= namespace.keys()


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="No globalbandits attribute WAGB"):
        gb.WAGB  # noqa: B018


def test_every_error_is_public_and_has_the_one_root():
    classes = [
        value
        for value in vars(errors).values()
        if isinstance(value, type) and issubclass(value, Exception)
    ]
    assert all(issubclass(error, gb.GlobalBanditsError) for error in classes)
    others = set(classes) - {gb.GlobalBanditsError, gb.MissingExtraError}
    assert all(issubclass(error, ValueError) for error in others)
    assert {error.__name__ for error in classes} <= set(gb.__all__)


def test_the_version_is_the_installed_one():
    assert importlib.metadata.version("globalbandits") == gb.__version__
