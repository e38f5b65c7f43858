"""The module that authors of extensions import from."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import globalbandits as gb
from globalbandits import extend

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("name", extend.__all__)
def test_every_name_is_there(name):
    assert getattr(extend, name) is not None
    assert name in dir(extend)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'globalbandits\.extend' has no attribute 'Polcy'"):
        extend.Polcy  # noqa: B018


def test_names_that_are_also_public_are_the_same_objects():
    shared = set(extend.__all__) & set(gb.__all__)
    assert {"Bias", "Drift", "Noise", "Policy", "RewardModel", "Rules", "register"} <= shared
    assert all(getattr(extend, name) is getattr(gb, name) for name in shared)


def test_writing_a_policy_loads_neither_stores_nor_the_simulator():
    heavy = "[m for m in ('globalbandits.service', 'globalbandits.simulation', 'numba') if m in "
    code = f"import globalbandits.extend, sys; print({heavy}sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("document", ["CONTRIBUTING.md", "docs/howto/own-policy.md"])
def test_documents_for_authors_import_from_it_only(document):
    text = (ROOT / document).read_text("utf-8")
    imports = re.findall(r"^(?:from|import) (globalbandits\S*)", text, flags=re.MULTILINE)
    assert set(imports) <= {"globalbandits", "globalbandits.extend"}
    assert "globalbandits.extend" in imports
