# SPDX-License-Identifier: Apache-2.0
"""How near texts are to the first one, by the mean of their hidden states. Needs NumPy.
Usage: hidden.py [MODEL]"""
import sys
from typing import TYPE_CHECKING

import numpy

import bittern

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEXTS = ["A tern is a bird.", "A gull is a bird.", "Add two to three."]


def mean_state(model: bittern.Model, text: str) -> "NDArray[numpy.float32]":
    """The mean over the positions of a text, of length 1."""
    with model.sequence(hidden=True) as sequence:
        total = numpy.zeros(model.hidden_size, numpy.float32)
        for token in model.tokenize(text):
            sequence.eval([token])
            total += sequence.hidden()
    total /= numpy.sqrt((total * total).sum())
    return total


def main() -> None:
    """Prints a cosine for each text."""
    model = bittern.Model(sys.argv[1] if len(sys.argv) > 1 else None)
    states = [mean_state(model, text) for text in TEXTS]
    for text, state in zip(TEXTS, states):
        print(f"{float(states[0] @ state):.2f}  {text}")


if __name__ == "__main__":
    main()
