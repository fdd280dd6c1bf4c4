# SPDX-License-Identifier: Apache-2.0
"""python3-jinja2 set up as transformers' apply_chat_template sets it up: the oracle of src/jinja."""
import datetime
import functools
import json

import jinja2
import jinja2.ext
import jinja2.nodes
import jinja2.sandbox

NOW = datetime.datetime(2026, 1, 2, 3, 4, 5)


class Generation(jinja2.ext.Extension):
    """{% generation %}: the part of the text that the model wrote; here it only prints its body."""
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(value, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(value, ensure_ascii=ensure_ascii, indent=indent, separators=separators,
                      sort_keys=sort_keys)


def environment():
    made = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols])
    made.filters["tojson"] = tojson
    made.globals["raise_exception"] = raise_exception
    made.globals["strftime_now"] = lambda form: NOW.strftime(form)
    return made


@functools.lru_cache(maxsize=1)
def compiled(source):
    return environment().from_string(source)


def render(source, names):
    """{"text": ...} or {"error": ...}."""
    try:
        return {"text": compiled(source).render(**names)}
    except Exception as error:  # Python's own errors included: a template can cause any
        return {"error": f"{type(error).__name__}: {error}"}
