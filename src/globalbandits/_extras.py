"""Packages that belong to an extra of this package, and may be missing."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from globalbandits.errors import MissingExtraError


@contextmanager
def needs_extra(extra: str, *packages: str) -> Iterator[None]:
    """Raise a MissingExtraError if a package that is imported inside this block is missing.

    Args:
        extra: the extra that installs the packages.
        packages: further packages that must be installed. They are not imported.

    >>> with needs_extra("lab"):
    ...     import no_such_package
    Traceback (most recent call last):
    globalbandits.errors.MissingExtraError: no_such_package must be installed:
    pip install "globalbandits[lab]"
    """
    try:
        for package in packages:
            if find_spec(package) is None:
                raise ModuleNotFoundError(name=package)
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "globalbandits"):
            raise
        text = f'{package} must be installed: pip install "globalbandits[{extra}]"'
        raise MissingExtraError(text, name=package) from None
