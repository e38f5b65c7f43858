"""Labels for terminals and figures, with escaped markup and control characters."""

from collections.abc import Sequence


def printed_label(value: object) -> str:
    r"""Return a label for a terminal: at most six digits, control characters escaped.

    >>> printed_label(0.4000000001), printed_label(1234567.0), printed_label("high")
    ('0.4', '1.23457e+06', 'high')
    >>> print(printed_label("red\x1b[31m"))
    red\x1b[31m
    """
    return escape_controls(f"{value:.6g}" if isinstance(value, float) else str(value))


def drawn_label(value: object) -> str:
    r"""Return a label for a figure: like `printed_label`, with dollar signs escaped.

    >>> print(drawn_label("$5 or $10"))
    \$5 or \$10
    """
    return printed_label(value).replace("$", r"\$")


def short_label(value: object, most: int = 24) -> str:
    r"""Return a label for a figure. A name longer than ``most`` characters is cut in the middle.

    >>> print(short_label("a street with a name that is long, no. 7", 16))
    a street…, no. 7
    """
    text = printed_label(value)
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"
    return drawn_label(text)


def alike(values: Sequence[object]) -> list[str]:
    """Return the ``repr`` of several labels; integers among floats are written as floats.

    >>> alike([33, 35.0]), alike([33, 35]), alike(["low", 2])
    (['33.0', '35.0'], ['33', '35'], ["'low'", '2'])
    """
    mixed = {type(value) for value in values} == {int, float}
    return [repr(float(str(value)) if mixed else value) for value in values]


def counted(number: int, thing: str) -> str:
    """Return a number and a noun, in the plural unless the number is 1.

    >>> counted(1, "arm"), counted(1_400, "decision")
    ('1 arm', '1,400 decisions')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def escape_controls(text: str) -> str:
    r"""Return a text with escapes for all characters that are not printable.

    >>> print(escape_controls("two\nlines\x07"))
    two\nlines\x07
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
