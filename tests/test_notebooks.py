"""The notebooks run from the first to the last cell in a fresh kernel, with the stored output."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from globalbandits.compiling import cache

FOLDER = Path(__file__).parents[1] / "examples" / "notebooks"
# Warnings of the kernel's own packages.
KERNEL = pytest.mark.filterwarnings("ignore::DeprecationWarning")
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def stream(cell, name):
    """All text that a cell wrote on a stream; a kernel may cut one `print` into several outputs."""
    return "".join(
        output.text
        for output in cell.get("outputs", [])
        if output.output_type == "stream" and output.name == name
    )


def printed(notebook):
    """The lines each cell printed, without spaces at their ends."""
    return [
        [line.rstrip() for line in stream(cell, "stdout").splitlines()]
        for cell in notebook.cells
        if cell.cell_type == "code"
    ]


def pictures(notebook):
    return sum(
        "image/png" in output.get("data", {})
        for cell in notebook.cells
        if cell.cell_type == "code"
        for output in cell.outputs
    )


def errors(notebook):
    """All text that the cells wrote on standard error."""
    return "".join(stream(cell, "stderr") for cell in notebook.cells)


def test_a_print_in_two_outputs_is_one_line():
    cell = nbformat.v4.new_code_cell("print('can be best:', [5.0])")
    cell.outputs = [
        nbformat.v4.new_output("stream", name="stdout", text=text)
        for text in ("can be best:", " [5.0]\n")
    ]
    assert printed(nbformat.v4.new_notebook(cells=[cell])) == [["can be best: [5.0]"]]


def test_there_are_three_notebooks():
    assert len(NOTEBOOKS) == 3


@KERNEL
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_prints_what_is_stored(path):
    stored = nbformat.read(path, as_version=4)
    assert pictures(stored) == 0, "pictures are not stored: they are made when it runs"
    run = nbformat.read(path, as_version=4)
    NotebookClient(
        run, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}
    ).execute()
    assert printed(run) == printed(stored)
    assert pictures(run) >= 2
    if path.stem == "dose_trial":
        outputs = [output for cell in run.cells for output in cell.get("outputs", [])]
        shown = [output for output in outputs if "image/png" in output.get("data", {})]
        assert all(output.metadata["image/png"]["alt"] for output in shown)
    said = [line for line in errors(run).splitlines() if not line.startswith("compiling ")]
    assert said == []


LONG = """
import warnings
import globalbandits as gb

env = gb.Environment(gb.demand.linear([0.4, 0.6, 0.8]), 0.4)
with warnings.catch_warnings():
    warnings.simplefilter("error")
    result = gb.simulate(env, [gb.FixedArm(1)], 10, runs=1, progress=True)
"""


@KERNEL
def test_a_notebook_shows_compiling_and_progress_without_a_warning(tmp_path, monkeypatch):
    monkeypatch.setenv(cache.VARIABLE, str(tmp_path))  # nothing is compiled yet
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(LONG)])
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    first, second, rest = errors(notebook).split("\n")
    assert first == "compiling 1 policy, once: FixedArm"
    assert second.split("\r")[-1].startswith("simulating  100%")
    assert rest == ""
