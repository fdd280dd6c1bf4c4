# SPDX-License-Identifier: Apache-2.0
"""Templates of our own, one construct or a few each; make_goldens.py renders them."""
import conversations

NAMES = {
    "a": 1, "b": 2.5, "s": "Some text, with words", "t": True, "n": None, "e": "", "z": [],
    "l": [3, 1, 2], "d": {"k": "v", "x": {"y": [1, {"z": "deep"}]}, "n": None, "f": 1.0},
    "m": [{"role": "user", "n": 2, "t": "B"}, {"role": "tool", "n": 1, "t": "a"}, {"role": "user", "n": 3}],
    "u": "\u00e9\u4e2d\u00df \U0001F600 \u0416", "q": "it's \"q\" \\ \n\t\x01", "big": 12345678901, "neg": -7,
}

LINES = r"""
{{ a }}|{{ b }}|{{ s }}|{{ t }}|{{ n }}|{{ l }}|{{ d }}|{{ missing }}|{{ e }}|{{ u }}|{{ q }}
{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ -7 // 2 }} {{ 7 % 3 }} {{ -7 % 3 }} {{ 2 ** 10 }} {{ 2 ** -1 }} {{ 7.5 // 2 }} {{ -7.5 % 2 }}
{{ 1e3 }} {{ 1.5e-7 }} {{ 123456789012345678.0 }} {{ 0.1 + 0.2 }} {{ 1_000 }} {{ 0x1f }} {{ 1e16 }} {{ 1e15 }} {{ 0.0001 }} {{ 0.00001 }}
{{ 'a' ~ 1 ~ none ~ 2.0 ~ [1, 'x'] ~ missing }} {{ 'x' + 'y' }} {{ 'ab' * 3 }} {{ [1] + [2] }} {{ [0] * 3 }} {{ (1, 2) + (3,) }}
{{ 1 < 2 < 3 }} {{ 1 < 2 > 3 }} {{ 'a' < 'b' }} {{ [1, 2] < [1, 3] }} {{ 1 == 1.0 }} {{ true == 1 }} {{ 'a' != 'b' }} {{ n == none }}
{{ 2 in l }} {{ 9 not in l }} {{ 'ome' in s }} {{ 'k' in d }} {{ 'q' in missing }} {{ not t }} {{ not not e }} {{ t and a }} {{ e or 'else' }}
{{ 'yes' if t else 'no' }} {{ 'yes' if n }}| {{ 1 if e else 2 if z else 3 }} {{ (a, b) }} {{ (a,) }} {{ () }} {{ {} }} {{ [] }}
{{ d.k }} {{ d['k'] }} {{ d.x.y[1].z }} {{ d.x.y.0 }} {{ d.nothing is defined }} {{ d.get('k') }} {{ d.get('w', 5) }} {{ d.get('w') }} {{ l[-1] }} {{ s[0] }}
{{ s[1:4] }} {{ s[:-2] }} {{ s[::-1] }} {{ l[1:] }} {{ l[::2] }} {{ l[-2:] }} {{ u[1:3] }} {{ u[0] }} {{ l[5:] }} {{ s[2:1] }} {{ s[-4:-1:2] }}
{{ u | length }} {{ l | length }} {{ d | count }} {{ s.upper() }} {{ u | upper }} {{ u.lower() }} {{ s | title }} {{ 'aB cD' | capitalize }} {{ 'it is-so'.title() }}
{{ '  x ' | trim }}|{{ ' x '.strip() }}|{{ 'xxaxx'.strip('x') }}|{{ 'xxa'.lstrip('x') }}|{{ 'axx'.rstrip('x') }}|{{ ' a '.lstrip() }}|{{ 'xay' | trim('xy') }}
{{ 'a,b,,c'.split(',') }} {{ ' a  b '.split() }} {{ 'a,b,c'.split(',', 1) }} {{ 'a b c'.rsplit(' ', 1) }} {{ 'a b c'.split(none, 1) }} {{ 'a\nb\r\nc'.splitlines() }} {{ ' a b  c '.rsplit(none, 1) }}
{{ 'abc'.startswith('ab') }} {{ 'abc'.endswith(('x', 'c')) }} {{ 'abc'.startswith('b', 1) }} {{ 'abcabc'.find('c') }} {{ 'abcabc'.rfind('c') }} {{ 'a'.find('z') }} {{ 'aXbX'.count('X') }} {{ 'ab'.index('b') }}
{{ 'aXbX'.replace('X', '-') }} {{ 'aXbX'.replace('X', '-', 1) }} {{ s | replace('t', 'T') }} {{ 'ab'.replace('', '.') }} {{ 'abab' | replace('ab', 'c', 1) }}
{{ ', '.join(['a', 'b']) }} {{ l | join('-') }} {{ m | join(',', attribute='role') }} {{ 'abc' | join('.') }} {{ 'a-b-c'.partition('-') }} {{ 'a-b-c'.rpartition('-') }} {{ 'x'.partition('-') }}
{{ '5'.zfill(3) }} {{ '-5'.zfill(4) }} {{ 'x'.center(4) }}| {{ 'x'.center(5, '*') }} {{ 'ab'.center(5) }}| {{ 'x'.ljust(3) }}| {{ 'x'.rjust(3) }} {{ 'prefix-a'.removeprefix('prefix-') }} {{ 'a.txt'.removesuffix('.txt') }} {{ 'x' | center(6) }}|
{{ '12'.isdigit() }} {{ 'ab'.isalpha() }} {{ 'a1'.isalnum() }} {{ ''.isdigit() }} {{ ' '.isspace() }} {{ 'AB'.isupper() }} {{ 'ab1'.islower() }} {{ '1'.islower() }}
{{ '{} and {}'.format(1, 'x') }} {{ '{1}{0}'.format('a', 'b') }} {{ '{n:>5}|{n:<5}|{n:^5}'.format(n='ab') }} {{ '{:.2f}|{:05d}|{:,}|{:x}|{:+d}'.format(3.14159, 42, 1234567, 255, 3) }} {{ '{{}}'.format() }} {{ '{!r}'.format('a') }} {{ '{0[k]}'.format(d) }}
{{ '%s is %d and %.1f%%' % ('x', 3, 2.55) }} {{ '%5s|%-5s|%05d' % ('a', 'b', 7) }} {{ '%(k)s' % d }} {{ '%s' | format('y') }} {{ '%x' % 255 }} {{ '%r' % 'q' }}
{{ missing | default('d') }} {{ e | default('d') }}| {{ e | default('d', true) }} {{ n | default('d', boolean=true) }} {{ missing | default }}| {{ a | d(3) }} {{ none | default('x') }}
{{ '3' | int }} {{ 'x' | int }} {{ 'x' | int(7) }} {{ '3.9' | int }} {{ 3.9 | int }} {{ '1f' | int(base=16) }} {{ '2.5' | float }} {{ 'q' | float }} {{ -3 | abs }} {{ neg | abs }} {{ 2.567 | round(2) }} {{ 2.5 | round }} {{ 3.5 | round }} {{ 2.1 | round(0, 'ceil') }} {{ 5 | round }}
{{ l | sort }} {{ l | sort(reverse=true) }} {{ ['b', 'A', 'c'] | sort }} {{ ['b', 'A', 'c'] | sort(case_sensitive=true) }} {{ m | sort(attribute='n') | map(attribute='n') | list }} {{ d | dictsort | first }} {{ {'b': 1, 'A': 2} | dictsort }} {{ {'b': 1, 'a': 2} | dictsort(by='value', reverse=true) }}
{{ l | first }} {{ l | last }} {{ z | first }}| {{ l | min }} {{ l | max }} {{ l | sum }} {{ m | sum(attribute='n') }} {{ m | map(attribute='n') | max }} {{ l | reverse | list }} {{ 'abc' | reverse }} {{ [1, 1, 2] | unique | list }} {{ ['a', 'A'] | unique | list }}
{{ l | map('string') | list }} {{ m | selectattr('role', 'equalto', 'user') | list | length }} {{ m | rejectattr('t', 'defined') | list }} {{ m | selectattr('t') | map(attribute='t') | join }} {{ l | select('odd') | list }} {{ l | reject('gt', 1) | list }} {{ [0, 1, ''] | select | list }} {{ n | map('upper') | list }} {{ m | map(attribute='t', default='?') | list }}
{{ l | batch(2) | list }} {{ l | batch(2, 'x') | list }} {{ l | slice(2) | list }} {{ [1, 2, 3, 4, 5] | slice(3, 'f') | list }} {{ d.items() | list }} {{ d | items | list | length }} {{ d.keys() | list }} {{ d.values() | list | length }} {{ d | list }}
{{ d.items() }} {{ {'a': 1}.keys() }} {{ {'a': 1}.values() }} {{ range(3) }} {{ range(1, 7, 2) | list }} {{ range(3, 0, -1) | list }} {{ dict(a=1, b='x') }} {{ dict([('k', 1)]) }} {{ [1, 2, 1].count(1) }} {{ [1, 2].index(2) }}
{{ d | tojson }} {{ u | tojson }} {{ u | tojson(ensure_ascii=true) }} {{ q | tojson }} {{ [1, 2.0, true, none] | tojson }} {{ {} | tojson }} {{ {'b': 1, 'a': 2} | tojson(sort_keys=true) }} {{ [1, [2]] | tojson(separators=(',', ':')) }} {{ {1: 2, none: 3, true: 4} | tojson }}
{{ d | tojson(indent=2) }} {{ [] | tojson(indent=2) }} {{ [[], {}] | tojson(indent=4) }} {{ [1] | tojson(indent='\t') }} {{ [1] | tojson(indent=0) }}
{{ a is number }} {{ b is float }} {{ a is integer }} {{ t is boolean }} {{ t is true }} {{ a is true }} {{ s is string }} {{ d is mapping }} {{ l is sequence }} {{ s is sequence }} {{ d is sequence }} {{ l is iterable }} {{ a is iterable }} {{ n is none }} {{ missing is undefined }} {{ missing is iterable }} {{ t is number }}
{{ 3 is odd }} {{ 4 is even }} {{ 9 is divisibleby 3 }} {{ a is eq 1 }} {{ a is lt(2) }} {{ 2 is in l }} {{ s is upper }} {{ 'abc' is lower }} {{ 'upper' is filter }} {{ 'odd' is test }} {{ a is sameas 1 }} {{ raise_exception is callable }} {{ a is not none }} {{ not a is none }} {{ d.items is callable }}
{{ 'a' 'b' }} {{ "tab\there \u00e9 \x41 \101 \q \\" }} {{ 'it\'s' }} {{ ['it\'s', "a\"b'c", 'é\n', '​'] }}
{{ s | indent }}|{{ 'a\nb\n\nc' | indent(2) }}|{{ 'a\nb' | indent(2, true) }}|{{ 'a\n\nb' | indent(2, blank=true) }}|{{ 'a\nb' | indent('> ') }}|{{ 'a\n' | indent }}|
{{ s | truncate(9) }} {{ s | truncate(9, true) }} {{ s | truncate(9, false, '!', 0) }} {{ s | wordcount }} {{ '<a&"b">' | escape }} {{ 'a b/ü' | urlencode }} {{ m | groupby('role') | length }} {% for g, i in m | groupby('role') %}{{ g }}{{ i | length }} {% endfor %}
{% for x in l %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ ',' if not loop.last }}{% endfor %}
{% for x in l %}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('o', 'e') }}{{ loop.depth }};{% endfor %}
{% for x in [] %}x{% else %}empty{% endfor %} {% for x in l if x > 1 %}{{ x }}{{ loop.index }}{% else %}none{% endfor %} {% for k, v in d.items() %}{{ k }}={{ v }};{% endfor %} {% for (i, (j, k)) in [(1, (2, 3))] %}{{ i + j + k }}{% endfor %}
{% for x in [1, 1, 2] %}{{ loop.changed(x) }}{% endfor %} {% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{% if x == 2 %}{% break %}{% endif %}{{ x }}{% endfor %} {% for c in 'ab' %}{{ c }}.{% endfor %} {% for k in d %}{{ k }}{% endfor %}
{% set x = 1 %}{% for i in l %}{% set x = x + i %}{{ x }}{% endfor %}{{ x }} {% if t %}{% set y = 5 %}{% endif %}{{ y }} {% set a, c = 1, 2 %}{{ a + c }} {% set ns = namespace(v=0, w='q') %}{% for i in l %}{% set ns.v = ns.v + i %}{% endfor %}{{ ns.v }}{{ ns.w }}{{ ns.no }}
{% set x %}block {{ a }}{% set inner = 2 %}{% endset %}{{ x }}{{ inner }} {% set x | upper | trim %} abc {% endset %}[{{ x }}] {% with p = 1, r = a + 1 %}{{ p + r }}{% endwith %}{{ p }} {% filter upper %}abc {{ s }}{% endfilter %}
{% macro f(x, y=2, z=x) %}{{ x }}{{ y }}{{ z }}{% endmacro %}{{ f(1) }} {{ f(1, 3) }} {{ f(y=5, x=4) }} {{ f() }} {{ f.name }} {% macro g() %}{{ varargs }}{{ kwargs }}{% endmacro %}{{ g(1, 2, k=3) }} {{ g(*l, **{'j': 1}) }}
{% macro wrap(tag) %}<{{ tag }}>{{ caller('in') }}</{{ tag }}>{% endmacro %}{% call(x) wrap('b') %}body {{ x }} {{ a }}{% endcall %} {% macro rec(n) %}{{ n }}{% if n > 0 %}{{ rec(n - 1) }}{% endif %}{% endmacro %}{{ rec(3) }}
{% macro late() %}{{ v }}{% endmacro %}{% set v = 1 %}{{ late() }}{% set v = 2 %}{{ late() }} {% for i in [7] %}{{ late() }}{% endfor %} {% set f = late %}{{ f() | upper }}
{% generation %}made{% set gen = 1 %}{% endgeneration %}{{ gen }} {% raw %}{{ raw }} {% if %}{% endraw %} {# comment {{ }} #}after {% block name %}in {{ a }}{% endblock %} {% print 1, 'x' %}
{% if a == 1 %}one{% elif a == 2 %}two{% else %}other{% endif %} {% if a > 1 %}x{% elif t %}elif{% endif %} {% if missing %}x{% endif %} {% if not missing and t %}ok{% endif %} {% if z %}{% else %}falsy{% endif %}
{% set c = cycler('a', 'b') %}{{ c.next() }}{{ c.next() }}{{ c.next() }}{{ c.current }} {% set j = joiner('|') %}{{ j() }}x{{ j() }}y {{ strftime_now('%d %b %Y %H:%M %A %-d %j %p') }} {{ strftime_now('%Y-%m-%d') }}
{% for g in m | groupby('n') %}{{ g.grouper }}:{{ g.list | length }};{{ g['grouper'] }}{{ g[0] }}{{ g.nothing }}{{ g }}{% endfor %}
{{ 1234 | round(-2) }} {{ 1250 | round(-2) }} {{ 1350 | round(-2) }} {{ -1250 | round(-2) }} {{ -1251 | round(-2) }} {{ 5 | round(-1) }} {{ 15 | round(-1) }} {{ 99 | round(-25) }} {{ 1234.5 | round(-2) }} {{ 1234 | round(-2, 'floor') }}
{{ {"a b": 1, "c/d": "é&="} | urlencode }} {{ [("a", "b c"), ("x", none)] | urlencode }} {{ 'a b/é' | urlencode }} {{ 5 | urlencode }} {{ {} | urlencode }}|{{ [] | urlencode }}
{{ '%c%c%c' % (65, 'é', 128512) }} {{ '%5c|%-5c|%05c' % ('a', 'b', 'c') }} {{ '%.0c' % 'a' }}
{{ '%c' % 'ab' }}
{{ '%c' % 1114112 }}
{{ '%c' % 1.5 }}
{{ 'aB\tc'.expandtabs() }}|{{ 'ab\n\tx\t'.expandtabs(4) }}|{{ 'a\tb'.expandtabs(0) }}|{{ 'Ab ß É'.swapcase() }}
{{ 'ﬁ ß ΑΣ ΑΣΑ İ ǆ ŉ' | upper }} {{ 'ﬁ ß ΑΣ ΑΣΑ İ ǆ ŉ' | lower }} {{ 'ﬁne ßa'.capitalize() }} {{ 'ßa ǆa Σα αΣ' | title }} {{ 'ßa ǆa αΣ'.title() }} {{ 'Straße ﬁ ς'.casefold() }}
{{ '²'.isdigit() }}{{ '²'.isdecimal() }}{{ '①'.isdigit() }}{{ '½'.isdigit() }}{{ '½'.isnumeric() }}
{{ ['ß', 'SS', 'Σ', 'ς'] | unique | list }} {{ ['b', 'Σ', 'A'] | sort }}
{{ raise_exception('no ' ~ a) }}
{{ missing.attribute }}
{{ missing + 1 }}
{{ d.x.nothing.more }}
{{ 'a' + 1 }}
{{ 1 / 0 }}
{{ 'a' | nofilter }}
{{ 'a' is notest }}
{{ l.append(1) }}
{{ d.update({'a': 1}) }}
{{ missing() }}
{{ a() }}
{{ missing | tojson }}
{{ {[1]: 2} }}
{{ range(1000000) | length }}
{% for x in a %}{% endfor %}
{% for x, y in [1] %}{% endfor %}
{% macro f(x) %}{% endmacro %}{{ f(1, 2) }}
{% set a.b = 1 %}
{{ ''.__class__ }}
{{ s.__len__() }}
{{ [3, 'a'] | sort }}
{{ (l | map('string')) | length }}
{{ (l | map('string')) | last }}
{{ 'abc' in none }}
{{ 1 in 'a' }}
{{ a.b is defined }} {{ a.b }} {{ s.nothing }} {{ l.k }} {{ l['k'] }} {{ l[10] }} {{ n.x }} {{ s[99] }}
{{ -a }} {{ +a }} {{ - -a }} {{ -2 ** 2 }} {{ 2 ** 3 ** 2 }} {{ not a == 2 }} {{ 1 - -1 }} {{ -1 | abs }} {{ (a + 1) | string ~ 'x' }}
{{ a + 1 | string }}
{{ 'a' if t else 'b' ~ 'c' }}
{{ [x for x in l] }}
{{ s if s is string else '' }} {{ 'in' if 1 in l and not 5 in l else 'out' }} {{ l is sequence and l is not string }} {{ d.k is defined and d.k is not none }}
"""

BLOCKS = [
    "{% if t %}\n  a\n{% endif %}\nb\n",
    "  {% if t %}\n    a\n  {% endif %}\n  b {% if t %} c {% endif %} \nd",
    "x\n  {%- if t %}  a  {%- endif -%}  \n\n y\n",
    "x\n  {%+ if t %}  a\n  {%+ endif +%}\n y\n",
    "{{- a -}}  b {{ a -}} \n c {{- a }}\n\n",
    "{# one #}\n  {#- two -#}  x\n  {# three #}  y\n",
    "a\r\nb\rc\n\n",
    "{% for x in l %}\n  {{ x }}\n{% endfor %}\n",
    "{% for x in l -%}\n  {{ x }}\n{%- endfor %}\nend",
    "{%- raw -%}  {{ x }} {%- endraw -%}  z",
    "  {% raw %}\n {% x %}\n  {% endraw %}\nz",
    "{% set x = [\n  1,\n  2,\n] %}\n{{ x }}",
    "{% set x = {'a': {'b': 1}} %}{{ {'a': {'b': 1}}['a']['b'] }}{{ x.a.b }}",
    "a {%- set x = 1 -%} b",
    "\u00a0 {%- if t %} \u2003x{% endif %}",
    "{% if t %}", "{% endif %}", "{{ a", "{{ a }", "{% if %}x{% endif %}", "{{ }}", "{{ a b }}", "{% unknown %}",
    "{% for x in l %}", "{{ 'a }}", "{# x", "{{ (1 }}", "{{ 1) }}", "{{ a..b }}", "{% break %}", "{{ f(a=1, 2) }}",
    "{% macro f(x=1, y) %}{% endmacro %}", "{{ a is b is c }}", "{% set 1 = 2 %}", "{{ a $ b }}", "{% include 'x' %}",
    "{% raw %} x", "{{ a | }}", "{{ a if }}", "{% do l.append(1) %}", "}} %} #}", "{ {a} }", "{", "{{ '}}' }}",
]

CHAT = {
    "ours-chatml": """{%- if messages[0].role == 'system' %}
    {{- '<|im_start|>system\\n' + messages[0].content + '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages if message.role != 'system' %}
    {{- '<|im_start|>' + message.role + '\\n' + (message.content or '') }}
    {%- for call in message.tool_calls or [] %}
        {{- '\\n<tool_call>' }}{{ call.function | tojson }}{{- '</tool_call>' }}
    {%- endfor %}
    {{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}
""",
    "ours-strict": """{{ bos_token }}{% set ns = namespace(last='') %}
{% for m in messages %}
{% if m['role'] == ns.last %}{{ raise_exception('Roles must alternate, ' ~ m['role'] ~ ' came twice') }}{% endif %}
{% set ns.last = m['role'] %}
[{{ m['role'] | upper }}] {% if m.content is string %}{{ m['content'] | trim }}{% else %}{% for p in m.content %}{{ p.text }}{% endfor %}{% endif %}{{ eos_token }}
{% endfor %}
{% if tools %}{% for tool in tools %}{{ tool.function.parameters | tojson(indent=2) }}
{% endfor %}{% endif %}""",
}


def all_cases():
    """(template, names) pairs."""
    for line in LINES.strip("\n").split("\n"):
        yield line, NAMES
    for block in BLOCKS:
        yield block, NAMES
    for source in CHAT.values():
        for name in conversations.CONVERSATIONS:
            yield source, conversations.names(name)
