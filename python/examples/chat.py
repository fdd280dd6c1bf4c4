# SPDX-License-Identifier: Apache-2.0
"""A conversation. Usage: chat.py [MODEL]; an empty line ends it."""
import sys
from typing import Dict, List

import bittern


def main() -> None:
    """Asks and answers in turn."""
    model = bittern.Model(sys.argv[1] if len(sys.argv) > 1 else None)
    messages: List[Dict[str, str]] = []
    for line in sys.stdin:
        if not line.strip():
            break
        messages.append({"role": "user", "content": line.strip()})
        answer = ""
        for part in model.chat(messages, stream=True, n_predict=200):
            print(part, end="", flush=True)
            answer += part
        print()
        messages.append({"role": "assistant", "content": answer})


if __name__ == "__main__":
    main()
