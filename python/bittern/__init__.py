# SPDX-License-Identifier: Apache-2.0
"""Bittern runs ternary language models (BitNet b1.58) on ordinary CPUs.

    import bittern
    m = bittern.Model()                      # or bittern.Model("model.gguf")
    # or bittern.Model.from_pretrained("bitnet-2b"), fetched where the cache lacks it
    print(m.generate("A tern is", n_predict=20, temperature=0))
    for text in m.stream("Once upon a time", n_predict=50):
        print(text, end="", flush=True)

Settings are keyword arguments; options() lists them. The same request gives the same text as the
command line, on every machine.

What the library decides and doubts goes to the logger "bittern" of the module logging.
"""
from __future__ import annotations

import json
from typing import Any, Dict, List

from . import _library, _log
from ._engine import Engine, Future
from ._files import convert, doctor, inspect, pull
from ._library import (ArgumentError, BitternError, CancelledError, ContextFullError, FileError,
                       MissingFileError, NotFoundError, OutOfMemoryError, UnknownSettingError)
from ._model import Model
from ._sampler import Sampler
from ._sequence import Sequence, Text

__all__ = ["ArgumentError", "BitternError", "CancelledError", "ContextFullError", "Engine",
           "FileError", "Future", "MissingFileError", "Model", "NotFoundError", "OutOfMemoryError",
           "Sampler", "Sequence", "Text", "UnknownSettingError", "convert", "doctor", "inspect",
           "options", "pull"]
__version__: str = _library.lib.bittern_version().decode()

_log.begin()


def options() -> List[Dict[str, Any]]:
    """All settings: a list of dicts with "key", "kinds", "value", "default", "description"."""
    rows: List[Dict[str, Any]] = json.loads(_library.lib.bittern_options_describe())
    return rows
