# SPDX-License-Identifier: Apache-2.0
"""The library's sentences, for the module logging: the logger "bittern". A program that sets nothing up
sees none of them."""
import atexit
import ctypes
import logging
from typing import Optional

from . import _library as c

_LEVELS = {1: logging.WARNING, 2: logging.INFO}
_logger = logging.getLogger("bittern")
_logger.addHandler(logging.NullHandler())


def _take(_: Optional[int], level: int, text: int, size: int) -> None:
    """Called by the library, in the thread whose call it is about."""
    known = _LEVELS.get(level, logging.DEBUG)
    if _logger.isEnabledFor(known):
        _logger.log(known, "%s", ctypes.string_at(text, size).decode("utf-8", "replace"))


_function = c.LogFn(_take)  # lives as long as the library may call it


def begin() -> None:
    """Has the library tell the logger, until the interpreter ends."""
    c.call("bittern_set_log", _function, None)
    atexit.register(lambda: c.call("bittern_set_log", c.LogFn(), None))
