"""A user's own labels, as they can be printed and drawn: nothing in them is a command."""

from collections.abc import Sequence


def printed_label(value: object) -> str:
    r"""A number with six digits at most, anything else as it is, control characters escaped.

    >>> printed_label(0.4000000001), printed_label(1234567.0), printed_label("high")
    ('0.4', '1.23457e+06', 'high')
    >>> print(printed_label("red\x1b[31m"))
    red\x1b[31m
    """
    return escape_controls(f"{value:.6g}" if isinstance(value, float) else str(value))


def drawn_label(value: object) -> str:
    r"""The same for a figure, where dollars are dollars and not formulas.

    >>> print(drawn_label("$5 or $10"))
    \$5 or \$10
    """
    return printed_label(value).replace("$", r"\$")


def short_label(value: object, most: int = 24) -> str:
    r"""The same with so many characters at most: of a long name its two ends.

    >>> print(short_label("a street with a name that is long, no. 7", 16))
    a street…, no. 7
    """
    text = printed_label(value)
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"
    return drawn_label(text)


def alike(values: Sequence[object]) -> list[str]:
    """Texts of several labels as Python writes them, in which numbers look alike.

    >>> alike([33, 35.0]), alike([33, 35]), alike(["low", 2])
    (['33.0', '35.0'], ['33', '35'], ["'low'", '2'])
    """
    mixed = {type(value) for value in values} == {int, float}
    return [repr(float(str(value)) if mixed else value) for value in values]


def counted(number: int, thing: str) -> str:
    """So many things.

    >>> counted(1, "arm"), counted(1_400, "decision")
    ('1 arm', '1,400 decisions')
    """
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def escape_controls(text: str) -> str:
    r"""A text in one line that cannot steer a terminal: what is not printable is spelled out.

    >>> print(escape_controls("two\nlines\x07"))
    two\nlines\x07
    """
    if text.isprintable():
        return text
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode("ascii")
        for letter in text
    )
