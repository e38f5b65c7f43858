"""Tutorials from notebooks: their text, their code, and what they print, as pages."""

import json
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

FOLDER = Path(__file__).parents[2] / "examples" / "notebooks"


def page(notebook: dict[str, Any], name: str) -> str:
    """One notebook as Markdown."""
    parts = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```{{code-block}} python\n{text}\n```")
        printed = "".join("".join(output.get("text", "")) for output in cell["outputs"])
        if printed:
            parts.append(f"```{{code-block}} text\n{printed.rstrip()}\n```")
    parts.append(f"The notebook itself, which also draws: `examples/notebooks/{name}.ipynb`.")
    return "\n\n".join(parts) + "\n"


def write_pages(app: Sphinx) -> None:
    """Write the pages that have changed, and remove those of notebooks that are gone."""
    folder = Path(app.srcdir) / "tutorials"
    pages = {
        folder / f"notebook-{path.stem}.md": page(json.loads(path.read_text("utf-8")), path.stem)
        for path in FOLDER.glob("*.ipynb")
    }
    for old in folder.glob("notebook-*.md"):
        if old not in pages:
            old.unlink()
    for target, text in pages.items():
        if not target.exists() or target.read_text("utf-8") != text:
            target.write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Sphinx calls this."""
    app.connect("builder-inited", write_pages, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
