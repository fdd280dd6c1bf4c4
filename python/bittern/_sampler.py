# SPDX-License-Identifier: Apache-2.0
"""The draw of a token, for programs that choose tokens themselves."""
from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Iterable, Optional, Tuple, Union

from . import _library as c

if TYPE_CHECKING:
    from ._model import Model
    from ._sequence import Floats


class Sampler:
    """Chooses tokens from logits, which may have been changed.

        sampler = bittern.Sampler(model, temperature=0.8, top_k=40, seed=1)
        sequence.eval([sampler.sample(sequence.logits())])

    Any thread, one call at a time; further ones wait. settings: those of the draw (see
    bittern.options()). With a model it obeys grammar, json_schema, regex and ignore_eos, too, has the
    model's recommendations, and chooses as Sequence.generate does. Without one it has no vocabulary,
    so dry_sequence_breakers make no difference.
    """

    def __init__(self, model: Optional[Model] = None, **settings: Any) -> None:
        chosen = c.options(settings)
        self._handle = (c.make("sampler", "bittern_sampler_create", chosen) if model is None else
                        c.make("sampler", "bittern_sampler_create_for", model.handle, chosen))

    def accept(self, token: int) -> None:
        """Tells it of a token in the text: those of the prompt, and each one that was chosen. Raises
        ArgumentError for one that the grammar does not allow."""
        c.call("bittern_sampler_accept", self._handle, c.array([token])[0][0])

    def sample(self, logits: Union[Floats, Iterable[float]]) -> int:
        """Chooses one of len(logits) tokens. Raises BitternError where no logit is finite."""
        values, count = _floats(logits)
        token = ctypes.c_int32()
        c.call("bittern_sampler_sample", self._handle, values, count, ctypes.byref(token))
        return token.value


def _floats(logits: Any) -> Tuple[Any, int]:
    """logits as float[]; those of a NumPy array of floats are not copied."""
    if hasattr(logits, "__array_interface__"):
        import numpy
        array = numpy.ascontiguousarray(logits, dtype=numpy.float32)
        if array.ndim != 1:
            raise c.ArgumentError(1, f"logits of one position expected, shape {array.shape} found")
        return array.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), len(array)
    numbers = list(logits)
    return (ctypes.c_float * len(numbers))(*numbers), len(numbers)
