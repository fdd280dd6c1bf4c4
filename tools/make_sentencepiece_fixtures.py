#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the small SentencePiece models of src/tokenizer/testdata and writes what the real library
makes of some texts. Run by hand where the fixtures are to change; needs Debian's
python3-sentencepiece. Usage: make_sentencepiece_fixtures.py FOLDER (from the repository's root)

NAME.model   the trained model
NAME.golden  lines of: text in hexadecimal, ids, decoded text in hexadecimal
"""
import glob
import pathlib
import random
import sys

import sentencepiece

MODELS = {
    # LLaMA-2's settings, with two user-defined tokens, one of which has a space in it.
    "spm_bytes": dict(byte_fallback=True, add_dummy_prefix=True, character_coverage=0.995,
                      user_defined_symbols=["<ud>", "ab\u2581c"]),
    # No byte tokens: unknown characters become one unknown token a run; no space in front.
    "spm_unknown": dict(byte_fallback=False, add_dummy_prefix=False, character_coverage=0.99),
}
ALPHABETS = [
    "abcdefghijklmnopqrstuvwxyz ", "the and for  in of it is ", "{}()[]<>;:=+-*/&|!\"'\n\t ",
    "0123456789.,", "áéíóúñçßøåæœ", "абвгдежз ийкл", "日本語中文字漢한국어", "😀🚀👩\u200d👧🏽",
    "\u2581 ", "<ud>", "ab c", "\u00a0\u3000\u200b\ufeff", "\U00010348\U0001d400\u0301",
    "<s></s><unk><0x41>",
]


def random_text(rng):
    kinds = rng.sample(ALPHABETS, rng.randint(1, 4))
    pieces = []
    for _ in range(rng.randint(0, 12)):
        kind = rng.choice(kinds)
        pieces.append("".join(rng.choice(kind) for _ in range(rng.randint(1, 5)))
                      if rng.random() < 0.8 else kind)
    return "".join(pieces)


def main():
    folder = pathlib.Path(sys.argv[1])
    corpus = folder / "corpus.txt"
    names = sorted(glob.glob("docs/**/*.md", recursive=True) + glob.glob("src/base/*.hpp"))
    corpus.write_text("\n".join(pathlib.Path(name).read_text() for name in names))
    for name, settings in MODELS.items():
        sentencepiece.SentencePieceTrainer.train(
            input=str(corpus), model_prefix=str(folder / name), vocab_size=700, model_type="bpe",
            normalization_rule_name="identity", remove_extra_whitespaces=False,
            max_sentence_length=100000, hard_vocab_limit=False, num_threads=1,
            minloglevel=2, **settings)
        (folder / (name + ".vocab")).unlink()
        model = sentencepiece.SentencePieceProcessor(model_file=str(folder / (name + ".model")))
        rng = random.Random(1)
        texts = ["", " ", "  ", "a", " a", "a ", "Hello, world!", "the  cat", "<ud>x<ud>", "ab c"]
        # Runs of odd length, where ties between equal pairs show.
        texts += ["---", "-----", "=====", "/////", "     x", "lll", "eee", "|||||", "ssss s", "ooo"]
        texts += [random_text(rng) for _ in range(180)]
        with open(folder / (name + ".golden"), "w", encoding="ascii") as out:
            for text in texts:
                ids = model.encode(text)
                decoded = model.decode(ids)
                out.write("%s\t%s\t%s\n" % (text.encode().hex(), " ".join(map(str, ids)),
                                            decoded.encode().hex()))
    corpus.unlink()


if __name__ == "__main__":
    main()
