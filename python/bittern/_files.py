# SPDX-License-Identifier: Apache-2.0
"""Model files: looked at, mended and converted, and models by name."""
from __future__ import annotations

import json
import os
from typing import Any, Dict, Union

from . import _library as c
from ._work import Cancel, Progress

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def inspect(source: Path, **settings: Any) -> Dict[str, Any]:
    """What a model file or folder contains, without loading it: as `bittern inspect --json` has it.

    settings: override_kv, i2s_layout, tl_tiling.
    """
    found: Dict[str, Any] = json.loads(c.result_json(
        c.make("result", "bittern_inspect", c.path_bytes(source), c.options(settings))))
    return found


def doctor(source: Path, **settings: Any) -> Dict[str, Any]:
    """Why a model talks nonsense: a dict with "verdict", "summary", "findings", ...

    settings: fix (where to write a mended file), like (a healthy file), overwrite, threads,
    override_kv.
    """
    found: Dict[str, Any] = json.loads(c.result_json(
        c.make("result", "bittern_doctor", c.path_bytes(source), c.options(settings))))
    return found


def convert(source: Path, target: Path, to: str, *, progress: Progress = None,
            **settings: Any) -> Dict[str, Any]:
    """Converts a model to another format, e.g. convert("m.gguf", "out.gguf", "tq2_0").

    settings: embeddings, scale_type, prove, overwrite, threads, override_kv, ... (see options()).
    progress(done) is told 0 to 1 and may return False to stop. Returns a report as a dict.
    """
    cancel = Cancel(progress)
    chosen = c.options({**settings, "to": to})
    result = cancel.run(lambda: c.make("result", "bittern_convert", c.path_bytes(source),
                                       c.path_bytes(target), chosen, cancel.function, None))
    report: Dict[str, Any] = json.loads(c.result_json(result))
    return report


def pull(name: str, *, progress: Progress = None, **settings: Any) -> str:
    """Finds a model by its name in Hugging Face's cache folder, or fetches it; returns its path.

    name: "USER/REPO", "USER/REPO:FILE" (a path, or a word of the file's name as "i2_s"),
    "USER/REPO@REVISION", a short name as "bitnet-2b", or an address of huggingface.co.
    settings: cache, endpoint, token, offline, update, connections, retries (see options()); where
    one is not given, HF_HUB_CACHE, HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE and the like hold.
    progress(done) is told 0 to 1 and may return False to stop; an interrupted download goes on
    where it was.
    """
    cancel = Cancel(progress)
    chosen, data = c.options(settings), str(name).encode("utf-8", "surrogatepass")
    if b"\0" in data:
        raise c.ArgumentError(1, "a name without zero characters expected")
    result = cancel.run(lambda: c.make("result", "bittern_pull", data, c.environment(), chosen,
                                       cancel.function, None))
    return os.fsdecode(c.result_text(result))
