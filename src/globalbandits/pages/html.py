"""Pieces every page is made of."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

from globalbandits._version import __version__


def fill_page(package: str, name: str, **parts: str) -> str:
    """A page from a template that lies in a package, with the common style and the version.

    Args:
        package: where the template lies.
        name: of its file; it holds ``$css``, ``$version`` and a place for each part.
        **parts: HTML by the name of its place.
    """
    template = files(package).joinpath(name).read_text("utf-8")
    css = files(__package__).joinpath("page.css").read_text("utf-8")
    return Template(template).substitute(css=css, version=escape(__version__), **parts)


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
    """A table of texts, the first of each row naming it; wide ones scroll for themselves.

    >>> table(["arm", "mean"], [["a < b", "1"]]).count("<td>")
    1
    """
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    lines = "\n".join(
        f'<tr><th scope="row">{escape(row[0])}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return (
        f'<div class="scroll"><table><thead><tr>{names}</tr></thead>\n'
        f"<tbody>\n{lines}\n</tbody></table></div>"
    )
