# SPDX-License-Identifier: Apache-2.0
"""Batches and a server on a cluster of Ray (`pip install "ray[data,serve]"`).

    import bittern.ray
    bittern.ray.batch("in.jsonl", "out.jsonl", model="bitnet-2b", workers=16, cpus=8)

writes the file that `bittern batch in.jsonl -o out.jsonl` writes on one machine, byte for byte, whatever
the number of workers. A worker is an actor with a model and an engine that stay warm, on as many cores as
Ray gives it. Ray starts a lost worker again and repeats the blocks that it had not finished.
answers() is the same for a dataset of Ray Data, deployment() an application of Ray Serve.

Every node has this package and sees the model: a path that is the same everywhere, or a name, which the
first worker of a host downloads.
"""
from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from typing import (IO, Any, BinaryIO, Callable, Dict, Generator, Iterator, List, Optional, Sequence,
                    Tuple, Union)

try:
    import pyarrow
    import ray
    import ray.data
except ImportError as error:
    raise ImportError(f'bittern.ray needs Ray: pip install "ray[data,serve]" ({error})') from error

import bittern

from . import _library

Path = Union[str, "os.PathLike[str]"]
Progress = Optional[Callable[[int, int], Any]]

_SEQUENCES = 32  # as `bittern batch` has
_LINES = _SEQUENCES  # of a block: what a worker that is lost has to repeat, a few times
_BLOCKS = 3  # that a worker has at a time, so that its engine is full while one of them ends
_OF_ENGINE = ("context_length", "kv_type", "batch_size", "threads", "max_sequences", "cache_tokens",
              "prefix_cache")
_HOP = ("connection", "keep-alive", "transfer-encoding", "date", "server", "host")


def _load(model: Optional[str], threads: int) -> bittern.Model:
    if model is None or os.path.exists(model):
        return bittern.Model(model, threads=threads)
    return bittern.Model.from_pretrained(model, threads=threads)


def _cores() -> int:
    """What Ray has given to this worker."""
    given = ray.get_runtime_context().get_assigned_resources().get("CPU", 1)
    return max(1, int(given))


class _Worker:
    """The actor: one model and one engine, for all blocks that come."""

    def __init__(self, model: Optional[str], engine: Dict[str, Any], settings: Dict[str, Any]):
        self._settings = settings
        threads = engine.get("threads", _cores())
        self._engine = bittern.Engine(_load(model, threads), **{**engine, "threads": threads})

    async def lines(self, numbers: List[int], texts: List[bytes]) -> List[str]:
        """Several calls at a time; the engine runs all of their lines."""
        futures = [self._engine.line(text, number, **self._settings)
                   for number, text in zip(numbers, texts)]
        return await asyncio.gather(*map(asyncio.wrap_future, futures))

    async def __call__(self, block: Any) -> Any:
        """Adds the column "result"."""
        results = await self.lines(block.column("line").to_pylist(),
                                   block.column("text").to_pylist())
        return block.append_column("result", pyarrow.array(results, pyarrow.large_string()))


def _split(settings: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """The settings of the engine, and those of a line. Raises for what a worker would refuse."""
    known = {row["key"]: row["kinds"] for row in bittern.options()}
    engine = {key: value for key, value in settings.items() if key in _OF_ENGINE}
    of_line = {key: value for key, value in settings.items() if key not in engine}
    for key in of_line:
        if key in known and "generate" not in known[key]:
            raise bittern.ArgumentError(1, f"{key}: a setting of an engine or of a line expected")
    _library.options(settings)
    return {"max_sequences": _SEQUENCES, **engine}, of_line


def answers(dataset: Any, model: Optional[str] = None, *, workers: Optional[int] = None,
            cpus: int = 1, **settings: Any) -> Any:
    """A dataset with the column "result" beside those of `dataset`, whose column "text" has lines as
    `bittern batch` reads them and "line" their numbers from 1. A result is the line that `bittern
    batch` writes, with its end. Blocks may come in another order (rows say their "line"); each is
    repeated as a whole where its worker is lost, so they should be small (32 rows).

    workers: actors, without it as many as the cluster has room for; cpus: cores of each; settings:
    those of an engine and of what lines leave open."""
    engine, of_line = _split(settings)
    return dataset.map_batches(
        _Worker, fn_constructor_args=(model, engine, of_line), batch_size=None,
        batch_format="pyarrow", num_cpus=cpus, udf_modifying_row_count=False,
        compute=ray.data.ActorPoolStrategy(size=workers or _room(cpus),
                                           max_tasks_in_flight_per_actor=_BLOCKS,
                                           max_concurrent_calls_per_actor=_BLOCKS))


def _room(cpus: int) -> int:
    """Workers that fit into the cluster."""
    if not ray.is_initialized():
        ray.init()
    return max(1, int(ray.cluster_resources().get("CPU", 1)) // cpus)


def prompts(texts: Sequence[str], **settings: Any) -> List[Dict[str, Any]]:
    """Rows for answers(): {"line", "text"} of a request for each prompt."""
    return [{"line": number, "text": json.dumps({"prompt": text, **settings}).encode()}
            for number, text in enumerate(texts, 1)]


def _lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines without their ends and without blank ones, as `bittern batch` counts them."""
    for line in file:
        line = line[:-1] if line.endswith(b"\n") else line
        if line.strip(b" \t\r"):
            yield line


class _Block:
    """A few lines of a file, and how often a worker was lost that had them."""

    def __init__(self) -> None:
        self.numbers: List[int] = []
        self.texts: List[bytes] = []
        self.losses = 0


def _blocks(lines: Iterator[bytes], done: int) -> Iterator[_Block]:
    """From line done + 1 on."""
    block = _Block()
    for number, line in enumerate(lines, 1):
        if number <= done:
            continue
        block.numbers.append(number)
        block.texts.append(line)
        if len(block.numbers) == _LINES:
            yield block
            block = _Block()
    if block.numbers:
        yield block


class _PoolWorker:
    """A worker of _Pool. What keeps it from loading reaches the pool as it is, from start()."""

    def __init__(self, model: Optional[str], engine: Dict[str, Any], settings: Dict[str, Any]):
        self._given = model, engine, settings

    async def start(self) -> None:
        self._worker = _Worker(*self._given)

    async def lines(self, numbers: List[int], texts: List[bytes]) -> List[str]:
        return await self._worker.lines(numbers, texts)


class _Pool:
    """Actors that take blocks, a few each. The pool sleeps until one of them has something to hand
    over, so that it takes no time from an engine on the same machine. (Ray Data asks for the state
    of its actors many times a second: that took 6 % of two cores.) Where an actor is lost, its
    blocks go to the others, and a new one starts as soon as there is room."""

    _MOST_LOSSES = 9  # of one block, and of workers in a row before they are ready

    def __init__(self, blocks: Iterator[_Block], given: Tuple[Any, ...], workers: int, cpus: int):
        self._blocks = blocks
        self._back: List[_Block] = []  # of lost workers
        self._given = given
        self._actor = ray.remote(num_cpus=cpus, scheduling_strategy="SPREAD")(_PoolWorker)
        self._tasks: Dict[Any, Tuple[Any, Optional[_Block]]] = {}  # None: start()
        self._losses = 0
        for _ in range(workers):
            self._start()

    def _start(self) -> None:
        actor = self._actor.remote(*self._given)
        self._tasks[actor.start.remote()] = actor, None

    def _give(self, actor: Any) -> None:
        block = self._back.pop() if self._back else next(self._blocks, None)
        if block is not None:
            self._tasks[actor.lines.remote(block.numbers, block.texts)] = actor, block

    def _lost(self, actor: Any, error: Exception) -> None:
        """Takes back all that an actor had, and starts another one."""
        refs = [ref for ref, (owner, _) in self._tasks.items() if owner is actor]
        blocks = [block for _, block in map(self._tasks.pop, refs)]
        ray.kill(actor)
        for block in blocks:
            if block is not None:
                block.losses += 1
                self._back.append(block)
        self._back.sort(key=lambda block: -block.numbers[0])  # the first lines, the next to go
        if None in blocks:
            self._losses += 1
        worst = max((block.losses for block in blocks if block is not None), default=self._losses)
        if worst >= self._MOST_LOSSES:
            raise RuntimeError(f"{worst} workers were lost over the same work: {error}") from error
        self._start()

    def results(self) -> Generator[Tuple[int, str], None, None]:
        """Numbers of lines with their results, as they come. Raises what a worker raised."""
        try:
            while any(block is not None for _, block in self._tasks.values()) or self._work_left():
                ref = ray.wait(list(self._tasks), num_returns=1)[0][0]
                actor, block = self._tasks[ref]
                try:
                    found = ray.get(ref)
                except ray.exceptions.RayTaskError as error:
                    raise error.cause if isinstance(error.cause, Exception) else error
                except ray.exceptions.RayError as error:
                    self._lost(actor, error)
                    continue
                del self._tasks[ref]
                if block is None:
                    self._losses = 0
                for _ in range(_BLOCKS if block is None else 1):
                    self._give(actor)
                if block is not None:
                    yield from zip(block.numbers, found)
        finally:
            for actor in {id(actor): actor for actor, _ in self._tasks.values()}.values():
                ray.kill(actor)

    def _work_left(self) -> bool:
        """Whether a block waits for a worker."""
        if not self._back:
            self._back.extend(block for block in [next(self._blocks, None)] if block is not None)
        return bool(self._back)


def _line_id(line: bytes, number: int) -> str:
    """The id that the result of a line has."""
    try:
        read = json.loads(line)
    except ValueError:
        read = None
    for key in ("custom_id", "id"):
        if isinstance(read, dict) and key in read:
            found = read[key]
            return found if isinstance(found, str) else json.dumps(found, separators=(",", ":"),
                                                                   ensure_ascii=False)
    return str(number)


def _resume(source: Path, output: Path) -> int:
    """Cuts what is no whole line off and counts the results, which must be those of the source."""
    done = size = 0
    with open(source, "rb") as asked, open(output, "r+b") as there:
        lines = _lines(asked)
        for result in there:
            if not result.endswith(b"\n"):
                break
            done += 1
            line = next(lines, None)
            expected = "the end of the file" if line is None else f'the id "{_line_id(line, done)}"'
            found = json.loads(result).get("id")
            if line is None or found != _line_id(line, done):
                raise bittern.ArgumentError(1, f"{output}: line {done}: {expected} expected, "
                                               f'"{found}" found')
            size += len(result)
        there.truncate(size)
    return done


def batch(source: Path, output: Path, model: Optional[str] = None, *,
          workers: Optional[int] = None, cpus: int = 1, resume: bool = False,
          progress: Progress = None, **settings: Any) -> int:
    """Runs each line of the file `source` and writes `output`, the file that `bittern batch` writes
    with the same settings. Returns the number of lines.

    Both files are this machine's. progress(done, lines) is called as lines are written; False, or an
    interrupt, ends the run: `output` then has whole lines, and resume=True goes on. model, workers,
    cpus and settings as in answers()."""
    given = model, *_split(settings)  # before anything is written
    if os.path.exists(output) and not resume:
        raise FileExistsError(f"{output} exists already; choose another name, or resume=True")
    done = _resume(source, output) if resume and os.path.exists(output) else 0
    with open(source, "rb") as file:
        total = sum(1 for _ in _lines(file))
    with open(source, "rb") as file, open(output, "ab") as results:
        if done != total:
            pool = _Pool(_blocks(_lines(file), done), given, workers or _room(cpus), cpus)
            with contextlib.closing(pool.results()) as rows:
                done = _write(rows, results, done, total, progress)
    if done != total:
        raise RuntimeError(f"line {done + 1}: a result expected, none found")
    return total


def _write(rows: Iterator[Tuple[int, str]], results: BinaryIO, done: int, total: int,
           progress: Progress) -> int:
    """Writes results in the order of their lines; those that come early wait. Returns how many lines
    have results then."""
    early: Dict[int, str] = {}
    for number, result in rows:
        early[number] = result
        while done + 1 in early:
            done += 1
            results.write(early.pop(done).encode("utf-8"))
            results.flush()
            if progress is not None and progress(done, total) is False:
                raise bittern.CancelledError(8, f"cancelled after {done} of {total} lines")
    return done


# Ends the server where the standard input ends: with the process that started it, however that ends.
_GUARD = '"$@" </dev/null & server=$!; cat >/dev/null; kill "$server"; wait "$server"'


class _Server:
    """`bittern serve` on a port of this host, which is asked for every request."""

    def __init__(self, program: str, flags: Sequence[str]):
        command = [program, "serve", "--host", "127.0.0.1", "--port", "0", *flags]
        self._process = subprocess.Popen(["sh", "-c", _GUARD, "sh", *command], text=True,
                                         stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        self.address = self._address()
        threading.Thread(target=self._hand_on, daemon=True).start()

    def _address(self) -> str:
        """Reads what the server says until it is ready."""
        said = ""
        for line in self._said():
            said += line
            ready = re.search(r"ready: .* at (http://\S+),", line)
            if ready:
                return ready[1]
            if line.startswith("error: "):
                break
        self.end()
        raise RuntimeError(f"bittern serve ended: {said}")

    def _said(self) -> IO[str]:
        assert self._process.stderr is not None
        return self._process.stderr

    def _hand_on(self) -> None:
        """To the log that Ray keeps of this replica."""
        for line in self._said():
            print(line, end="", file=sys.stderr)

    def end(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        self._process.wait()


def deployment(model: Optional[str] = None, *, program: Optional[str] = None,
               flags: Sequence[str] = (), cpus: int = 1, **options: Any) -> Any:
    """An application of Ray Serve with all routes of `bittern serve`, OpenAI's among them:

        serve.run(bittern.ray.deployment("bitnet-2b", num_replicas=4, cpus=8))

    Each replica runs a `bittern serve` of its own, so answers are that server's, byte for byte, and so
    are streams and errors. program: the command line program, without it $BITTERN or the `bittern` of
    the search path; flags: those of `bittern serve`; cpus: cores of a replica; options: those of
    serve.deployment (num_replicas, autoscaling_config, max_ongoing_requests, ...)."""
    from ray import serve
    wanted = {"name": "bittern", "max_ongoing_requests": 64,
              "ray_actor_options": {"num_cpus": cpus}, **options}
    return serve.deployment(**wanted)(_Replica).bind(program, model, list(flags))


class _Replica:
    def __init__(self, program: Optional[str], model: Optional[str], flags: List[str]):
        import aiohttp
        found = program or os.environ.get("BITTERN") or shutil.which("bittern")
        if found is None:
            raise FileNotFoundError("bittern: the program is not in the search path of this node; "
                                    "give program=PATH")
        named = [] if model is None else ["-m", model, "-y"]
        self._server = _Server(found, [*named, "-t", str(_cores()), *flags])
        self._client = aiohttp.ClientSession(auto_decompress=False,
                                             timeout=aiohttp.ClientTimeout(total=None))

    async def __call__(self, request: Any) -> Any:
        """The server's answer, as it comes. A client that goes away ends the request."""
        from starlette.responses import StreamingResponse
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        asked = await self._client.request(
            request.method, self._server.address + path, data=await request.body(),
            headers=[(key, value) for key, value in request.headers.items() if key not in _HOP],
            allow_redirects=False)

        async def parts() -> Any:
            async with asked:
                async for part in asked.content.iter_any():
                    yield part
        headers = {key.lower(): value for key, value in asked.headers.items()}
        return StreamingResponse(parts(), asked.status, {
            key: value for key, value in headers.items() if key not in _HOP})

    async def check_health(self) -> None:
        """Ray starts a replica again whose server is gone."""
        async with self._client.get(self._server.address + "/health") as answer:
            answer.raise_for_status()

    def __del__(self) -> None:
        server = getattr(self, "_server", None)
        if server is not None:
            server.end()
