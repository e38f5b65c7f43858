"""Global bandits: known curves with a few unknown numbers that all arms share.

Names are loaded on first use, so ``import globalbandits`` is cheap. The stub file
``__init__.pyi`` lists all of them.

>>> import globalbandits as gb
>>> gb.WAGP()
WAGP()
"""

import logging

import lazy_loader

logging.getLogger(__name__).addHandler(logging.NullHandler())  # silent unless it is asked for

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
