# SPDX-License-Identifier: Apache-2.0
"""Each token of an answer with the ones that were as likely. Usage: logprobs.py [MODEL [PROMPT]]"""
import math
import sys

import bittern


def main() -> None:
    """Asks once and prints a line for each token."""
    model = bittern.Model(sys.argv[1] if len(sys.argv) > 1 else None)
    prompt = sys.argv[2] if len(sys.argv) > 2 else "A tern is"
    with bittern.Engine(model, max_sequences=1) as engine:
        answer = engine.answer({"prompt": prompt, "max_tokens": 20, "logprobs": 3,
                                "temperature": 0}).result()
    for token in answer["logprobs"]["content"]:
        others = [f"{top['token']!r} {math.exp(top['logprob']):.1%}" for top in token["top_logprobs"]]
        print(f"{token['token']!r:12} {math.exp(token['logprob']):6.1%}   {', '.join(others)}")


if __name__ == "__main__":
    main()
