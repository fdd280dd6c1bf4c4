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
"""
import json

from . import _library
from ._engine import Engine
from ._library import (ArgumentError, BitternError, CancelledError, ContextFullError, FileError,
                       MissingFileError, NotFoundError, OutOfMemoryError, UnknownSettingError)
from ._model import Model, Text
from ._sequence import Sequence
from ._work import convert, pull

__all__ = ["ArgumentError", "BitternError", "CancelledError", "ContextFullError", "Engine",
           "FileError", "MissingFileError", "Model", "NotFoundError", "OutOfMemoryError", "Sequence",
           "Text", "UnknownSettingError", "convert", "options", "pull"]
__version__ = _library.lib.bittern_version().decode()


def options():
    """All settings: a list of dicts with "key", "kinds", "value", "default", "description"."""
    return json.loads(_library.lib.bittern_options_describe())
