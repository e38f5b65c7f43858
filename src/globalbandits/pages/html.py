"""Parts of HTML pages."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from globalbandits._version import __version__


def fill_page(package: str, name: str, *, title: str, **parts: str) -> str:
    """Return a page from a template in a package, with the common style and the version.

    Args:
        package: the package that holds the template.
        name: file name of the template. It starts with ``$head`` and has a placeholder for each
            part; it may also use ``$title`` and ``$version``.
        title: title of the page, as plain text.
        **parts: HTML by the name of its placeholder.
    """
    css = files(__package__).joinpath("page.css").read_text("utf-8")
    common = {"title": escape(title), "version": escape(__version__)}
    head = _template(__package__, "head.html").substitute(common, css=css)
    return _template(package, name).substitute(common, head=head, **parts)


def _template(package: str, name: str) -> Template:
    return Template(files(package).joinpath(name).read_text("utf-8"))


def embed_figure(
    picture: Path | bytes, caption: str, phone: bytes | None = None, *, natural: bool = False
) -> str:
    """Return an SVG picture as a figure that is embedded in the page.

    Args:
        picture: the SVG file or its content.
        caption: text below the figure, and its alternative text.
        phone: a narrow SVG picture for narrow screens.
        natural: show the picture in its own size, with scrolling, instead of fitting it.
    """
    content = picture if isinstance(picture, bytes) else picture.read_bytes()
    text = escape(caption)
    image = f'<img alt="{text}" src="{_address(content)}">'
    if phone is not None:
        narrow = f'<source media="(max-width: 40rem)" srcset="{_address(phone)}">'
        image = f'<picture class="fits">{narrow}{image}</picture>'
    kind = "figure natural" if natural else "figure"
    return f'<figure><div class="{kind}">{image}</div><figcaption>{text}</figcaption></figure>'


def _address(picture: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode('ascii')}"


def definitions(lines: Mapping[str, str]) -> str:
    """Return names and descriptions, for a ``dl`` element.

    >>> definitions({"seed": "0"})
    '<dt>seed</dt><dd>0</dd>'
    """
    return "\n".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table of texts; the first text of a row is its head.

    >>> table(["arm", "mean"], [["a < b", "1"]]).count("<td>")
    1
    """
    return framed_table(
        head, [named_row(row[0], [f"<td>{escape(cell)}</td>" for cell in row[1:]]) for row in rows]
    )


def named_row(name: str, cells: Iterable[str]) -> str:
    """Return a row of a table: a text as its head, and cells that are HTML.

    >>> named_row("a < b", ["<td>1</td>"])
    '<tr><th scope="row">a &lt; b</th><td>1</td></tr>'
    """
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def framed_table(head: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """Return a table of HTML rows with a CSS class; wide tables scroll."""
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(rows)
    opened = f'<table class="{kind}">' if kind else "<table>"
    return (
        f'<div class="scroll">{opened}<thead><tr>{names}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
