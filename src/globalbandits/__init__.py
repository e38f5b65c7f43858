"""Global bandits: every curve is known, but for one number that all of them share.

Names are loaded when they are first used, so that ``import globalbandits`` stays cheap. The
one list of them is the stub file beside this one, ``__init__.pyi``.

>>> import globalbandits as gb
>>> gb.WAGP()
WAGP()
"""

import logging

import lazy_loader

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless it is asked for

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
