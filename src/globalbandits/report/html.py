"""Pieces every page is made of."""

import base64
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from pathlib import Path


def read_resource(name: str) -> str:
    """A text file that lies beside this module."""
    return files(__package__).joinpath(name).read_text("utf-8")


def embed_figure(picture: Path, caption: str) -> str:
    """An SVG file as a figure inside the page, so that the page needs no other file."""
    data = base64.b64encode(picture.read_bytes()).decode("ascii")
    text = escape(caption)
    return (
        f'<figure><div class="figure"><img alt="{text}" src="data:image/svg+xml;base64,{data}">'
        f"</div><figcaption>{text}</figcaption></figure>"
    )


def definitions(lines: Mapping[str, str]) -> str:
    """Names and what they are, for a ``dl``.

    >>> definitions({"seed": "0"})
    '<dt>seed</dt><dd>0</dd>'
    """
    return "\n".join(
        f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in lines.items()
    )
