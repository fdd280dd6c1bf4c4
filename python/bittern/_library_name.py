# SPDX-License-Identifier: Apache-2.0
"""What the shared library is called on a system; the build backend reads this file, too."""
from __future__ import annotations

import sys


def library_name(system: str = sys.platform) -> str:
    """By the word that sys.platform has for the system."""
    return {"win32": "bittern.dll", "darwin": "libbittern.dylib"}.get(system, "libbittern.so")
