"""The parser of formulas, which accepts only known tokens and known nodes of the syntax tree.

A formula may come from an untrusted file, so it is never executed. The parser checks that the text
consists of numbers, known names and a few signs. Python's parser then returns the syntax tree, and
every node of the tree must be in a list of allowed nodes.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from globalbandits._validation import did_you_mean
from globalbandits.errors import ModelError
from globalbandits.model.formulas.evaluation import FUNCTIONS, Builder, Tape

# Limits on a formula: characters; numbers, names, signs and functions; and nesting.
MAX_CHARACTERS = 1_000
MAX_STEPS = 250
MAX_DEPTH = 100
LARGEST_POWER = 100.0
LARGEST_NUMBER = 1e100

_FORMULA = "be a formula such as arm * exp(-theta)"
_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_TOKEN = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/(),])", re.ASCII
)
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}


def read(
    text: object, names: Sequence[str], what: str, constants: Mapping[str, float] | None = None
) -> Tape:
    """Parse a formula and return its tape.

    Args:
        text: The formula.
        names: The variables that the formula may use.
        what: The name of the formula in messages.
        constants: Constants that the formula may use, by name. A formula with constants comes
            from the catalogues, so the limit on powers does not apply to it.

    >>> read("arm * (1 - arm*theta)**2", ("theta", "arm"), "mean").uses("theta")
    True
    """
    return _Reader(text, names, what, constants or {}).read()


class _Reader:
    """Parses one formula; messages point to places in its text."""

    def __init__(
        self, text: object, names: Sequence[str], what: str, constants: Mapping[str, float]
    ) -> None:
        if not isinstance(text, str):
            raise ModelError(f"{what} must be a text with a formula, got {type(text).__name__}")
        if len(text) > MAX_CHARACTERS:
            raise ModelError(
                f"{what} must have at most {MAX_CHARACTERS:,} letters, has {len(text):,}"
            )
        self._text = text
        self._names = tuple(names)
        self._what = what
        self._constants = constants
        self._shift = len(text) - len(text.lstrip(" \t\n"))
        self._builder = Builder()
        self._n_steps = 0

    def read(self) -> Tape:
        if not self._text.strip():
            raise ModelError(f"{self._what} must be a formula, got an empty text")
        self._check_tokens()
        # Each white space character becomes one space, so that positions do not change.
        flat = re.sub(r"[\t\n]", " ", self._text).strip(" ")
        try:
            tree = ast.parse(flat, mode="eval")
        except SyntaxError as error:
            self._refuse(_FORMULA, (error.offset or 1) - 1)
        except (MemoryError, RecursionError):
            self._refuse(f"have at most {MAX_DEPTH} parts inside each other", 0)
        self._add(tree.body, 1)
        return self._builder.tape()

    def _refuse(self, rule: str, place: int, got: str = "", hint: str = "") -> NoReturn:
        """Raise an error; ``place`` is a column of the text without its leading spaces."""
        at = place + self._shift
        found = got or self._text[at : at + 20].strip() or "its end"
        raise ModelError(
            f"{self._what} must {rule}, got {found!r} at character {at + 1} of {self._text!r}{hint}"
        )

    def _check_tokens(self) -> None:
        """Raise an error unless the text is a valid sequence of numbers, known names and signs.

        Python's parser would also reject a wrong order, but does not always locate it.
        """
        text, place = self._text, 0
        opened: list[int] = []
        wants_number = True
        while place < len(text):
            if text[place] in " \t\n":
                place += 1
                continue
            token = _TOKEN.match(text, place)
            if token is None:
                rule = "consist of numbers, names and the signs + - * / ** ( ) ,"
                self._refuse(rule, place - self._shift, text[place])
            end = token.end()
            if token["name"] is not None:
                self._check_name(token["name"], place)
            if token["number"] is not None and re.match(r"[\w.]", text[end : end + 1]):
                rule = "have plain numbers, such as 2, 0.5 or 1e-3"
                got = re.match(r"[\w.]+", text[place:])
                self._refuse(rule, place - self._shift, got.group() if got else "")
            wants_number = self._next(token[0], place, wants_number, opened)
            place = end
        if wants_number or opened:
            self._refuse(_FORMULA, (opened[-1] if opened else len(text)) - self._shift)

    def _next(self, token: str, place: int, wants_number: bool, opened: list[int]) -> bool:
        """Return whether a number must follow this token, instead of a sign between numbers."""
        if token == "(":
            called = not wants_number and self._text[:place].rstrip().endswith(tuple(FUNCTIONS))
            if wants_number or called:
                opened.append(place)
                return True
        elif token == ")":
            if opened and not wants_number:
                opened.pop()
                return False
        elif token in ("+", "-") or (token in ("*", "/", "**", ",") and not wants_number):
            return True
        elif token not in ("*", "/", "**", ",") and wants_number:
            return False
        self._refuse(_FORMULA, place - self._shift)

    def _check_name(self, name: str, place: int) -> None:
        if name in self._names or name in self._constants or name in FUNCTIONS:
            return
        known = (*self._names, *FUNCTIONS)
        rule = f"use only {' and '.join(self._names)}, and the functions {', '.join(FUNCTIONS)}"
        self._refuse(rule, place - self._shift, name, did_you_mean(name, known))

    def _add(self, node: ast.expr, depth: int) -> int:
        """Add a node to the tape and return the place of its value."""
        self._n_steps += 1
        at = node.col_offset
        if depth > MAX_DEPTH:
            self._refuse(f"have at most {MAX_DEPTH} parts inside each other", at)
        if self._n_steps > MAX_STEPS:
            self._refuse(f"have at most {MAX_STEPS} numbers, names, signs and functions", at)
        match node:
            case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
                if not abs(value) <= LARGEST_NUMBER:
                    self._refuse(f"have numbers up to {LARGEST_NUMBER:g}", at)
                return self._builder.constant(float(value))
            case ast.Name(id=name) if name in self._names:
                return self._builder.name(name)
            case ast.Name(id=name) if name in self._constants:
                return self._builder.constant(self._constants[name])
            case ast.Name(id=name):
                self._refuse(f"call {name} with (...)", at, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._builder.add("neg", self._add(operand, depth + 1))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._add(operand, depth + 1)
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
                return self._binary(_BINARY[type(sign)], left, right, depth)
            case ast.Call(func=ast.Name(id=name), args=given, keywords=[]) if name in FUNCTIONS:
                return self._call(name, given, at, depth)
        self._refuse("be arithmetic and calls of the known functions", at)

    def _binary(self, op: str, left: ast.expr, right: ast.expr, depth: int) -> int:
        first = self._add(left, depth + 1)
        second = self._add(right, depth + 1)
        if op == "pow" and not self._constants:
            power = self._builder.known(second)
            if power is not None and not abs(power) <= LARGEST_POWER:
                rule = f"have powers between -{LARGEST_POWER:g} and {LARGEST_POWER:g}"
                self._refuse(rule, right.col_offset)
        return self._builder.add(op, first, second)

    def _call(self, name: str, given: list[ast.expr], at: int, depth: int) -> int:
        function = FUNCTIONS[name]
        if function.several and len(given) < 2:
            self._refuse(f"give {name} two or more numbers", at)
        if not function.several and len(given) != 1:
            self._refuse(f"give {name} one number", at)
        places = [self._add(part, depth + 1) for part in given]
        found = places[0]
        if not function.several:
            return self._builder.add(function.op, found)
        for place in places[1:]:
            found = self._builder.add(function.op, found, place)
        return found
