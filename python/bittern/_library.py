# SPDX-License-Identifier: Apache-2.0
"""The C interface (bittern.h) through ctypes: declarations, errors and callbacks. ctypes releases
the GIL while a function runs. Any thread."""
from __future__ import annotations

import ctypes
import difflib
import errno
import importlib.util
import json
import math
import operator
import os
from ctypes import (CFUNCTYPE, POINTER, byref, c_char_p, c_double, c_float, c_int32, c_int64,
                    c_size_t, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, Iterable, List, Optional, Tuple, Type, Union

from ._library_name import library_name

def _path() -> str:
    """The shared library: that of BITTERN_LIBRARY, of this folder, or of an editable install."""
    given = os.environ.get("BITTERN_LIBRARY")
    if given:
        return given
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), library_name())
    editable = importlib.util.find_spec("_bittern_editable")
    if not os.path.exists(beside) and editable is not None and editable.origin is not None:
        return os.path.join(os.path.dirname(editable.origin), library_name())
    return beside


lib = ctypes.CDLL(_path())

ProgressFn = CFUNCTYPE(c_int32, c_void_p, c_double)
TextFn = CFUNCTYPE(c_int32, c_void_p, c_void_p, c_size_t)
LogitsFn = CFUNCTYPE(c_int32, c_void_p, c_size_t, POINTER(c_float), c_size_t)
DoneFn = CFUNCTYPE(None, c_void_p, c_uint64, c_int32, c_void_p)
LogFn = CFUNCTYPE(None, c_void_p, c_int32, c_void_p, c_size_t)

_ids = POINTER(c_int32)
_SIGNATURES = {  # arguments of the functions that return a status
    "bittern_options_create": [POINTER(c_void_p)],
    "bittern_options_set": [c_void_p, c_char_p, c_char_p],
    "bittern_result_text": [c_void_p, POINTER(c_void_p), POINTER(c_size_t)],
    "bittern_result_ids": [c_void_p, POINTER(_ids), POINTER(c_size_t)],
    "bittern_result_json": [c_void_p, POINTER(c_void_p), POINTER(c_size_t)],
    "bittern_result_floats": [c_void_p, POINTER(POINTER(c_float)), POINTER(c_size_t)],
    "bittern_text_part": [POINTER(c_void_p)],
    "bittern_model_memory": [c_void_p, c_void_p, POINTER(c_void_p)],
    "bittern_model_load": [c_char_p, c_void_p, ProgressFn, c_void_p, POINTER(c_void_p)],
    "bittern_model_load_memory": [c_char_p, c_size_t, c_char_p, c_void_p, ProgressFn, c_void_p,
                                  POINTER(c_void_p)],
    "bittern_model_load_builtin": [c_void_p, POINTER(c_void_p)],
    "bittern_model_number": [c_void_p, c_char_p, POINTER(c_int64)],
    "bittern_model_info": [c_void_p, POINTER(c_void_p)],
    "bittern_model_metadata_count": [c_void_p, POINTER(c_size_t)],
    "bittern_model_metadata_key": [c_void_p, c_size_t, POINTER(c_char_p)],
    "bittern_model_metadata": [c_void_p, c_char_p, POINTER(c_void_p)],
    "bittern_tokenize": [c_void_p, c_char_p, c_size_t, c_uint32, POINTER(c_void_p)],
    "bittern_detokenize": [c_void_p, _ids, c_size_t, c_uint32, POINTER(c_void_p)],
    "bittern_token_bytes": [c_void_p, c_int32, POINTER(c_void_p), POINTER(c_size_t)],
    "bittern_token_is_end": [c_void_p, c_int32, POINTER(c_int32)],
    "bittern_apply_template": [c_void_p, c_char_p, c_size_t, c_char_p, POINTER(c_void_p)],
    "bittern_sequence_create": [c_void_p, c_void_p, POINTER(c_void_p)],
    "bittern_sequence_length": [c_void_p, POINTER(c_size_t)],
    "bittern_sequence_tokens": [c_void_p, POINTER(c_void_p)],
    "bittern_sequence_eval": [c_void_p, _ids, c_size_t],
    "bittern_sequence_set_tokens": [c_void_p, _ids, c_size_t],
    "bittern_sequence_eval_all": [c_void_p, _ids, c_size_t, LogitsFn, c_void_p],
    "bittern_sequence_eval_hidden": [c_void_p, _ids, c_size_t, LogitsFn, c_void_p],
    "bittern_sequence_logits": [c_void_p, POINTER(POINTER(c_float)), POINTER(c_size_t)],
    "bittern_sequence_hidden": [c_void_p, POINTER(POINTER(c_float)), POINTER(c_size_t)],
    "bittern_sequence_truncate": [c_void_p, c_size_t],
    "bittern_sequence_fork": [c_void_p, c_size_t, POINTER(c_void_p)],
    "bittern_sequence_save": [c_void_p, POINTER(c_void_p)],
    "bittern_sequence_restore": [c_void_p, c_char_p, c_size_t],
    "bittern_sequence_generate": [c_void_p, c_void_p, TextFn, c_void_p, POINTER(c_void_p)],
    "bittern_sequence_cancel": [c_void_p],
    "bittern_sampler_create": [c_void_p, POINTER(c_void_p)],
    "bittern_sampler_create_for": [c_void_p, c_void_p, POINTER(c_void_p)],
    "bittern_sampler_accept": [c_void_p, c_int32],
    "bittern_sampler_sample": [c_void_p, POINTER(c_float), c_size_t, _ids],
    "bittern_engine_create": [c_void_p, c_void_p, POINTER(c_void_p)],
    "bittern_engine_submit": [c_void_p, _ids, c_size_t, c_void_p, TextFn, DoneFn, c_void_p,
                              POINTER(c_uint64)],
    "bittern_engine_submit_json": [c_void_p, c_char_p, c_size_t, c_void_p, TextFn, DoneFn, c_void_p,
                                   POINTER(c_uint64)],
    "bittern_engine_submit_line": [c_void_p, c_char_p, c_size_t, c_uint64, c_void_p, DoneFn, c_void_p,
                                   POINTER(c_uint64)],
    "bittern_engine_cancel": [c_void_p, c_uint64],
    "bittern_engine_start": [c_void_p],
    "bittern_engine_stats": [c_void_p, POINTER(c_void_p)],
    "bittern_certify": [c_void_p, c_void_p, ProgressFn, c_void_p, POINTER(c_void_p)],
    "bittern_verify": [c_void_p, c_char_p, c_size_t, c_void_p, POINTER(c_void_p)],
    "bittern_score_text": [c_void_p, c_char_p, c_size_t, c_void_p, ProgressFn, c_void_p,
                           POINTER(c_void_p)],
    "bittern_score_choices": [c_void_p, c_char_p, c_size_t, c_void_p, ProgressFn, c_void_p,
                              POINTER(c_void_p)],
    "bittern_set_log": [LogFn, c_void_p],
    "bittern_trace": [c_void_p, _ids, c_size_t, c_char_p, c_void_p, POINTER(c_void_p)],
    "bittern_embed": [c_void_p, _ids, c_size_t, c_void_p, POINTER(c_void_p)],
    "bittern_parse_answer": [c_void_p, c_char_p, c_size_t, POINTER(c_void_p)],
    "bittern_inspect": [c_char_p, c_void_p, POINTER(c_void_p)],
    "bittern_doctor": [c_char_p, c_void_p, POINTER(c_void_p)],
    "bittern_pull": [c_char_p, POINTER(c_char_p), c_void_p, ProgressFn, c_void_p, POINTER(c_void_p)],
    "bittern_convert": [c_char_p, c_char_p, c_void_p, ProgressFn, c_void_p, POINTER(c_void_p)],
}
for _name, _arguments in _SIGNATURES.items():
    getattr(lib, _name).argtypes = _arguments
    getattr(lib, _name).restype = c_int32
for _name in ("options", "result", "model", "sequence", "sampler", "engine"):
    getattr(lib, f"bittern_{_name}_free").argtypes = [c_void_p]
    getattr(lib, f"bittern_{_name}_free").restype = None
for _name in ("bittern_version", "bittern_error_message", "bittern_error_hint",
              "bittern_options_describe", "bittern_status_name"):
    getattr(lib, _name).restype = c_char_p
lib.bittern_status_name.argtypes = [c_int32]

CANCELLED = 8


class BitternError(Exception):
    """Something failed. `status` is a number of bittern.h, `hint` what may help ("" if nothing).
    Errors can be pickled, so they reach the parent of a pool's process."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(f"{message} ({hint})" if hint else message)
        self.status, self.message, self.hint = status, message, hint

    def __reduce__(self) -> Tuple[Any, ...]:
        return type(self), (self.status, self.message, self.hint), self.__dict__


class ArgumentError(BitternError, ValueError):
    """A value is not acceptable."""


class NotFoundError(BitternError, LookupError):
    """A file, key or name does not exist."""


class UnknownSettingError(NotFoundError, TypeError):
    """A keyword argument is no setting."""


class FileError(BitternError, OSError):
    """The operating system refused, or a file is damaged or not supported."""

    def __str__(self) -> str:
        return BitternError.__str__(self)


class MissingFileError(NotFoundError, FileNotFoundError):
    """A file or folder does not exist; `errno` is ENOENT."""

    def __init__(self, status: int, message: str, hint: str = "") -> None:
        super().__init__(status, message, hint)
        self.errno = errno.ENOENT

    def __str__(self) -> str:
        return BitternError.__str__(self)


class OutOfMemoryError(BitternError, MemoryError):
    """Out of memory or of threads."""


class ContextFullError(BitternError):
    """No room is left for tokens."""


class CancelledError(BitternError):
    """The caller asked to stop."""


NOT_FOUND = 2
_ERRORS: Dict[int, Type[BitternError]] = {
    1: ArgumentError, NOT_FOUND: NotFoundError, 3: FileError, 4: FileError, 5: FileError,
    6: OutOfMemoryError, 7: ContextFullError, CANCELLED: CancelledError}
_OF_FILES = ("bittern_model_load", "bittern_convert", "bittern_inspect")  # NOT_FOUND of these: a file


def _word(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _setting_hint(message: str) -> str:
    """What helps with the wrong name in a message: the name that is nearest, and the list."""
    keys = [row["key"] for row in json.loads(lib.bittern_options_describe())]
    near = difflib.get_close_matches(message.split('"')[1], keys, 1)
    meant = f"did you mean {near[0]}? " if near else ""
    return f"{meant}bittern.options() lists the settings"


def last_error(status: int, name: str = "") -> BitternError:
    """The error of the calling thread's last call, which was of the function `name`."""
    message = _word(lib.bittern_error_message())
    hint = _word(lib.bittern_error_hint())
    if status == NOT_FOUND and name == "bittern_options_set":
        return UnknownSettingError(status, message, _setting_hint(message))
    kind = _ERRORS.get(status, BitternError)
    if status == NOT_FOUND and name in _OF_FILES:
        kind = MissingFileError
    return kind(status, message, hint)


def call(name: str, *arguments: Any) -> None:
    """Calls a function that returns a status; raises what it says. Handles live as long as it."""
    values = [a.value if isinstance(a, Handle) else a for a in arguments]
    status = getattr(lib, name)(*values)
    if status != 0:
        raise last_error(status, name)


class Handle:
    """A handle that is freed with its object."""

    def __init__(self, kind: str, value: Optional[int]) -> None:
        self._free, self.value = getattr(lib, f"bittern_{kind}_free"), value

    def close(self) -> None:
        """Frees it now."""
        value, self.value = self.value, None
        if value is not None:
            self._free(value)

    __del__ = close


def make(kind: str, name: str, *arguments: Any) -> Handle:
    """Calls a function whose last argument is a new handle."""
    value = c_void_p()
    call(name, *arguments, byref(value))
    return Handle(kind, value.value)


def _values(key: str, value: Any) -> Iterable[Any]:
    """The values of a key, one for each time that it is set."""
    if key == "logit_bias" and isinstance(value, dict):
        biases = [(token, -math.inf if bias is False else bias) for token, bias in value.items()]
        return [f"{token}{bias:+}" for token, bias in biases]
    if key == "json_schema" and isinstance(value, (dict, bool)):
        return [json.dumps(value)]
    if not isinstance(value, (list, tuple)):
        return [value]
    if key == "samplers":
        return [";".join(map(str, value))]
    if key == "dry_sequence_breakers" and not value:
        return ["none"]
    return value


def _setting_text(key: str, value: Any) -> str:
    """A value as the C interface takes it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, (dict, set, frozenset, bytes, bytearray, list, tuple)):
        raise TypeError(f"{key}: a text, a number or a bool expected, {type(value).__name__} found")
    text = str(value)
    if "\0" in text:
        raise ArgumentError(1, f"{key}: a text without zero characters expected")
    return text


def options(settings: Dict[str, Any]) -> Handle:
    """A set of settings from a dict: bools, numbers, texts, lists for repeated keys and samplers,
    a dict of token ids for logit_bias (False forbids a token), a dict for json_schema."""
    handle = make("options", "bittern_options_create")
    for key, value in settings.items():
        if value is None:
            continue
        for one in _values(key, value):
            text = _setting_text(key, one)
            call("bittern_options_set", handle.value, key.encode(), text.encode())
    return handle


def array(ids: Iterable[int]) -> Tuple[Any, int]:
    """ids as int32_t[]; the second is their number."""
    ids = [operator.index(number) for number in ids]
    for number in ids:
        if not -2**31 <= number < 2**31:
            raise ArgumentError(1, f"a token id expected, {number} found")
    return (c_int32 * len(ids))(*ids), len(ids)


def text_bytes(text: Union[str, bytes]) -> bytes:
    """A str or bytes as bytes. Raises TypeError for all else: bytes(5) would be five zeros."""
    if isinstance(text, str):
        return text.encode("utf-8", "surrogatepass")
    if isinstance(text, (bytes, bytearray, memoryview)):
        return bytes(text)
    raise TypeError(f"a text (str or bytes) expected, {type(text).__name__} found")


def tokenize(model: Handle, text: Union[str, bytes], *, bos: bool = True,
             special: bool = False, eos: bool = False) -> List[int]:
    """The ids of a text."""
    data = text_bytes(text)
    return result_ids(make("result", "bittern_tokenize", model, data, len(data),
                           (1 if bos else 0) | (2 if special else 0) | (4 if eos else 0)))


def result_text(handle: Handle) -> bytes:
    """The text's bytes."""
    text, size = c_void_p(), c_size_t()
    call("bittern_result_text", handle.value, byref(text), byref(size))
    return ctypes.string_at(text, size.value)


def result_floats(result: Handle) -> List[float]:
    floats, count = POINTER(c_float)(), c_size_t()
    call("bittern_result_floats", result, byref(floats), byref(count))
    return floats[:count.value]


def result_array(result: Handle) -> Any:
    """The floats of a result: a NumPy array of its own."""
    import numpy
    floats, count = POINTER(c_float)(), c_size_t()
    call("bittern_result_floats", result, byref(floats), byref(count))
    return numpy.ctypeslib.as_array(floats, (count.value,)).copy()


def result_json(handle: Handle) -> str:
    text, size = c_void_p(), c_size_t()
    call("bittern_result_json", handle.value, byref(text), byref(size))
    return ctypes.string_at(text, size.value).decode("utf-8")


def result_ids(handle: Handle) -> List[int]:
    ids, count = _ids(), c_size_t()
    call("bittern_result_ids", handle.value, byref(ids), byref(count))
    return ids[:count.value]


def environment() -> Any:
    """The variables of this process as C's `environ` has them."""
    texts = [os.fsencode(f"{key}={value}") for key, value in os.environ.items()]
    return (c_char_p * (len(texts) + 1))(*texts, None)


def path_bytes(path: Any) -> bytes:
    """A file's name as the system spells it."""
    name = os.fsencode(path)
    if b"\0" in name:
        raise ArgumentError(1, "a path without zero characters expected")
    return name
