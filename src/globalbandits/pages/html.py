"""Pieces every page is made of."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from globalbandits._version import __version__


def fill_page(package: str, name: str, *, title: str, **parts: str) -> str:
    """A page from a template that lies in a package, with the common style and the version.

    Args:
        package: where the template lies.
        name: of its file; it begins with ``$head``, in which more may follow, and has a place for
            each part; ``$title`` and ``$version`` stand for themselves.
        title: of the page, as plain text.
        **parts: HTML by the name of its place.
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
    """An SVG picture as a figure inside the page, so that the page needs no other file.

    Args:
        picture: the file, or what is in it.
        caption: below the figure, and what is read out instead of it.
        phone: a narrow SVG picture to show on narrow screens instead.
        natural: show it in its own size, and let it scroll, instead of fitting it to the page.
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
    """Names and what they are, for a ``dl``.

    >>> definitions({"seed": "0"})
    '<dt>seed</dt><dd>0</dd>'
    """
    return "\n".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of texts, the first of each row naming it.

    >>> table(["arm", "mean"], [["a < b", "1"]]).count("<td>")
    1
    """
    return framed_table(
        head, [named_row(row[0], [f"<td>{escape(cell)}</td>" for cell in row[1:]]) for row in rows]
    )


def named_row(name: str, cells: Iterable[str]) -> str:
    """A row of a table: a text that names it, and cells that are HTML.

    >>> named_row("a < b", ["<td>1</td>"])
    '<tr><th scope="row">a &lt; b</th><td>1</td></tr>'
    """
    return f'<tr><th scope="row">{escape(name)}</th>{"".join(cells)}</tr>'


def framed_table(head: Sequence[str], rows: Iterable[str], kind: str = "") -> str:
    """A table of rows that are HTML, of a class of the style; wide ones scroll for themselves."""
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(rows)
    opened = f'<table class="{kind}">' if kind else "<table>"
    return (
        f'<div class="scroll">{opened}<thead><tr>{names}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
