# SPDX-License-Identifier: Apache-2.0
"""Bittern as a model of lm-evaluation-harness (`pip install lm-eval`), without a server.

    python -m bittern.lm_eval --model bittern --model_args pretrained=model.gguf --tasks TASK

In a program: `import bittern.lm_eval`, then `lm_eval.simple_evaluate(model="bittern", ...)`. Arguments
of the model: pretrained (a file, a folder or a name as bittern.pull takes it; without it the built-in
model), max_length, max_gen_toks, add_bos_token, num_concurrent, and the settings of a sequence (threads,
kv_type, ...). Needs NumPy, which lm-eval brings along.
"""
from __future__ import annotations

import os
from typing import Any, Dict, Iterator, List, Optional, Tuple

import numpy
from lm_eval import utils
from lm_eval.api.model import TemplateLM
from lm_eval.api.registry import register_model
from lm_eval.models.utils import handle_stop_sequences

import bittern

Scored = Tuple[float, bool]
Request = Tuple[Any, List[int], List[int]]  # key of the cache, context, continuation

_ROWS = 64  # of logits at the same time


@register_model("bittern")
class BitternLM(TemplateLM):
    """One model and one sequence; one call at a time."""

    def __init__(self, pretrained: Optional[str] = None, *, max_length: Optional[int] = None,
                 max_gen_toks: int = 256, add_bos_token: bool = False, num_concurrent: int = 8,
                 batch_size: Any = None, max_batch_size: Any = None, device: Any = None,
                 **settings: Any) -> None:
        super().__init__()
        if pretrained is None or os.path.exists(pretrained):
            self.model = bittern.Model(pretrained)
        else:
            self.model = bittern.Model.from_pretrained(pretrained)
        self.max_length = int(max_length or self.model.context_length)
        self.max_gen_toks = int(max_gen_toks)
        self._bos = add_bos_token is True or str(add_bos_token).lower() == "true"
        self._concurrent = int(num_concurrent)
        self._settings = settings
        self._sequence = self.model.sequence(**settings)

    @property
    def eot_token_id(self) -> int:
        """The token that ends a text."""
        return self.model.eos_id

    @property
    def prefix_token_id(self) -> int:
        """The token in front of texts that have no context: BOS, else EOS."""
        return self.model.bos_id if self.model.bos_id >= 0 else self.model.eos_id

    @property
    def tokenizer_name(self) -> str:
        """The model's name, which caches of requests are found by."""
        return self.model.name

    def chat_template(self, chat_template: Any = False) -> Optional[str]:
        """The source of the model's template."""
        if chat_template is False or chat_template is None:
            return None
        return str(self.model.metadata("tokenizer.chat_template"))

    def apply_chat_template(self, chat_history: List[Dict[str, str]],
                            add_generation_prompt: bool = True) -> str:
        """A conversation as text; without a generation prompt its last message is gone on with."""
        return self.model.apply_template({
            "messages": chat_history, "add_generation_prompt": add_generation_prompt,
            "continue_final_message": not add_generation_prompt})[0]

    def tok_encode(self, string: str, add_special_tokens: Optional[bool] = None,
                   **_: Any) -> List[int]:
        """The ids of a text, special tokens written in it too."""
        bos = self._bos if add_special_tokens is None else add_special_tokens
        return self.model.tokenize(string, bos=bos, special=True)

    def _loglikelihood_tokens(self, requests: List[Request], **_: Any) -> List[Scored]:
        """In the order of their ids, so that a context that several share is read once."""
        answers: List[Scored] = [(0.0, True)] * len(requests)
        for index in sorted(range(len(requests)), key=lambda i: requests[i][1] + requests[i][2]):
            key, context, continuation = requests[index]
            answers[index] = self._score(context, continuation)
            if key is not None:
                self.cache_hook.add_partial("loglikelihood", key, answers[index])
        return answers

    def _score(self, context: List[int], continuation: List[int]) -> Scored:
        """The log-probability of a continuation, and whether it is the greedy one. The front of what
        is longer than max_length is left out."""
        ids = (context + continuation)[-(self.max_length + 1):]
        begin = max(1, len(ids) - len(continuation))
        total, greedy = 0.0, True
        for token, row in zip(ids[begin:], self._rows(ids, begin)):
            best = float(row.max())
            wide = row.astype(numpy.float64)
            total += float(wide[token]) - best - float(numpy.log(numpy.exp(wide - best).sum()))
            greedy = greedy and int(row.argmax()) == token
        return total, greedy

    def _rows(self, ids: List[int], begin: int) -> Iterator[Any]:
        """The logits that ids[begin], ids[begin + 1], ... are drawn from."""
        self._sequence.set_tokens(ids[:begin])
        yield self._sequence.logits()
        for first in range(begin, len(ids) - 1, _ROWS):
            yield from self._sequence.logits_of_all(ids[first:min(first + _ROWS, len(ids) - 1)])

    def loglikelihood_rolling(self, requests: List[Any], disable_tqdm: bool = False) -> List[float]:
        """The log-probability of whole texts, window by window."""
        answers = []
        for text, in (request.args for request in requests):
            windows = map(utils.make_disjoint_window, utils.get_rolling_token_windows(
                token_list=self.tok_encode(text), prefix_token=self.prefix_token_id,
                max_seq_len=self.max_length, context_len=1))
            answers.append(sum(self._score(context, part)[0] for context, part in windows))
            self.cache_hook.add_partial("loglikelihood_rolling", (text,), answers[-1])
        return answers

    def generate_until(self, requests: List[Any], disable_tqdm: bool = False) -> List[str]:
        """Texts that go on until a stop, several at the same time."""
        with bittern.Engine(self.model, max_sequences=self._concurrent, **self._settings) as engine:
            futures = [self._submit(engine, *request.args) for request in requests]
            texts = [str(future.result()) for future in futures]
        for request, text in zip(requests, texts):
            self.cache_hook.add_partial("generate_until", request.args, text)
        return texts

    def _submit(self, engine: bittern.Engine, context: str,
                arguments: Dict[str, Any]) -> bittern.Future[bittern.Text]:
        given = dict(arguments)
        sampled = given.pop("do_sample", False)
        most = int(given.pop("max_gen_toks", given.pop("max_tokens", self.max_gen_toks)))
        temperature = float(given.pop("temperature", 0))
        end = self.model.token_bytes(self.eot_token_id).decode("utf-8", "replace")
        until = given.pop("until", None)
        stop = handle_stop_sequences(list(until) if isinstance(until, list) else until, end or None)
        given.setdefault("seed", 1234)
        room = self.max_length - most
        ids = self.tok_encode(context)
        return engine.submit(ids[-room:] if room > 0 else ids[-1:], n_predict=most, stop=stop,
                             temperature=temperature if sampled or temperature == 0 else 0, **given)


def main() -> None:
    """The harness' own command line, with this model known to it."""
    from lm_eval.__main__ import cli_evaluate
    cli_evaluate()


if __name__ == "__main__":
    main()
