# SPDX-License-Identifier: Apache-2.0
"""A byte-level BPE tokenizer: training, encoding, and the tokenizer.json others read.

The pieces are split by LLaMA-3's pre-tokenizer expression. Python's re has no \\p{L}, so its three
character classes are spelled out from the Unicode tables. Token ids: 256 bytes in GPT-2's
alphabet order, then merges in the order they were learned, then 16 specials named as LLaMA-3's.
"""
import collections
import functools
import heapq
import json
import re
import sys
import unicodedata

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
          r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIALS = (
    ["<|begin_of_text|>", "<|end_of_text|>"]
    + ["<|reserved_special_token_%d|>" % i for i in range(4)]
    + ["<|start_header_id|>", "<|end_header_id|>", "<|reserved_special_token_4|>", "<|eot_id|>"]
    + ["<|reserved_special_token_%d|>" % i for i in range(5, 11)])
WHITE = "\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"


def ranges(letter):
    """All characters of a general category's first letter, as the inside of a [class]."""
    spans = []
    for code in range(sys.maxunicode + 1):
        if unicodedata.category(chr(code))[0] == letter:
            if spans and spans[-1][1] == code - 1:
                spans[-1][1] = code
            else:
                spans.append([code, code])
    return "".join("%s-%s" % (chr(a), chr(b)) for a, b in spans)


@functools.lru_cache
def piece_pattern():
    """LLAMA3 for Python's re; contractions fold ASCII case only."""
    letters, numbers = ranges("L"), ranges("N")
    text = LLAMA3.replace(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)",
                          r"'(?:[sS]|[tT]|[rR][eE]|[vV][eE]|[mM]|[lL][lL]|[dD])")
    text = text.replace(r"[^\r\n\p{L}\p{N}]", "[^\\r\\n%s%s]" % (letters, numbers))
    text = text.replace(r"[^\s\p{L}\p{N}]", "[^%s%s%s]" % (WHITE, letters, numbers))
    text = text.replace(r"\p{L}", "[%s]" % letters).replace(r"\p{N}", "[%s]" % numbers)
    return re.compile(text.replace(r"\s", "[%s]" % WHITE).replace(r"\S", "[^%s]" % WHITE))


def byte_alphabet():
    """The printable character that stands for each byte in token texts (GPT-2's table)."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [b for b in range(256) if b not in plain]
    table = {b: chr(b) for b in plain}
    table.update({b: chr(256 + i) for i, b in enumerate(others)})
    return table, plain + others


class Tokenizer:
    """Text to ids and back; `tokens` are texts in the byte alphabet, specials last."""

    def __init__(self, merges):
        self.table, order = byte_alphabet()
        self.back = {c: b for b, c in self.table.items()}
        self.merges = [tuple(m) for m in merges]
        self.tokens = [self.table[b] for b in order] + [a + b for a, b in self.merges]
        self.first_special = len(self.tokens)
        self.tokens += SPECIALS
        self.ids = {t: i for i, t in enumerate(self.tokens)}
        self.ranks = {m: i for i, m in enumerate(self.merges)}
        self.pattern = piece_pattern()
        self.special_pattern = re.compile("(" + "|".join(map(re.escape, SPECIALS)) + ")")
        self.cache = {}
        self.bos, self.eos = self.ids["<|begin_of_text|>"], self.ids["<|end_of_text|>"]
        self.eot = self.ids["<|eot_id|>"]

    def encode_piece(self, piece):
        text = "".join(self.table[b] for b in piece.encode("utf-8"))
        if text in self.ids:
            return [self.ids[text]]
        parts = list(text)
        while len(parts) > 1:
            best = min(range(len(parts) - 1),
                       key=lambda i: self.ranks.get((parts[i], parts[i + 1]), 1 << 30))
            if (parts[best], parts[best + 1]) not in self.ranks:
                break
            parts[best:best + 2] = [parts[best] + parts[best + 1]]
        return [self.ids[p] for p in parts]

    def encode(self, text):
        """Ids of text; special token texts become their ids. No BOS is added."""
        ids = []
        for part in self.special_pattern.split(text):
            if part in self.ids and self.ids[part] >= self.first_special:
                ids.append(self.ids[part])
                continue
            for match in self.pattern.finditer(part):
                piece = match.group()
                if piece not in self.cache:
                    self.cache[piece] = self.encode_piece(piece)
                ids += self.cache[piece]
        return ids

    def decode(self, ids):
        """The text of ids; specials give nothing."""
        chars = "".join(self.tokens[i] for i in ids if i < self.first_special)
        return bytes(self.back[c] for c in chars).decode("utf-8", "replace")

    def save(self, path):
        with open(path, "w", encoding="utf-8") as out:
            json.dump(tokenizer_json(self), out, ensure_ascii=False)


def load(path):
    """The tokenizer of a tokenizer.json written by save()."""
    return Tokenizer([m.split(" ") for m in json.load(open(path, encoding="utf-8"))["model"]["merges"]])


def train(texts, size):
    """Learns merges until the vocabulary has `size` tokens; texts yields (text, weight)."""
    table, _ = byte_alphabet()
    pattern, counts = piece_pattern(), collections.Counter()
    for text, weight in texts:
        for piece in pattern.findall(text):
            counts[piece] += weight
    words = [[[table[b] for b in piece.encode("utf-8")], n] for piece, n in sorted(counts.items())]
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, (parts, n) in enumerate(words):
        for pair in zip(parts, parts[1:]):
            pairs[pair] += n
            where[pair].add(i)
    heap = [Candidate(n, pair) for pair, n in pairs.items()]
    heapq.heapify(heap)
    merges = []
    while len(merges) < size - 256 - len(SPECIALS):
        best = heapq.heappop(heap)
        if pairs[best.pair] != best.count:  # an old count; the true one is in the heap too
            continue
        merges.append(best.pair)
        changed = set()
        for i in where.pop(best.pair):
            merge_word(words[i], i, best.pair, pairs, where, changed)
        del pairs[best.pair]
        for pair in changed - {best.pair}:
            heapq.heappush(heap, Candidate(pairs[pair], pair))
    return Tokenizer(merges)


class Candidate:
    """A pair in the heap: the most frequent first, of equals the last by its text."""

    def __init__(self, count, pair):
        self.count, self.pair = count, pair

    def __lt__(self, other):
        return (self.count, self.pair) > (other.count, other.pair)


def merge_word(word, index, pair, pairs, where, changed):
    """Joins `pair` in one word and keeps the pair counts true; changed gets the pairs that differ."""
    parts, n = word
    for old in zip(parts, parts[1:]):
        pairs[old] -= n
        changed.add(old)
    i = 0
    while i < len(parts) - 1:
        if (parts[i], parts[i + 1]) == pair:
            parts[i:i + 2] = [parts[i] + parts[i + 1]]
        i += 1
    for new in zip(parts, parts[1:]):
        pairs[new] += n
        changed.add(new)
        where[new].add(index)


def tokenizer_json(tok):
    """The file as the 2B-4T folder has it: BPE, LLaMA-3 split, byte level, BOS added."""
    bos = SPECIALS[0]
    added = [{"id": tok.ids[s], "content": s, "single_word": False, "lstrip": False,
              "rstrip": False, "normalized": False, "special": True} for s in SPECIALS]
    split = {"type": "Split", "pattern": {"Regex": LLAMA3}, "behavior": "Isolated", "invert": False}
    level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True,
             "use_regex": False}
    post = {"type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": bos, "type_id": 0}},
                       {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [], "special_tokens": {bos: {"id": bos, "ids": [tok.bos], "tokens": [bos]}}}
    model = {"type": "BPE", "dropout": None, "unk_token": None, "continuing_subword_prefix": None,
             "end_of_word_suffix": None, "fuse_unk": False, "byte_fallback": False,
             "ignore_merges": True,
             "vocab": {t: i for i, t in enumerate(tok.tokens[:tok.first_special])},
             "merges": ["%s %s" % m for m in tok.merges]}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
            "normalizer": None,
            "pre_tokenizer": {"type": "Sequence", "pretokenizers": [split, level]},
            "post_processor": post,
            "decoder": {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True,
                        "use_regex": True},
            "model": model}
