// SPDX-License-Identifier: Apache-2.0
// Rules of Jinja and Python that are easy to get wrong, one a line. The expected texts are those of
// python3-jinja2 3.1, set up as tests/jinja/oracle.py sets it up.
#include <gtest/gtest.h>

#include "base/json/json.hpp"
#include "jinja/template.hpp"

namespace bittern::jinja {
namespace {

constexpr const char* kNames =
    R"j({"a": 1, "b": 2.5, "l": [3, 1, 2], "s": "Hello World", "d": {"k": "v", "x": {"y": [1, 2]}}, "m": [{"n": "b", "v": 2}, {"n": "a", "v": 1}, {"n": "b", "v": 3}], "e": [], "z": null, "t": true, "u": "é€😀"})j";

Result<Text> RenderRule(std::string_view source) {
  const Json json = BITTERN_TRY(Json::Parse(kNames, {.max_depth = 100}));
  Names names;
  for (const auto& [name, value] : *json.AsObject()) {
    auto made = BITTERN_TRY(FromJson(value, Origin::Input()));
    names.emplace_back(name, std::move(made));
  }
  const auto compiled = BITTERN_TRY(Template::Compile(source));
  return compiled.Render(std::move(names));
}

struct Rule {
  const char *source, *text;
};

template <std::size_t kCount>
void ExpectRules(const Rule (&rules)[kCount]) {
  for (const auto& [source, expected] : rules) {
    const auto text = RenderRule(source);
    ASSERT_TRUE(text.has_value()) << source << '\n' << text.error().message;
    EXPECT_EQ(text->bytes(), expected) << source;
  }
}

constexpr Rule kPrecedence[] = {
    {"{{ not a in l }}", "False"},
    {"{{ -2 ** 2 }} {{ (-2) ** 2 }} {{ 2 ** -1 }}", "4 4 0.5"},
    {"{{ 1 < 2 < 3 }} {{ 3 > 2 > 2 }} {{ 1 < 3 > 2 }}", "True False True"},
    {"{{ 1 == 1 != 2 }}", "True"},
    {"{{ -1 | abs }} {{ -b | abs }} {{ - (a | string | length) }}", "1 2.5 -1"},
    {"{{ 1 ~ 2 + 3 ~ 4 }}", "1234"},
    {"{{ 7 // 2 }} {{ -7 // 2 }} {{ 7 // -2 }} {{ -7 % 3 }} {{ 7 % -3 }} {{ 7.5 // 2 }} {{ -7.5 % "
     "2 }}",
     "3 -4 -4 2 -2 3.0 0.5"},
    {"{{ 1 if e else 2 if t else 3 }}", "2"},
    {"{{ (1 if e) is defined }}[{{ 1 if e }}]", "False[]"},
    {R"j({{ a or z and x }} {{ e or 0 or "" or "last" }} {{ 1 and 2 and [] and 3 }})j",
     "1 last []"},
    {"{{ not not 1 == 2 }}", "False"},
    {"{{ 1 + 2 * 3 - 4 / 2 }} {{ 2 * 3 % 4 }} {{ 10 - 2 - 3 }} {{ 100 / 10 / 2 }}", "5.0 2 5 5.0"},
    {R"j({{ "a" "b" ~ "c" * 3 }})j", "abccc"},
    {R"j({{ l[0] + l[-1] * 2 }} {{ d.x.y[1] | string ~ "!" }})j", "7 2!"},
    {"{{ 1 in [1] in [true] }}", "False"},
    {"{{ a in l == true }}", "False"},
    {"{{ 3 not in l }} {{ not 9 not in l }}", "False False"},
    {"{{ +-+1 }} {{ 2 - - 2 }} {{ 2 --2 }}", "-1 4 4"},
    {R"j({{ [1,2,3][1:][0] }} {{ "abc"[1:].upper() }} {{ ("a","b")[1] }} {{ {"a": [5]}["a"][0] }})j",
     "2 BC b 5"},
};

TEST(JinjaRules, Precedence) { ExpectRules(kPrecedence); }

constexpr Rule kNumbers[] = {
    {"{{ 1e16 }} {{ 1e15 }} {{ 123456789012345678 }} {{ 1.0 }} {{ 1e-5 }} {{ 0.0001 }} {{ 1.5e300 "
     "* 1e10 }}",
     "1e+16 1000000000000000.0 123456789012345678 1.0 1e-05 0.0001 inf"},
    {"{{ 1_000 }} {{ 0x1F }} {{ 0b101 }} {{ 0o17 }} {{ 1_0.5 }}", "1000 31 5 15 10.5"},
    {R"j({{ "12" | int }} {{ "x" | int }} {{ "x" | int(7) }} {{ "0x1A" | int(0, 16) }} {{ "1.9" | int }} {{ 3.99 | int }} {{ -3.99 | int }} {{ "1e3" | float }} {{ "z" | float(2) }})j",
     "12 0 7 26 1 3 -3 1000.0 2"},
    {R"j({{ 2.5 | round }} {{ 3.5 | round }} {{ 2.675 | round(2) }} {{ -0.5 | round }} {{ 2.1 | round(0, "ceil") }} {{ 2.9 | round(0, "floor") }} {{ 5 | round }})j",
     "2.0 4.0 2.67 -0.0 3.0 2.0 5"},
    {R"j({{ true + true }} {{ true == 1 }} {{ 1.0 == 1 }} {{ "1" == 1 }} {{ [1, true] | unique | list }} {{ true | int }} {{ -true }})j",
     "2 True True False [1] 1 -1"},
    {R"j({{ 10 | float }} {{ 1.0 | string }} {{ 1e100 | int | string | length if false else "skip" }})j",
     "10.0 1.0 skip"},
    {R"j({{ [0.5, 2, 1.5] | sum }} {{ [1,2] | sum(start=10) }} {{ m | sum(attribute="v") }} {{ [] | sum }})j",
     "4.0 13 6 0"},
    {R"j({{ [3, 1.5, true] | min }} {{ [3, 1.5] | max }} {{ [] | min }}|{{ ["b", "A"] | min }} {{ ["b", "A"] | max }} {{ ["b","A"] | min(case_sensitive=true) }})j",
     "True 3 |A b A"},
    {"{{ -7 | abs }} {{ 2 ** 62 }} {{ 2 ** 0.5 }} {{ 4 ** -0.5 }} {{ 0 ** 0 }}",
     "7 4611686018427387904 1.4142135623730951 0.5 1"},
};

TEST(JinjaRules, Numbers) { ExpectRules(kNumbers); }

constexpr Rule kStrings[] = {
    {"{{ u | length }} {{ u[1] }} {{ u[::-1] }} {{ u[-2:] }}", "3 € 😀€é €😀"},
    {R"j({{ "abc"[::-2] }} {{ "abcdef"[4:1:-1] }} {{ "abc"[5:] }}|{{ "abc"[-9:2] }} {{ "abcdef"[::2] }} {{ "abc"[2:0] }}|)j",
     "ca edc |ab ace |"},
    {R"j({{ "a,b,,c".split(",") }} {{ " a  b ".split() }} {{ "a b c".split(" ", 1) }} {{ "a b c".rsplit(" ", 1) }} {{ "".split() }} {{ "".split(",") }})j",
     "['a', 'b', '', 'c'] ['a', 'b'] ['a', 'b c'] ['a b', 'c'] [] ['']"},
    {R"j({{ "abc".find("c") }} {{ "abc".find("z") }} {{ "aXbX".rfind("X") }} {{ "aaa".count("a") }} {{ "aaa".count("aa") }} {{ "abc".index("b") }})j",
     "2 -1 3 3 1 1"},
    {R"j({{ "xxabcxx".strip("x") }} {{ "xxabc".lstrip("x") }} {{ "abcba".rstrip("ab") }} {{ "  a ".strip() }}|)j",
     "abc abc abc a|"},
    {R"j({{ "a-b-c".replace("-", "+", 1) }} {{ "aaa".replace("a", "") }}|{{ "abc".replace("", "-") }})j",
     "a+b-c |-a-b-c-"},
    {R"j({{ "hello world".title() }} {{ "they're" | title }} {{ "they're".title() }} {{ "hELLO" | capitalize }} {{ "abc".upper() }})j",
     "Hello World They're They'Re Hello ABC"},
    {R"j({{ "a\nb\r\nc".splitlines() }} {{ "a\nb\n".splitlines(true) }})j",
     R"j(['a', 'b', 'c'] ['a\n', 'b\n'])j"},
    {R"j({{ "%s is %d%% %5.2f|%-5s|%05d|%x|%r" % ("a", 7, 3.14159, "l", 42, 255, "q") }})j",
     "a is 7%  3.14|l    |00042|ff|'q'"},
    {R"j({{ "{0}-{1}-{0}".format("a", "b") }} {{ "{x:>5}|{y:<4}|{z:^6}|".format(x=1, y="b", z="cc") }} {{ "{:05.1f} {:+d} {:,}".format(3.14159, 5, 1234567) }})j",
     "a-b-a     1|b   |  cc  | 003.1 +5 1,234,567"},
    {R"j({{ "%s" % [1,2] }} {{ "%(k)s" % d }} {{ "%s %s" % ("a", "b") }})j", "[1, 2] v a b"},
    {R"j({{ "a" < "b" }} {{ "a" < "B" }} {{ "abc" < "abcd" }} {{ "é" > "z" }} {{ [1,2] < [1,3] }})j",
     "True False True True True"},
    {R"j({{ "abc".center(9, "*") }} {{ "abc" | center(9) }}| {{ "7".zfill(3) }} {{ "-7".zfill(4) }} {{ "ab".ljust(4, ".") }} {{ "ab".rjust(4, ".") }})j",
     "***abc***    abc   | 007 -007 ab.. ..ab"},
    {R"j({{ "a".isalpha() }} {{ "a1".isalnum() }} {{ "".isdigit() }} {{ "Ab".islower() }} {{ " ".isspace() }} {{ "abc".startswith(("x", "a")) }} {{ "abc".endswith("bc") }})j",
     "True True False False True True True"},
    {R"j({{ "a|b".partition("|") }} {{ "a".partition("|") }} {{ "a|b|c".rpartition("|") }})j",
     "('a', '|', 'b') ('a', '', '') ('a|b', '|', 'c')"},
    {R"j({{ "abc".removeprefix("a") }} {{ "abc".removesuffix("c") }} {{ "abc".removesuffix("x") }})j",
     "bc ab abc"},
    {R"j({{ ",".join(["a", "b"]) }} {{ "".join([]) }}| {{ l | join("-") }} {{ m | join(",", attribute="n") }})j",
     "a,b | 3-1-2 b,a,b"},
    {R"j({{ "x" in "xyz" }} {{ "" in "xyz" }} {{ "k" in d }} {{ "v" in d }} {{ z in [none] }})j",
     "True True True False True"},
    {R"j({{ "ß".upper() }} {{ "İ".lower() | length }} {{ "ΑΣ".lower() }} {{ "ŉ" | upper }})j",
     "SS 2 ας ʼN"},
    {R"j({{ "a\tb" }}|{{ "\u00e9\x41" }}|{{ '\'' }}|{{ "\\n" }})j", "a\tb|éA|'|\\n"},
};

TEST(JinjaRules, Strings) { ExpectRules(kStrings); }

constexpr Rule kCollections[] = {
    {R"j({{ l | sort }} {{ l | sort(reverse=true) }} {{ m | sort(attribute="n") | map(attribute="v") | list }} {{ ["b","A","c"] | sort }} {{ ["b","A","c"] | sort(case_sensitive=true) }})j",
     "[1, 2, 3] [3, 2, 1] [1, 2, 3] ['A', 'b', 'c'] ['A', 'b', 'c']"},
    {R"j({{ d | dictsort }} {{ {"b":1,"A":2} | dictsort }} {{ {"b":1,"A":2} | dictsort(true) }} {{ {"x":2,"y":1} | dictsort(by="value", reverse=true) }})j",
     "[('k', 'v'), ('x', {'y': [1, 2]})] [('A', 2), ('b', 1)] [('A', 2), ('b', 1)] [('x', 2), "
     "('y', 1)]"},
    {R"j({{ m | selectattr("n", "equalto", "b") | map(attribute="v") | list }} {{ m | rejectattr("v", "gt", 1) | list }} {{ l | select("odd") | list }} {{ l | reject("lt", 2) | list }} {{ [0, "", 1] | select | list }})j",
     "[2, 3] [{'n': 'a', 'v': 1}] [3, 1] [3, 2] [1]"},
    {R"j({{ m | groupby("n") | map("first") | list }} {% for k, g in m | groupby("n") %}{{ k }}{{ g | length }}{% endfor %})j",
     "['a', 'b'] a1b2"},
    {R"j({{ l | batch(2) | list }} {{ [1,2,3] | batch(2, "x") | list }} {{ [1,2,3,4,5] | slice(2) | list }} {{ [1,2,3] | slice(2, 0) | list }})j",
     "[[3, 1], [2]] [[1, 2], [3, 'x']] [[1, 2, 3], [4, 5]] [[1, 2], [3, 0]]"},
    {R"j({{ l | first }} {{ l | last }} {{ e | first is defined }} {{ "abc" | first }} {{ l | reverse | list }} {{ "abc" | reverse }})j",
     "3 2 False a [2, 1, 3] cba"},
    {R"j({{ d.items() | list }} {{ d.keys() | list }} {{ d.values() | list | length }} {{ d.get("q", 4) }} {{ d.get("q") }} {{ d | length }} {{ d | list }})j",
     "[('k', 'v'), ('x', {'y': [1, 2]})] ['k', 'x'] 2 4 None 2 ['k', 'x']"},
    {R"j({{ dict(a=1, b=2) }} {{ dict([("x", 1)]) }} {{ {"a": 1} == dict(a=1) }} {{ {1: "a", "1": "b", 1.0: "c"} }})j",
     "{'a': 1, 'b': 2} {'x': 1} True {1: 'c', '1': 'b'}"},
    {"{{ range(3) | list }} {{ range(5, 1, -2) | list }} {{ range(0) | list }} {{ range(3)[1] }} "
     "{{ range(10)[2:8:3] | list }}",
     "[0, 1, 2] [5, 3] [] 1 [2, 5]"},
    {"{{ [1,2] + [3] }} {{ [0] * 3 }} {{ (1,) + (2,) }} {{ [[1],[2]] | sum(start=[]) }} {{ () }} "
     "{{ (1,) }} {{ [1,2] == (1,2) }}",
     "[1, 2, 3] [0, 0, 0] (1, 2) [1, 2] () (1,) False"},
    {R"j({{ [1,[2,"x"],{"a":none}] }} {{ {"a": true, "b": 1.0, "c": "q's"} }})j",
     R"j([1, [2, 'x'], {'a': None}] {'a': True, 'b': 1.0, 'c': "q's"})j"},
    {R"j({{ l | map("string") | join }} {{ ["a"] | map("upper") | list }} {{ m | map(attribute="q", default=0) | list }} {{ [[1,2],[3]] | map("length") | list }} {{ m | map(attribute="n") | unique | list }})j",
     "312 ['A'] [0, 0, 0] [2, 1] ['b', 'a']"},
    {R"j({{ l.index(1) }} {{ l.count(3) }} {{ [1,1].count(true) }} {{ d.x.y | length }} {{ d["x"]["y"][0] }} {{ d.x["y"].index(2) }})j",
     "1 1 2 2 1 1"},
    {R"j({{ l | default("q") }} {{ q | default("q") }} {{ e | default("q") }} {{ e | default("q", true) }} {{ z | d("none") }} {{ q.r | default("deep") if false else "x" }})j",
     "[3, 1, 2] q [] q None x"},
};

TEST(JinjaRules, Collections) { ExpectRules(kCollections); }

constexpr Rule kStatements[] = {
    {"{% for x in l %}{{ loop.index }}{% if not loop.last %},{% endif %}{% else %}none{% endfor %}",
     "1,2,3"},
    {"{% for x in l if x > 1 %}{{ loop.index }}:{{ x }} {{ loop.length }};{% endfor %}",
     "1:3 2;2:2 2;"},
    {"{% for k, v in d.items() %}{{ k }}{% endfor %} {% for (a, b), c in [((1,2),3)] %}{{ a }}{{ b "
     "}}{{ c }}{% endfor %}",
     "kx 123"},
    {"{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}", "1"},
    {"{% set ns = namespace(x=0) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}",
     "6"},
    {"{% set a, b = 1, 2 %}{{ a }}{{ b }} {% set c = (1, 2) %}{{ c }} {% set d2 = 1, %}{{ d2 }}",
     "12 (1, 2) (1,)"},
    {"{% set q %}<{{ a }}>{% endset %}{{ q }}{{ q | length }}", "<1>3"},
    {"{% macro m(x, y=2) %}{{ x }}{{ y }}{{ varargs }}{{ kwargs }}{% endmacro %}{{ m(1) }} {{ m(1, "
     "3, 4, z=5) }} {{ m(y=1, x=2) }}",
     "12(){} 13(4,){'z': 5} 21(){}"},
    {"{% macro m() %}[{{ caller(1) }}]{% endmacro %}{% call(v) m() %}c{{ v }}{% endcall %}",
     "[c1]"},
    {"{% macro f(n) %}{{ n }}{% if n > 0 %}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(3) }}",
     "3210"},
    {"{% filter upper %}a{{ s }}{% endfilter %}", "AHELLO WORLD"},
    {"{% with x = 1, y = x %}{{ x }}{{ y }}{% endwith %}{{ x is defined }}", "1False"},
    {R"j({% if e %}1{% elif z %}2{% elif "0" %}3{% else %}4{% endif %})j", "3"},
    {"{% for i in range(5) %}{% if i == 1 %}{% continue %}{% endif %}{% if i == 3 %}{% break %}{% "
     "endif %}{{ i }}{% endfor %}",
     "02"},
    {"{% for i in [1,2] %}{% for j in [1,2] %}{{ loop.index }}{{ i }}{% endfor %}{{ loop.revindex "
     "}}{% endfor %}",
     "1121212221"},
    {R"j({% for i in l %}{{ loop.cycle("a", "b") }}{{ loop.previtem is defined }}{{ loop.nextitem }} {% endfor %})j",
     "aFalse1 bTrue2 aTrue "},
    {R"j({% for i in "ab" %}{{ i }}-{% endfor %}{% for i in d %}{{ i }}{% endfor %})j", "a-b-kx"},
    {"  {%- if t -%}  x  {%- endif %}  y", "x  y"},
    {"a\n  {% if t %}\n  b\n  {% endif %}\nc\n", "a\n  b\nc"},
    {"{{ \"x\" }}\n\n{# c #}\ny\n", "x\n\ny"},
    {"{% raw %}{{ a }}{% endraw %}{{ a }}", "{{ a }}1"},
    {R"j({{ s | replace("o", "0") | upper | trim("H") }} {{ "<a>" | e }} {{ "a b" | urlencode }} {{ "x y z" | wordcount }})j",
     "ELL0 W0RLD &lt;a&gt; a%20b 3"},
    {"{{ \"a\nb\" | indent(2) }}|{{ \"a\n\nb\" | indent(2, true, true) }}|{{ \"abcdef\" | "
     "truncate(4, true) }}|{{ \"%.2f\" | format(1.005) }}",
     "a\n  b|  a\n  \n  b|abcdef|1.00"},
    {R"j({{ l is sequence }} {{ d is mapping }} {{ s is string }} {{ a is number }} {{ z is none }} {{ q is undefined }} {{ a is divisibleby 1 }} {{ "A" is upper }} {{ t is boolean }} {{ b is float }} {{ a is integer }} {{ 1 is sameas true }} {{ 2 is in l }} {{ m is callable }} {{ "x" is filter }} {{ "upper" is filter }} {{ "odd" is test }})j",
     "True True True True True True True True True True True False True False False True True"},
    {R"j({{ a.q is defined }} {{ d.q is defined }} {{ d.k }} {{ d["k"] }} {{ s.upper() }} {{ m[0].n }} {{ m[9] is defined }} {{ q | length }} [{{ q }}] {{ q == q }} {{ not q }})j",
     "False False v v HELLO WORLD b False 0 [] True True"},
};

TEST(JinjaRules, Statements) { ExpectRules(kStatements); }

constexpr const char* kWrongSources[] = {
    R"j({{ a is odd and l is iterable }} {{ not a is even }} {{ a is not none is defined if false else "ok" }})j",
    R"j({{ [1,2,3] | random is number if false else "x" }} {{ ["a","B","b"] | unique | list }} {{ ["a","B","b"] | unique(case_sensitive=true) | list }})j",
    R"j({{ d | items | list }} {{ z | items is defined if false else "-" }} {{ d | tojson }} {{ [1, 2.0, "é", none, true] | tojson }} {{ {"b":1,"a":[{}]} | tojson(indent=2) }})j",
    "{% macro m(x, y=2, *args) %}{% endmacro %}",
    "{{ q + 1 }}",
    "{{ q.r.s }}",
    R"j({{ [1, "a"] | sort }})j",
    R"j({{ 1 + "a" }})j",
    R"j({{ "a" * "b" }})j",
    "{{ none + 1 }}",
    "{{ [] < 1 }}",
    "{{ 1 % 0 }}",
    R"j({{ {}["a"].b }})j",
    R"j({{ "abc".index("z") }})j",
    "{{ [1].index(2) }}",
    R"j({{ "%d" % "a" }})j",
    R"j({{ "{} {}".format(1) }})j",
    R"j({{ "%s %s" % "a" }})j",
    "{{ (1, 2) | tojson | nope }}",
    R"j({{ l | map("nope") | list }})j",
    "{{ f(1) }}",
    R"j({{ "a"() }})j",
    "{% for x in 1 %}{% endfor %}",
    "{% for a, b in [(1,2,3)] %}{% endfor %}",
    "{% set a, b = 1 %}",
    "{{ {[1]: 2} }}",
    R"j({{ -"a" }})j",
    "{{ 1[0] + 1 }}",
    "{{ l | batch }}",
    "{{ l | join(1, 2, 3, 4) }}",
    "{{ range(1, 5, 0) | list }}",
    "{{ 1 // 0 }}",
    "{{ 0 ** -1 }}",
    R"j({{ "a" is divisibleby(2) }})j",
    "{% endfor %}",
    "{{ a = 1 }}",
    "{% if a = 1 %}{% endif %}",
    "{{ a.1b }}",
    "{% macro m(a, a) %}{% endmacro %}{{ m(1) }}",
    "{{ m(1, 1) }}",
    R"j({{ "x" | int(1, 2, 3, 4) }})j",
};

TEST(JinjaRules, WrongSourcesAreErrors) {
  for (const char* source : kWrongSources) {
    const auto text = RenderRule(source);
    EXPECT_FALSE(text.has_value()) << source << '\n' << text->bytes();
  }
}

}  // namespace
}  // namespace bittern::jinja
