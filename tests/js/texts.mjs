// SPDX-License-Identifier: Apache-2.0
// Texts to tokenize: the same for every run with the same seed, and of every kind that has broken
// a tokenizer somewhere.

/** A small seeded generator (mulberry32); Math.random cannot be seeded. */
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let t = this.state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return (t ^ (t >>> 14)) >>> 0;
  }
  below(n) {
    return this.next() % n;
  }
  pick(list) {
    return list[this.below(list.length)];
  }
}

const WORDS = (
  'the of and to in is that it was for on are as with his they at be this from have or by one ' +
  'tokenizer quantization attention IDENTIFIER camelCase snake_case Über naïve café Straße ' +
  'don\'t THEY\'RE it\'s I\'ll we\'ve I\'m he\'d o\'clock \'tis rock\'n\'roll it\u2019s ' +
  'привет мир как дела это просто текст Καλημέρα κόσμε ελληνικά שלום עולם مرحبا بالعالم العربية ' +
  'हिन्दी नमस्ते दुनिया ไทยสวัสดี 日本語のテキスト 東京タワー 你好世界 机器学习 한국어 텍스트 안녕하세요 ' +
  'việc không được người Türkçe ığdır İstanbul zażółć gęślą jaźń příliš žluťoučký ' +
  'e\u0301 a\u0308\u0304 n\u0303 ﬁligree ² ³ ½ Ⅷ １２３ ٣٤٥ १२३').split(' ');

const CODE = [
  'int main(void) {\n    return 0;\n}\n', 'for (int i = 0; i < n; ++i) {\r\n\tsum += a[i];\r\n}\r\n',
  'def f(x):\n    return x ** 2\n\n\n', '#include <stdio.h>\n', 'std::vector<int>&& v;', '=>', '!==',
  '// comment ----------\n', '/* ============ */', '"\\n\\t\\"', '{"a": [1, 2.5e-3, null]}',
  '<div class="x">&amp;</div>', 'SELECT * FROM t WHERE a = \'b\';', 'http://a.b/c?d=e&f#g',
  '\t\t\tif x:', '        indented', 'x=1;y=2', '@decorator', '$HOME/.config', 'a->b.c()', '0xDEADBEEF',
];

const SPACES = [
  ' ', '  ', '   ', '\n', '\n\n', '\r\n', '\r', '\t', ' \n', '\n ', '\u00a0', '\u2003', '\u3000', '\u2028',
  '\u2029', '\u1680', '\u205f', '\u202f', '\v', '\f', ' \t \n\n  ',
];

const EMOJI = [
  '😀', '😀😀', '🚀', '👩\u200d👩\u200d👧', '👍🏽', '🇩🇪', '🇩🇪🇫', '❤\ufe0f', '1\ufe0f\u20e3', '😶\u200d🌫\ufe0f', '\u200b', '\u2060',
];

const PUNCTUATION = Array.from('.,;:!?()[]{}<>"\'`~@#$%^&*-_=+|\\/«»„“”…–—、。，！？€£¥§°©').concat([
  '...', '!!!', '?!', '--', '::', '\'\'', '```', '$$', '%!', ' .', '("', '").', '>>>',
]);

/** Ranges whose characters have been the same in all Unicode versions of the last ten years. */
const RANGES = [
  [0x20, 0x7e], [0x00, 0x1f], [0xa0, 0x24f], [0x300, 0x36f], [0x391, 0x3a1], [0x400, 0x45f],
  [0x5d0, 0x5ea], [0x621, 0x64a], [0x905, 0x939], [0xe01, 0xe3a], [0x10d0, 0x10f0], [0x1e00, 0x1eff],
  [0x2010, 0x2027], [0x2190, 0x21ff], [0x2460, 0x24ff], [0x3041, 0x3096], [0x30a1, 0x30fa],
  [0x4e00, 0x9fa5], [0xac00, 0xd7a3], [0xe000, 0xe0ff], [0xff01, 0xff5e], [0x1d400, 0x1d454],
  [0x1f300, 0x1f5ff], [0x1f600, 0x1f64f], [0x20000, 0x2a6d6], [0x10fffd, 0x10ffff],
];

export const SPECIALS = [
  '<|begin_of_text|>', '<|end_of_text|>', '<|eot_id|>', '<|start_header_id|>', '<|end_header_id|>',
  '<|reserved_special_token_7|>', '<|eot_id|', '<|', '|>',
];

const digits = (random) => Array.from({ length: 1 + random.below(9) }, () => random.below(10)).join('');
const codePoint = (random) => {
  const [first, last] = random.pick(RANGES);
  return String.fromCodePoint(first + random.below(last - first + 1));
};
const loneSurrogate = (random) => String.fromCharCode(0xd800 + random.below(0x800));
const run = (random) => random.pick(['a', ' ', '=', '-', '\n', '0', 'あ', '😀', '\t', '!']).repeat(1 + random.below(40));

const PARTS = [
  (random) => random.pick(WORDS), (random) => random.pick(WORDS), (random) => ' ' + random.pick(WORDS),
  (random) => ' ' + random.pick(WORDS), (random) => ' ' + random.pick(WORDS), (random) => random.pick(SPACES),
  (random) => random.pick(PUNCTUATION), (random) => random.pick(CODE), (random) => random.pick(EMOJI),
  digits, codePoint, codePoint, run, (random) => random.pick(SPECIALS),
  (random) => (random.below(4) === 0 ? loneSurrogate(random) : random.pick(WORDS).toUpperCase()),
];

/** `count` texts; JavaScript strings, so some hold halves of surrogate pairs. */
export function makeTexts(count, seed) {
  const random = new Random(seed);
  return Array.from({ length: count }, () => {
    let text = '';
    for (let parts = random.below(20); parts > 0; --parts) text += random.pick(PARTS)(random);
    return text;
  });
}
