#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random schemas, patterns and grammars; random texts that obey them, by a random sampler over a model's
vocabulary; and other programs' opinion of these texts: python3-jsonschema for schemas, Python's re for
patterns, a recursive matcher below for grammars. What is refused must be refused by a JSON pointer.

usage: grammar_oracle.py GRAMMAR_WALK MODEL [SCHEMAS [SEED [LINES.jsonl]]]
LINES.jsonl is written: schemas with their texts, for js/schemas/validate.mjs.
"""
import json
import random
import re
import subprocess
import sys

try:
    import jsonschema
except ImportError:  # Debian's Python, where another one comes first in PATH
    sys.path.append("/usr/lib/python3/dist-packages")
    try:
        import jsonschema
    except ImportError:
        print("skipped: python3-jsonschema is not installed")
        sys.exit(77)

if "uuid" not in jsonschema.FormatChecker.checkers:
    print("skipped: python3-jsonschema 4 expected, which knows uuids")
    sys.exit(77)

WALK, MODEL = sys.argv[1:3]
SCHEMAS = int(sys.argv[3]) if len(sys.argv) > 3 else 300
SEED = int(sys.argv[4]) if len(sys.argv) > 4 else 1
LINES = open(sys.argv[5], "w", encoding="utf-8") if len(sys.argv) > 5 else None
tool = subprocess.Popen([WALK, MODEL], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
rng = random.Random(SEED)
failures, mask_us = [], []
FORMATS = jsonschema.FormatChecker(formats=["date", "ipv4", "ipv6", "email", "uuid"])


def ask(**request):
    print(json.dumps(request), file=tool.stdin, flush=True)
    return json.loads(tool.stdout.readline())


def fail(what):
    failures.append(what)
    print("FAILED:", what[:1500])


NAMES = ["a", "ab", "abc", "name", "b c", "\u00e9", "q\"x", "back\\slash", "", "tab\t", "count", "x/y", "til~de"]


def random_schema(depth=0):
    kinds = ["string", "integer", "number", "boolean", "null", "enum", "const", "pattern", "format"]
    if depth < 3:
        kinds += ["object"] * 4 + ["array"] * 2 + ["anyOf", "oneOf", "allOf", "types", "map", "any", "patterned", "either", "differ", "if", "not", "overlap", "depends", "texts", "named", "listed", "some"]
    kind = rng.choice(kinds)
    low, high = sorted([rng.randint(0, 12), rng.randint(0, 12)])
    if kind == "string":
        return {"type": "string", **rng.choice([{}, {"minLength": low}, {"maxLength": high}, {"minLength": low, "maxLength": high}])}
    if kind in ("integer", "number"):
        schema, scale = {"type": kind}, rng.choice([1, 1, 10, 1000, 0.125, 1e6])
        a, b = sorted(rng.randint(-300, 300) * scale for _ in range(2))
        if kind == "integer":
            a, b = int(a), int(b)
        if rng.random() < 0.6:
            schema[rng.choice(["minimum", "exclusiveMinimum"])] = a
        if rng.random() < 0.6:
            schema[rng.choice(["maximum", "exclusiveMaximum"])] = b + (2 if kind == "integer" else 1)
        if kind == "integer" and len(schema) == 1 and rng.random() < 0.4:
            schema["multipleOf"] = rng.randint(1, 40)
        return schema
    if kind in ("boolean", "null"):
        return {"type": kind}
    if kind == "enum":
        return {"enum": rng.sample([1, "x", None, True, 2.5, "q\"", [1, {"a": 2}], {"k": []}, "\u4e16\n", -3], rng.randint(1, 4))}
    if kind == "const":
        return {"const": rng.choice(["only", 0, False, [], {"a": [None, "\\"]}])}
    if kind == "pattern":
        return {"type": "string", **rng.choice([{}, {}, {"minLength": 2}, {"maxLength": 4}]), "pattern": rng.choice(["^[a-z]{2,5}$", "^[a-z][a-z0-9]*$", "^(ab|c)+$", "b[0-9]", "^x", "\\d$", "^\\w+@\\w+$", "^[^\"]{3}$",
                                                         "^a\\\\b$", "^$|^[A-F0-9]{4}$", "(^yes$|^no$)", "^[\\s\\S]{0,4}$", "^\\x41?.\\u00e9$"])}
    if kind == "format":
        return {"type": "string", "format": rng.choice(["date", "time", "date-time", "uuid", "ipv4", "ipv6", "email", "made-up", "regex", "json-pointer", "iri", "uri-template"])}
    if kind == "object":
        names = rng.sample(NAMES, rng.randint(0, 5))
        schema = {"type": "object", "properties": {n: random_schema(depth + 1) for n in names}}
        if names and rng.random() < 0.7:
            schema["required"] = rng.sample(names, rng.randint(0, len(names)))
        extra = rng.random()
        if extra < 0.4:
            schema["additionalProperties"] = False
        elif extra < 0.6:
            schema["additionalProperties"] = rng.choice([True, {"type": "integer"}, {"type": "string", "maxLength": 3}])
        return schema
    if kind == "map":
        return {"type": "object", "additionalProperties": random_schema(depth + 1), **rng.choice([{}, {"maxProperties": high}, {"minProperties": 1}])}
    if kind == "patterned":
        return {"type": "object", "patternProperties": {rng.choice(["^[a-c]{1,2}$", "^x-", "n", "é", "^$"]): random_schema(depth + 1)},
                **rng.choice([{}, {"additionalProperties": False}, {"properties": {n: random_schema(depth + 1) for n in rng.sample(NAMES, 2)}}])}
    if kind == "either":
        names = rng.sample([n for n in NAMES if n], 3)  # ajv takes a required "" for granted
        return {"type": "object", "properties": {n: random_schema(depth + 1) for n in names}, "oneOf": [{"required": [n]} for n in names[:2]],
                **rng.choice([{}, {"required": [names[2]]}, {"additionalProperties": {"type": "null"}}])}
    if kind == "differ":
        item = rng.choice([{"type": "string"}, {"type": "string", "minLength": 2}, {"enum": rng.sample([1, "x", None, True, 2.5, [1], 1.0], 4)}, {"type": "boolean"},
                           {"type": "object", "properties": {"n": random_schema(depth + 1), "k": {"type": "string"}}, "required": ["k"]},
                           {"type": "string", "maxLength": rng.randint(0, 2)}, {"type": "string", "pattern": rng.choice(["^[ab]$", "^[ab]{1,2}$", "^(a|b+)$", "^[é世]?$"])},
                           {"anyOf": [{"type": "string"}, random_schema(depth + 1)]}, random_schema(depth + 1)])
        return {"type": "array", "items": item, "uniqueItems": True, **rng.choice([{}, {"minItems": rng.randint(1, 3)}, {"maxItems": rng.randint(2, 4)}])}
    if kind == "texts":
        patterns = ["^[a-z]", "\\d$", "^(ab?)*$", "é", "^.{2,5}$", "[^a]", "^[A-Z]|x", "^\\S*$", "\"", "^a\\\\"]
        same = [p for p in patterns if "." not in p]  # Python's "." is U+2028, too, ECMAScript's is not
        parts = rng.sample([{"pattern": rng.choice(patterns)}, {"pattern": rng.choice(patterns)}, {"not": {"pattern": rng.choice(same)}}, {"minLength": rng.randint(0, 4)},
                            {"maxLength": rng.randint(3, 9)}, {"not": {"enum": ["", "ab", "a", "a.b"]}}, {"if": {"pattern": "a"}, "then": {"maxLength": 4}}, {"format": "date"}], rng.randint(2, 4))
        return {"type": "string", rng.choice(["allOf", "allOf", "oneOf"]): parts}
    if kind == "named":
        names = rng.sample([n for n in NAMES if n], 3)
        return {"type": "object", "propertyNames": rng.choice([{"pattern": "^[a-c]"}, {"enum": names[:2]}, {"maxLength": 4}]),
                **rng.choice([{"additionalProperties": random_schema(depth + 1)}, {"properties": {n: random_schema(depth + 1) for n in names}, "minProperties": 1}, {}])}
    if kind == "listed":
        return {"enum": ["", "a", "ab", 0, 1.5, 20, None], **rng.choice([{"minLength": 1}, {"pattern": "b"}, {"minimum": 1}, {"exclusiveMaximum": 20, "maxLength": 0}])}
    if kind == "some":
        names = rng.sample(NAMES, 3)
        return {"type": "object", "properties": {n: random_schema(depth + 1) for n in names}, **rng.choice([{"minProperties": 1}, {"maxProperties": 3, "additionalProperties": True}])}
    if kind == "if":
        tests = [{"properties": {"kind": {"const": c}}, **rng.choice([{}, {"required": ["kind"]}])} for c in ("a", "b")]
        tests += [{"properties": {"kind": {"enum": ["a", "b"]}}}, {"required": ["p"]}, {"properties": {"p": {"type": "string"}}}, {"not": {"required": ["p"]}},
                  {"anyOf": [{"required": ["p"]}, {"properties": {"kind": {"const": "c"}}}]}]
        then = [{"required": ["p"]}, {"properties": {"p": random_schema(depth + 2)}}, {"required": ["q"], "properties": {"q": {"type": "integer"}}}, {"properties": {"p": False}}]
        return {"type": "object", "properties": {"kind": rng.choice([{"type": "string"}, {"enum": ["a", "b", "c"]}]), "p": random_schema(depth + 1)},
                **rng.choice([{}, {"required": ["kind"]}]),
                "allOf": [{"if": rng.choice(tests), **rng.choice([{"then": rng.choice(then)}, {"else": rng.choice(then)}, {"then": rng.choice(then), "else": rng.choice(then)}])}
                          for _ in range(rng.randint(1, 3))]}
    if kind == "not":
        names = rng.sample([n for n in NAMES if n], 2)
        forbidden = rng.choice([{"required": [names[0]]}, {"required": names}, {"properties": {names[0]: random_schema(depth + 2)}}, {"type": rng.sample(["string", "null", "array"], 2)},
                                {"enum": ["x", None]}, {"const": "name"}, {"anyOf": [{"required": [n]} for n in names]}, {"minProperties": 1}, random_schema(depth + 2)])
        return {**rng.choice([{}, {"type": "object", "properties": {n: random_schema(depth + 1) for n in names}}, {"type": ["string", "null", "boolean"]}, {"enum": ["x", "y", 3]}]), "not": forbidden}
    if kind == "overlap":
        names = rng.sample([n for n in NAMES if n], 3)
        return {"oneOf": [{**rng.choice([{}, {"type": "object"}]), "properties": {n: random_schema(depth + 1) for n in rng.sample(names, 2)}, "required": rng.sample(names, rng.randint(0, 2))}
                          if rng.random() < 0.8 else random_schema(depth + 1) for _ in range(rng.randint(2, 3))]}
    if kind == "depends":
        names = rng.sample([n for n in NAMES if n], 3)
        return {"type": "object", "properties": {n: random_schema(depth + 1) for n in names}, **rng.choice([{}, {"required": names[:1]}]),
                **rng.choice([{"dependentRequired": {names[0]: names[1:]}}, {"dependentSchemas": {names[0]: {"properties": {names[1]: {"type": "null"}}}, names[1]: {"required": names[2:]}}}])}
    if kind == "array":
        schema = {"type": "array"}
        if rng.random() < 0.8:
            schema["items"] = random_schema(depth + 1)
        if rng.random() < 0.3:
            schema["prefixItems"] = [random_schema(depth + 1) for _ in range(rng.randint(1, 3))]
        if rng.random() < 0.5:
            schema["minItems"] = low // 3
        if rng.random() < 0.5:
            schema["maxItems"] = low // 3 + rng.randint(0, 3)
        return schema
    if kind == "anyOf":
        return {"anyOf": [random_schema(depth + 1) for _ in range(rng.randint(1, 3))]}
    if kind == "oneOf":
        return {"oneOf": [{"type": "object", "properties": {"kind": {"const": i}, "v": random_schema(depth + 1)}, "required": ["kind"]}
                          for i in range(rng.randint(1, 3))]}
    if kind == "allOf":
        return {"allOf": [{"type": "object", "properties": {"p": random_schema(depth + 1)}, "required": ["p"]},
                          {"properties": {"q": random_schema(depth + 1)}}]}
    if kind == "types":
        return {"type": rng.sample(["string", "integer", "null", "boolean", "number", "array", "object"], rng.randint(1, 3))}
    return rng.choice([True, {}, {"title": "anything"}])


def check_schemas():
    refused, texts, cut = 0, 0, 0
    for number in range(SCHEMAS):
        schema = random_schema()
        if rng.random() < 0.1:
            schema = {"$defs": {"node": {"type": "object", "properties": {"v": schema, "next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}},
                                         "required": ["next"]}}, "$ref": "#/$defs/node"}
        answer = ask(kind="json_schema", text=json.dumps(schema), seed=number, count=4, budget=60)
        if LINES:
            whole = [t for t, ended in zip(answer.get("texts", []), answer.get("whole", [])) if ended]
            print(json.dumps({"schema": schema, "texts": whole, **({"error": answer["error"]} if "error" in answer else {})}), file=LINES, flush=True)
        if "error" in answer:
            refused += 1
            if not re.match(r'schema at "#|it allows no text', answer["error"]):
                fail(f"{json.dumps(schema)}: {answer['error']}")
            continue
        mask_us.extend(answer["mask_us"])
        validator = jsonschema.Draft202012Validator(schema, format_checker=FORMATS)
        for text, whole in zip(answer["texts"], answer["whole"]):
            if not whole:
                cut += 1
                continue
            texts += 1
            try:
                problem = next(validator.iter_errors(json.loads(text)), None)
            except ValueError as error:
                problem = error
            if problem is not None:
                fail(f"{json.dumps(schema)} gave {text!r}: {str(problem)[:200]}")
    print(f"{SCHEMAS} schemas, {refused} refused; {texts} texts validated, {cut} not ended in time")
    if texts < SCHEMAS or cut > texts // 20:
        fail("too few texts to judge by")


# What must be refused, and where.
REFUSED = [
    ({"type": "string", "not": {"format": "date"}}, "#/not"),
    ({"type": "integer", "not": {"const": 3}}, "#/not"),
    ({"properties": {"a": {"type": "array", "if": {"items": {"type": "null"}}, "then": {"maxItems": 2}}}}, "#/properties/a/if/not"),
    ({"type": "array", "items": {"type": "integer"}, "uniqueItems": True}, "#/uniqueItems"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "string"}}, "uniqueItems": True}, "#/uniqueItems"),
    ({"type": "array", "contains": {}}, "#/contains"),
    ({"type": "array", "items": {"type": "string"}, "contains": {"const": "a"}, "minContains": 0}, "#/contains"),
    ({"type": "string", "not": {"if": {"minLength": 2}, "then": {"pattern": "^a"}}}, "#/not"),
    ({"type": "string", "minLength": 2, "not": {"const": "ab"}}, "#/not"),
    ({"type": "string", "pattern": "^a", "not": {"enum": ["b", "ab"]}}, "#/not"),
    ({"patternProperties": {"^a": {"type": "null"}, "b$": {"type": "string"}}}, "#/patternProperties/^a"),
    ({"patternProperties": {"(?=a)": {}}}, "#/patternProperties/(?=a)"),
    ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "#/oneOf"),
    ({"oneOf": [{"type": "string", "format": "date"}, {"type": "string"}]}, "#/oneOf"),
    ({"$ref": "other.json"}, "#/$ref"),
    ({"$ref": "#/$defs/none"}, "#/$ref"),
    ({"type": "string", "pattern": "(?=a)b"}, "#/pattern"),
    ({"type": "string", "pattern": "^(a|bb)*$", "minLength": 9000}, "#/pattern"),
    ({"type": "strnig"}, "#/type"),
    ({"type": "string", "minLength": -1}, "#/minLength"),
    ({"type": "number", "multipleOf": 0.1}, "#/multipleOf"),
    ({"propertyNames": {"maxLength": 3}, "additionalProperties": False}, "#/propertyNames"),
    ({"propertyNames": {"maxLength": 3}, "properties": {"a": {}}}, "#/propertyNames"),
    ({"propertyNames": {"maxLength": 3}, "required": ["a"]}, "#/propertyNames"),
    ({"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": False}, "#/unevaluatedProperties"),
    ({"$id": "https://a.example/b.json", "$ref": "b.json#/$defs/a", "$defs": {"a": {"type": "null"}}}, "#/$ref"),
    (3, "#"),
    ({"type": "object", "allOf": [{"properties": {"a": {}}, "unevaluatedProperties": False}, {"properties": {"b": {}}}]},
     "#/allOf/0/unevaluatedProperties"),
]


def check_refusals():
    for schema, pointer in REFUSED:
        answer = ask(kind="json_schema", text=json.dumps(schema), seed=1, count=1, budget=10)
        if f'"{pointer}"' not in answer.get("error", ""):
            fail(f"{json.dumps(schema)}: {pointer} expected, {answer} found")
    hostile = [("json_schema", "[" * 100000), ("json_schema", '{"a":' * 5000), ("json_schema", "{"), ("gbnf", "root ::= root"),
               ("gbnf", "root ::= a\na ::= b\nb ::= a \"x\" | \"y\""), ("gbnf", "root ::= " + "(" * 100000), ("gbnf", ""),
               ("gbnf", "root ::= (\"a\"{0,10000}){0,10000}"), ("regex", "(" * 50000), ("regex", "((a{999}){999}){999}"), ("regex", "a**"),
               ("gbnf", "root ::= \"a\" root"), ("gbnf", "root ::= [z-a]"), ("regex", "(a)\\1"), ("gbnf", "root ::= \"\\uD800\""),
               ("json_schema", json.dumps({"$ref": "#"})), ("json_schema", json.dumps({"allOf": [{"$ref": "#"}], "not": {}}))]
    for kind, text in hostile:
        answer = ask(kind=kind, text=text, seed=1, count=1, budget=10)
        if kind == "json_schema" and text == '{"$ref": "#"}':
            continue  # any JSON
        if "error" not in answer:
            fail(f"{kind} {text[:60]!r} is not refused: {str(answer)[:200]}")
    # A grammar that is ambiguous in exponentially many ways is read all the same, or ends with an error.
    answer = ask(kind="gbnf", text='root ::= "a" | "a" root "b" | "a" root "c" root | "a" "a" root', accepts=["a" * n for n in (5, 50, 501)])
    if answer.get("accepted") != [True, False, True]:
        fail(f"an ambiguous grammar: {answer}")
    deep = "[" * 3000 + "]" * 3000
    answer = ask(kind="gbnf", text='root ::= "[" root? "]"', accepts=[deep, deep[:-1], "[" * 200000])
    if answer.get("accepted") != [True, False, False]:
        fail(f"a deep text: {answer}")


def random_pattern(depth=0):
    atom = rng.choice(["a", "b", ".", "\\d", "[a-c]", "[^x]", "\\w", "\\.", "\u00e9", "[\\s0]", "-"])
    if depth < 3 and rng.random() < 0.4:
        atom = f"({rng.choice(['', '?:'])}{random_pattern(depth + 1)})"
    atom += rng.choice(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,2}", "*?"])
    if rng.random() < 0.5:
        atom += random_pattern(depth + 1) if depth < 4 else ""
    return atom + ("|" + random_pattern(depth + 1) if depth < 3 and rng.random() < 0.2 else "")


def check_patterns():
    count = 0
    for number in range(SCHEMAS):
        pattern = random_pattern()
        answer = ask(kind="regex", text=pattern, seed=number, count=3, budget=15)
        if "error" in answer:
            fail(f"pattern {pattern}: {answer['error']}")
            continue
        mask_us.extend(answer["mask_us"])
        strings = ["".join(rng.choice("abcx-.0\u00e9 1") for _ in range(rng.randint(0, 6))) for _ in range(20)]
        texts = [t for t, whole in zip(answer["texts"], answer["whole"]) if whole]
        # ECMAScript's \d and \w are ASCII; its "." takes all but line ends.
        compiled = re.compile(pattern.replace(".", "[^\\n\\r\\u2028\\u2029]").replace("\\[^\\n\\r\\u2028\\u2029]", "\\.")
                              .replace("\\s", "\\t-\\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff").replace("\\d", "[0-9]").replace("\\w", "[A-Za-z0-9_]"))
        accepted = ask(kind="regex", text=pattern, accepts=strings)["accepted"]
        for text, found in [(t, True) for t in texts] + list(zip(strings, accepted)):
            count += 1
            if (compiled.fullmatch(text) is not None) != found:
                fail(f"pattern {pattern} on {text!r}: {found}")
    print(f"{SCHEMAS} patterns, {count} texts")


def random_rules():
    names = ["root", "one", "two", "three"]

    def item(rule, depth):
        kind = rng.randint(0, 5 if depth < 3 else 2)
        if kind <= 1:
            return ("text", rng.choice(["a", "b", "ab", "\u00e9"]))
        if kind == 2:
            return ("class", rng.choice(["ab", "bc", "\u00e9a"]))
        if kind == 3:
            return ("repeat", sequence(rule, depth + 1), *rng.choice([(0, None), (1, None), (0, 1), (2, 2), (1, 3)]))
        if kind == 4:
            return ("choice", [sequence(rule, depth + 1) for _ in range(rng.randint(1, 3))])
        later = names[names.index(rule) + 1:]
        # Behind a text any rule may come; in front of it only later ones: no left recursion.
        if rng.random() < 0.5 or not later:
            return ("sequence", [("text", "a"), ("rule", rng.choice(names)), ("text", "b")])
        return ("rule", rng.choice(later))

    def sequence(rule, depth):
        return ("sequence", [item(rule, depth) for _ in range(rng.randint(1, 3))])

    return {name: ("choice", [sequence(name, 0), ("sequence", [("text", "b")])]) for name in names}


def gbnf(node):
    kind = node[0]
    if kind == "text":
        return json.dumps(node[1])
    if kind == "class":
        return f"[{node[1]}]"
    if kind == "rule":
        return node[1]
    if kind == "sequence":
        return " ".join(map(gbnf, node[1]))
    if kind == "choice":
        return "(" + " | ".join(map(gbnf, node[1])) + ")"
    least, most = node[2:]
    return f"({gbnf(node[1])}){{{least},{'' if most is None else most}}}"


def ends(rules, node, text, at, memo):
    """Where a text of `node` that begins at `at` may end, by trying everything."""
    key = (id(node), at)
    if key in memo:
        return memo[key]
    memo[key] = set()
    kind, found = node[0], set()
    if kind == "text":
        found = {at + len(node[1])} if text.startswith(node[1], at) else set()
    elif kind == "class":
        found = {at + 1} if at < len(text) and text[at] in node[1] else set()
    elif kind == "rule":
        found = ends(rules, rules[node[1]], text, at, memo)
    elif kind == "sequence":
        found = {at}
        for part in node[1]:
            found = {e for f in found for e in ends(rules, part, text, f, memo)}
    elif kind == "choice":
        found = {e for part in node[1] for e in ends(rules, part, text, at, memo)}
    else:
        now, times, (least, most) = {at}, 0, node[2:]
        seen = set()
        while now and (most is None or times <= most) and (times <= least or not now <= seen):
            if times >= least:
                found |= now
                seen |= now
            now = {e for f in now for e in ends(rules, node[1], text, f, memo)}
            times += 1
    memo[key] = found
    return found


def check_grammars():
    count, yes = 0, 0
    for number in range(SCHEMAS // 2):
        rules = random_rules()
        text = "\n".join(f"{name} ::= {gbnf(body)}" for name, body in rules.items())
        answer = ask(kind="gbnf", text=text, seed=number, count=3, budget=12)
        if "error" in answer:
            if "left recursion" not in answer["error"] and "too ambiguous" not in answer["error"]:  # documented limits
                fail(f"grammar {text}: {answer['error']}")
            continue
        made = [t for t, whole in zip(answer["texts"], answer["whole"]) if whole and len(t) < 60]
        strings = ["".join(rng.choice("aabbc\u00e9") for _ in range(rng.randint(0, 8))) for _ in range(30)]
        accepted = ask(kind="gbnf", text=text, accepts=strings)["accepted"]
        for sample, found in [(t, True) for t in made] + list(zip(strings, accepted)):
            count += 1
            yes += found
            if (len(sample) in ends(rules, rules["root"], sample, 0, {})) != found:
                fail(f"grammar {text}\non {sample!r}: {found}")
    print(f"{SCHEMAS // 2} grammars, {count} texts, {yes} of them in the grammar")


def main():
    check_refusals()
    check_schemas()
    check_patterns()
    check_grammars()
    tool.stdin.close()
    mask_us.sort()
    print(f"masks: {len(mask_us)}, p50 {mask_us[len(mask_us) // 2]:.1f} us, p99 {mask_us[int(0.99 * len(mask_us))]:.1f} us, "
          f"most {mask_us[-1]:.0f} us of one thread")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
