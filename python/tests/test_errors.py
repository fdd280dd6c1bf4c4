#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Usage: test_errors.py BITTERN [TEST...]

Errors: their classes, their words, and their way through processes. Wrong types are refused."""
import concurrent.futures
import json
import multiprocessing
import pickle
import sys
import unittest

import bittern

try:
    import numpy
except ImportError:
    numpy = None

MODEL = bittern.Model()
CLASSES = [value for value in vars(bittern).values()
           if isinstance(value, type) and issubclass(value, bittern.BitternError)]


def fail(_):
    """Work of another process that fails."""
    return bittern.Model("/no/such/file")


class Classes(unittest.TestCase):
    def test_which_error(self):
        for error, work in [
                (bittern.NotFoundError, lambda: bittern.Model("/no/such/file")),
                (FileNotFoundError, lambda: bittern.Model("/no/such/file")),
                (FileNotFoundError, lambda: bittern.convert("/no/such/file", "/tmp/no", "i2_s")),
                (bittern.NotFoundError, lambda: MODEL.generate("x", temprature=1)),
                (TypeError, lambda: MODEL.generate("x", temprature=1)),
                (TypeError, lambda: bittern.Engine(MODEL, slots=3)),
                (ValueError, lambda: MODEL.generate("x", temperature="warm")),
                (ValueError, lambda: MODEL.generate([2**40])),
                (ValueError, lambda: MODEL.generate([10**6])),
                (ValueError, lambda: MODEL.generate("x", stop="a\0b")),
                (bittern.ContextFullError,
                 lambda: MODEL.generate([5] * 9, context_length=8)),
                (LookupError, lambda: MODEL.metadata("no.such.key"))]:
            with self.assertRaises(error):
                work()

    def test_words(self):
        with self.assertRaises(bittern.UnknownSettingError) as caught:
            MODEL.generate("x", temprature=1)
        self.assertEqual(caught.exception.hint,
                         "did you mean temperature? bittern.options() lists the settings")
        with self.assertRaises(FileNotFoundError) as caught:
            bittern.Model("/no/such/file")
        self.assertEqual(str(caught.exception),
                         "/no/such/file: cannot open: No such file or directory")


class Processes(unittest.TestCase):
    def test_every_class_can_be_pickled(self):
        self.assertEqual(len(CLASSES), 9)
        for kind in CLASSES:
            with self.subTest(kind):
                error = kind(3, "a message", "a hint")
                back = pickle.loads(pickle.dumps(error))
                self.assertEqual((type(back), back.status, back.message, back.hint, str(back)),
                                 (kind, 3, "a message", "a hint", str(error)))

    def test_pools(self):
        context = multiprocessing.get_context("fork")
        with context.Pool(2) as pool:
            with self.assertRaises(bittern.MissingFileError):
                pool.map_async(fail, range(3)).get(60)
        with concurrent.futures.ProcessPoolExecutor(2, context) as pool:
            with self.assertRaises(FileNotFoundError):
                pool.submit(fail, 0).result(60)


class Types(unittest.TestCase):
    def test_a_schema_as_a_dict(self):
        schema = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
        settings = {"temperature": 0, "n_predict": 60}
        text = MODEL.generate("A tern is", json_schema=schema, **settings)
        self.assertEqual(text, MODEL.generate("A tern is", json_schema=json.dumps(schema),
                                              **settings))
        self.assertTrue(text.startswith("{"))

    def test_what_is_no_text(self):
        for work in [lambda: MODEL.tokenize(5), lambda: MODEL.tokenize([5]),
                     lambda: MODEL.generate([1.5]), lambda: MODEL.generate("x", stop={"a"}),
                     lambda: MODEL.generate("x", stop=b"a"),
                     lambda: MODEL.generate("x", regex={"a": 1})]:
            with self.assertRaises(TypeError):
                work()
        self.assertEqual(MODEL.tokenize(b"A tern"), MODEL.tokenize("A tern"))

    @unittest.skipIf(numpy is None, "needs NumPy")
    def test_logits_cannot_be_written(self):
        sequence = MODEL.sequence(hidden=True)
        sequence.eval(MODEL.tokenize("A tern is"))
        for array in (sequence.logits(), sequence.hidden()):
            with self.assertRaises(ValueError):
                array[0] = 1
            with self.assertRaises(ValueError):
                array.flags.writeable = True
        self.assertEqual(MODEL.generate(numpy.array(MODEL.tokenize("A tern is")), temperature=0),
                         MODEL.generate("A tern is", temperature=0))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]])
