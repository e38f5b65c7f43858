"""Small parts of HTML for notebooks; they follow the colours of the notebook."""

from collections.abc import Sequence
from html import escape

import numpy as np

from globalbandits._types import FloatArray

_WIDTH, _HEIGHT, _MARGIN = 360.0, 150.0, 4.0
# Distinguishable on white and on black.
_COLORS = ("#3b8bc4", "#e0752d", "#2fa37a", "#d07aa6", "#8f7be0", "#c9a227", "#888888")


def paragraph(text: object, *, strong: bool = False) -> str:
    """Return a text as a paragraph.

    >>> paragraph("a < b", strong=True)
    '<p><strong>a &lt; b</strong></p>'
    """
    shown = escape(str(text))
    return f"<p><strong>{shown}</strong></p>" if strong else f"<p>{shown}</p>"


def curves(x: FloatArray, lines: FloatArray, edges: Sequence[float], title: str) -> str:
    """Return a small SVG of curves over x, shape (n_lines, n), with vertical lines at edges."""
    low, high = float(lines.min()), float(lines.max())
    across = _scaled(x, float(x[0]), float(x[-1]), _WIDTH)
    drawn = []
    for edge in np.asarray(edges, dtype=np.float64):
        at = float(_scaled(edge, float(x[0]), float(x[-1]), _WIDTH))
        drawn.append(
            f'<line x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{_HEIGHT:g}" '
            'stroke="currentColor" stroke-opacity="0.3"/>'
        )
    for number, line in enumerate(lines):
        up = _HEIGHT - _scaled(line, low, high, _HEIGHT)
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(across, up, strict=True))
        color = _COLORS[number % len(_COLORS)]
        drawn.append(f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2"/>')
    return (
        f'<svg role="img" width="{_WIDTH:g}" height="{_HEIGHT:g}" '
        f'viewBox="0 0 {_WIDTH:g} {_HEIGHT:g}" style="max-width:100%">'
        f"<title>{escape(title)}</title>{''.join(drawn)}</svg>"
    )


def _scaled(values: FloatArray, low: float, high: float, length: float) -> FloatArray:
    inner = length - 2.0 * _MARGIN
    return _MARGIN + inner * (values - low) / ((high - low) or 1.0)
