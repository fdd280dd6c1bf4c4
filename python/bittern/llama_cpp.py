# SPDX-License-Identifier: Apache-2.0
"""Llama as llama-cpp-python has it, over Bittern: programs that are written for that run.

    from bittern.llama_cpp import Llama        # in place of: from llama_cpp import Llama
    llm = Llama(model_path="model.gguf", n_ctx=2048)
    print(llm("Q: Name the planets. A: ", max_tokens=32, stop=["Q:"])["choices"][0]["text"])

Defaults are llama-cpp-python's. An argument that would change the answer and that Bittern does not have
is an error which names it; one that is about GPUs is ignored with a warning, one that only concerns
speed or memory in silence. The texts are Bittern's own: other numbers than llama.cpp's.
"""
from __future__ import annotations

import json
import os
import re
import warnings
from typing import Any, Dict, Generator, Iterable, Iterator, List, Optional, Tuple, Union

from . import _completions
from . import _library as c
from ._engine import Engine
from ._files import Path, pull
from ._llama_formats import FORMATS
from ._model import Model
from ._sampler import Sampler

Json = Dict[str, Any]
Answer = Union[Json, Iterator[Json]]
Stop = Optional[Union[str, List[str]]]

RANDOM_SEED = 0xFFFFFFFF
_KV_TYPES = {0: "f32", 1: "f16"}  # numbers of ggml's types
_POOLINGS = {-1: "mean", 1: "mean", 2: "first", 3: "last"}  # numbers of llama.cpp's types
# Arguments of the constructor and the value that says nothing.
_GPU = {"n_gpu_layers": 0, "split_mode": 1, "main_gpu": 0, "tensor_split": None, "offload_kqv": True,
        "flash_attn": False, "op_offload": None}
_REFUSED = {"vocab_only": False, "rope_scaling_type": -1, "attention_type": -1,
            "rope_freq_base": 0.0, "rope_freq_scale": 0.0, "yarn_ext_factor": -1.0,
            "yarn_attn_factor": 1.0, "yarn_beta_fast": 32.0, "yarn_beta_slow": 1.0,
            "yarn_orig_ctx": 0, "lora_base": None, "lora_scale": 1.0, "lora_path": None,
            "chat_handler": None, "tokenizer": None, "spm_infill": False}
# Of a request.
_REFUSED_BY_REQUESTS = {"tfs_z": 1.0, "logits_processor": None, "stopping_criteria": None}
_NAMES = {"mirostat_mode": "mirostat"}


def _refuse(given: Json, neutral: Json) -> None:
    """An error for the first argument that is not what says nothing."""
    for name, value in neutral.items():
        if given.get(name, value) != value:
            raise c.ArgumentError(1, f"{name}: not supported here", "leave it out")


class LlamaGrammar:
    """A grammar that a text obeys: GBNF, or a JSON schema."""

    def __init__(self, *, _grammar: str, _key: str = "grammar") -> None:
        self.setting = {_key: _grammar}

    @classmethod
    def from_string(cls, grammar: str, verbose: bool = True) -> LlamaGrammar:
        """Of GBNF."""
        return cls(_grammar=grammar)

    @classmethod
    def from_file(cls, file: Path, verbose: bool = True) -> LlamaGrammar:
        """Of a file with GBNF."""
        with open(file, encoding="utf-8") as opened:
            return cls(_grammar=opened.read())

    @classmethod
    def from_json_schema(cls, json_schema: str, verbose: bool = True) -> LlamaGrammar:
        """Of a schema, as text."""
        return cls(_grammar=json_schema, _key="json_schema")


class LlamaState:
    """What Llama.save_state() gives. It can be pickled."""

    def __init__(self, state: bytes) -> None:
        self.llama_state = state
        self.llama_state_size = len(state)


class Llama:
    """A model with one text of its own (eval, generate, save_state) and an engine for completions.

    model_path: a GGUF file, or None for the small built-in model. One call at a time; further ones
    wait. `model` is the bittern.Model.
    """

    def __init__(self, model_path: Optional[Path] = None, *, n_gpu_layers: int = 0,
                 split_mode: int = 1, main_gpu: int = 0,
                 tensor_split: Optional[List[float]] = None, vocab_only: bool = False,
                 use_mmap: bool = True, use_mlock: bool = False,
                 kv_overrides: Optional[Dict[str, Union[bool, int, float, str]]] = None,
                 seed: int = RANDOM_SEED, n_ctx: int = 512, n_batch: int = 512,
                 n_ubatch: int = 512, n_threads: Optional[int] = None,
                 n_threads_batch: Optional[int] = None, rope_scaling_type: Optional[int] = -1,
                 pooling_type: int = -1, attention_type: int = -1, rope_freq_base: float = 0.0,
                 rope_freq_scale: float = 0.0, yarn_ext_factor: float = -1.0,
                 yarn_attn_factor: float = 1.0, yarn_beta_fast: float = 32.0,
                 yarn_beta_slow: float = 1.0, yarn_orig_ctx: int = 0, logits_all: bool = False,
                 embedding: bool = False, offload_kqv: bool = True, flash_attn: bool = False,
                 op_offload: Optional[bool] = None, swa_full: Optional[bool] = None,
                 no_perf: bool = False, last_n_tokens_size: int = 64,
                 lora_base: Optional[str] = None, lora_scale: float = 1.0,
                 lora_path: Optional[str] = None, numa: Union[bool, int] = False,
                 chat_format: Optional[str] = None, chat_handler: Any = None,
                 draft_model: Any = None, tokenizer: Any = None, type_k: Optional[int] = None,
                 type_v: Optional[int] = None, spm_infill: bool = False, verbose: bool = True
                 ) -> None:
        given = dict(locals())
        _refuse(given, _REFUSED)
        on_gpu = [name for name, value in _GPU.items() if given[name] != value]
        if on_gpu:
            warnings.warn(f"{', '.join(on_gpu)}: Bittern runs on the CPU; ignored", stacklevel=2)
        if pooling_type not in _POOLINGS:
            raise c.ArgumentError(1, "pooling_type: -1, 1 (mean), 2 (first) or 3 (last) expected, "
                                  f"{pooling_type} found")
        self._pooling = _POOLINGS[pooling_type]
        overrides = _overrides(kv_overrides or {}, chat_format)
        self.model = Model(model_path, override_kv=overrides, threads=n_threads)
        if pooling_type == -1 and any(key.endswith(".pooling_type") for key in self.model.metadata_keys()):
            self._pooling = "auto"
        self.model_path = model_path
        self.verbose = verbose
        self._seed = seed
        self._last_n = last_n_tokens_size
        most = self.model.context_length
        self._sizes = {"context_length": min(n_ctx, most) or most, "batch_size": n_batch,
                       "threads": n_threads, "kv_type": _kv_type(type_k, type_v)}
        self._engine = Engine(self.model, max_sequences=1, **self._sizes)
        self._sequence = self.model.sequence(**self._sizes)

    @classmethod
    def from_pretrained(cls, repo_id: str, filename: Optional[str],
                        additional_files: Optional[List[str]] = None,
                        local_dir: Optional[Path] = None,
                        local_dir_use_symlinks: Union[bool, str] = "auto",
                        cache_dir: Optional[Path] = None, **kwargs: Any) -> Llama:
        """A model of Hugging Face's hub, from its cache or downloaded. filename: a name, or a
        pattern as "*i2_s.gguf", of which the longest plain part has to fit. kwargs: as Llama()."""
        _refuse({"additional_files": additional_files, "local_dir": local_dir},
                {"additional_files": None, "local_dir": None})
        part = filename or ""
        if re.search(r"[*?]", part):
            part = max(re.split(r"[*?]", part.removesuffix(".gguf")), key=len).strip("-_.")
        name = f"{repo_id}:{part}" if part else repo_id
        return cls(pull(name, update=False, cache=cache_dir and os.fspath(cache_dir)), **kwargs)

    # -- texts -----------------------------------------------------------------------------------

    def create_completion(self, prompt: Union[str, List[int]], suffix: Optional[str] = None,
                          max_tokens: Optional[int] = 16, temperature: float = 0.8,
                          top_p: float = 0.95, min_p: float = 0.05, typical_p: float = 1.0,
                          logprobs: Optional[int] = None, echo: bool = False, stop: Stop = None,
                          frequency_penalty: float = 0.0, presence_penalty: float = 0.0,
                          repeat_penalty: float = 1.0, top_k: int = 40, stream: bool = False,
                          seed: Optional[int] = None, tfs_z: float = 1.0, mirostat_mode: int = 0,
                          mirostat_tau: float = 5.0, mirostat_eta: float = 0.1,
                          model: Optional[str] = None, stopping_criteria: Any = None,
                          logits_processor: Any = None, grammar: Optional[LlamaGrammar] = None,
                          logit_bias: Optional[Dict[int, float]] = None) -> Answer:
        """A prompt that goes on: a dict in OpenAI's shape, or with stream=True its chunks.
        max_tokens: None or below 1 for all that there is room for."""
        request = self._request(locals(), ("prompt", "stream"))
        answer = self.model.completion(prompt, request)
        return answer.stream(self._engine) if stream else answer.whole(self._engine)

    __call__ = create_completion

    def create_chat_completion(self, messages: List[Json], functions: Any = None,
                               function_call: Any = None, tools: Optional[List[Json]] = None,
                               tool_choice: Any = None, temperature: float = 0.2,
                               top_p: float = 0.95, top_k: int = 40, min_p: float = 0.05,
                               typical_p: float = 1.0, stream: bool = False, stop: Stop = None,
                               seed: Optional[int] = None, response_format: Optional[Json] = None,
                               max_tokens: Optional[int] = None, presence_penalty: float = 0.0,
                               frequency_penalty: float = 0.0, repeat_penalty: float = 1.0,
                               tfs_z: float = 1.0, mirostat_mode: int = 0,
                               mirostat_tau: float = 5.0, mirostat_eta: float = 0.1,
                               model: Optional[str] = None, logits_processor: Any = None,
                               grammar: Optional[LlamaGrammar] = None,
                               logit_bias: Optional[Dict[int, float]] = None,
                               logprobs: Optional[bool] = None,
                               top_logprobs: Optional[int] = None) -> Answer:
        """The answer to a conversation: a dict in OpenAI's shape, or with stream=True its chunks."""
        request = self._request(locals(), ("stream",))
        answer = _completions.Chat(self.model.name, _completions.body_of(request))
        return answer.stream(self._engine) if stream else answer.whole(self._engine)

    def _request(self, given: Json, without: Iterable[str]) -> Json:
        """The fields of a request's body of the arguments of a method."""
        _refuse(given, _REFUSED_BY_REQUESTS)
        request = {_NAMES.get(name, name): value for name, value in given.items()
                   if name not in ("self", "grammar", *without, *_REFUSED_BY_REQUESTS)}
        grammar, most = given["grammar"], request["max_tokens"]
        if grammar is not None:
            request.update(grammar.setting)
        if "json_schema" in request:
            request["json_schema"] = json.loads(request["json_schema"])
        seed = self._seed if request["seed"] is None else request["seed"]
        return {**request, "max_tokens": -1 if most is None or most < 1 else most,
                "seed": -1 if seed == RANDOM_SEED else seed, "repeat_last_n": self._last_n}

    def create_embedding(self, input: Union[str, List[str]],  # pylint: disable=redefined-builtin
                         model: Optional[str] = None) -> Json:
        """Texts as vectors, in OpenAI's shape. A vector is made of the hidden states of all tokens
        after the final norm: as pooling_type says, else as the model's file says, else their mean.
        Models that are made to go on with texts give vectors that are less apt for a search than
        those of a model for embeddings."""
        vectors, count = self._vectors(input if isinstance(input, list) else [input], False, True)
        data = [{"object": "embedding", "embedding": vector, "index": index}
                for index, vector in enumerate(vectors)]
        return {"object": "list", "data": data, "model": model or self.model.name,
                "usage": {"prompt_tokens": count, "total_tokens": count}}

    def embed(self, input: Union[str, List[str]],  # pylint: disable=redefined-builtin
              normalize: bool = False, truncate: bool = True, return_count: bool = False) -> Any:
        """The vector of a text, or a list of them for a list, as create_embedding has them.
        normalize: to length 1. truncate: a text that is longer than n_ctx is cut; else it is an
        error. return_count: (what is returned, number of tokens)."""
        vectors, count = self._vectors(input if isinstance(input, list) else [input], normalize,
                                       truncate)
        given = vectors if isinstance(input, list) else vectors[0]
        return (given, count) if return_count else given

    def _vectors(self, texts: List[str], normalize: bool, truncate: bool
                 ) -> Tuple[List[List[float]], int]:
        """A vector for each text, and the tokens of all of them."""
        ids = [self.model.tokenize(text, eos=True) for text in texts]
        if truncate:
            behind = len(self.model.tokenize("", bos=False, eos=True))
            ids = [one if len(one) <= self.n_ctx() else
                   one[:self.n_ctx() - behind] + one[len(one) - behind:] for one in ids]
        return [self.model.vector(one, pooling=self._pooling, normalize=normalize, **self._sizes)
                for one in ids], sum(map(len, ids))

    # -- tokens ----------------------------------------------------------------------------------

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> List[int]:
        """The ids of a text."""
        return self.model.tokenize(text, bos=add_bos, special=special)

    def detokenize(self, tokens: List[int], prev_tokens: Optional[List[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of ids; prev_tokens: those in front, which are not written."""
        if prev_tokens:
            before = self.model.detokenize(prev_tokens, special=special).encode()
            whole = self.model.detokenize([*prev_tokens, *tokens], special=special).encode()
            return whole[len(before):]
        return self.model.detokenize(tokens, special=special).encode()

    def token_eos(self) -> int:
        """The id of EOS; -1: there is none."""
        return self.model.eos_id

    def token_bos(self) -> int:
        """The id of BOS; -1: there is none."""
        return self.model.bos_id

    def token_nl(self) -> int:
        """The id of a line's end; -1: it is several tokens."""
        ids = self.model.tokenize("\n", bos=False)
        return ids[0] if len(ids) == 1 else -1

    def n_ctx(self) -> int:
        """Tokens of a text at most."""
        return int(self._sizes["context_length"] or 0)

    def n_embd(self) -> int:
        """Numbers of a hidden state."""
        return self.model.hidden_size

    def n_vocab(self) -> int:
        """Number of token ids."""
        return self.model.vocab_size

    # -- one text, token by token ----------------------------------------------------------------

    @property
    def n_tokens(self) -> int:
        """Tokens held."""
        return len(self._sequence)

    @property
    def eval_tokens(self) -> List[int]:
        """The tokens held."""
        return self._sequence.tokens

    def reset(self) -> None:
        """Forgets the tokens held."""
        self._sequence.truncate(0)

    def eval(self, tokens: Iterable[int]) -> None:
        """Reads tokens behind those that are held."""
        self._sequence.eval(tokens)

    def generate(self, tokens: Iterable[int], top_k: int = 40, top_p: float = 0.95,
                 min_p: float = 0.05, typical_p: float = 1.0, temp: float = 0.8,
                 repeat_penalty: float = 1.0, reset: bool = True, frequency_penalty: float = 0.0,
                 presence_penalty: float = 0.0, tfs_z: float = 1.0, mirostat_mode: int = 0,
                 mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, penalize_nl: bool = True,
                 logits_processor: Any = None, stopping_criteria: Any = None,
                 grammar: Optional[LlamaGrammar] = None
                 ) -> Generator[int, Optional[List[int]], None]:
        """Ids without end, the next after `tokens` first; the caller stops. What is sent into the
        generator is read behind the last id. Needs NumPy."""
        _refuse(locals(), {**_REFUSED_BY_REQUESTS, "penalize_nl": True})
        seed = -1 if self._seed == RANDOM_SEED else self._seed
        sampler = Sampler(self.model, top_k=top_k, top_p=top_p, min_p=min_p, typical_p=typical_p,
                          temperature=temp, repeat_penalty=repeat_penalty, seed=seed,
                          frequency_penalty=frequency_penalty, presence_penalty=presence_penalty,
                          mirostat=mirostat_mode, mirostat_tau=mirostat_tau,
                          mirostat_eta=mirostat_eta, repeat_last_n=self._last_n,
                          **({} if grammar is None else grammar.setting))
        ids = list(tokens)
        if reset:
            self._sequence.set_tokens(ids)
        else:
            self._sequence.eval(ids)
        for token in self._sequence.tokens:
            sampler.accept(token)
        while True:
            token = sampler.sample(self._sequence.logits())
            sampler.accept(token)
            more = yield token
            self._sequence.eval([token, *(more or [])])
            for other in more or []:
                sampler.accept(other)

    def set_seed(self, seed: int) -> None:
        """The seed of what follows."""
        self._seed = seed

    def set_cache(self, cache: Any) -> None:
        """Nothing: the beginning of a text is always kept."""

    def save_state(self) -> LlamaState:
        """The text of eval() and generate(), for load_state(), also in another process."""
        return LlamaState(self._sequence.save())

    def load_state(self, state: LlamaState) -> None:
        """Takes the state of save_state() in place of what is held."""
        self._sequence.restore(state.llama_state)

    def close(self) -> None:
        """Gives the memory back now."""
        self._engine.close()
        self._sequence.close()
        self.model.close()

    def __enter__(self) -> Llama:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _overrides(values: Dict[str, Any], chat_format: Optional[str]) -> List[str]:
    """Metadata values in place of the file's."""
    names = {bool: "bool", int: "int", float: "float", str: "str"}
    rows = [f"{key}={names[type(value)]}:{str(value).lower() if value is True or value is False else value}"
            for key, value in values.items()]
    if chat_format is not None:
        if chat_format not in FORMATS:
            raise c.ArgumentError(1, f"chat_format: one of {', '.join(FORMATS)} expected, "
                                  f"{chat_format} found", "leave it out for the model's own")
        rows.append(f"tokenizer.chat_template=str:{FORMATS[chat_format]}")
    return rows


def _kv_type(type_k: Optional[int], type_v: Optional[int]) -> Optional[str]:
    """How keys and values are kept; both are kept in the same way."""
    if type_k is None and type_v is None:
        return None
    if type_k != type_v or type_k not in _KV_TYPES:
        raise c.ArgumentError(1, "type_k, type_v: both 1 (f16) or both 0 (f32) expected, "
                              f"{type_k} and {type_v} found")
    return _KV_TYPES[type_k]


__all__ = ["Llama", "LlamaGrammar", "LlamaState"]
