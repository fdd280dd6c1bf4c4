// SPDX-License-Identifier: Apache-2.0
// Compares `bittern tokenize` with llama3-tokenizer-js, which has LLaMA-3's real vocabulary and
// shares no code with Bittern, on seeded texts.
//
//   node llama3_tokenizer_test.mjs BITTERN [MODEL]
//
// Without MODEL (a file with LLaMA-3's tokenizer), one is made from the npm package.
//
// Two white spaces are kept out of the texts, because JavaScript's \s is not Unicode's
// White_Space there: U+0085 (only in the latter) and U+FEFF (only in the former).
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import oracle from 'llama3-tokenizer-js';
import { makeTexts } from './texts.mjs';
import { writeVocabGguf } from './vocab_gguf.mjs';

const NUM_PLAIN = 12000;
const NUM_SPECIAL = 3000;
const LEAST = 10000;
const NO_BOS = { bos: false, eos: false };
const NEVER = /(?!)/g; // matches nothing, so that names of specials are text

function bitternIds(bittern, model, texts, flags) {
  const lines = texts.map((text) => JSON.stringify(text.toWellFormed()) + '\n').join('');
  const run = spawnSync(bittern, ['tokenize', '-m', model, '--jsonl', '--no-bos', ...flags], {
    input: lines,
    encoding: 'utf8',
    maxBuffer: 1 << 30,
  });
  if (run.status !== 0) throw new Error(`${bittern} failed (${run.status ?? run.error}): ${run.stderr}`);
  return run.stdout.split('\n').filter(Boolean).map((line) => JSON.parse(line).ids);
}

function compare(texts, found, options) {
  const result = { passed: 0, failed: 0 };
  texts.forEach((text, i) => {
    const expected = oracle.encode(text, options);
    if (JSON.stringify(expected) === JSON.stringify(found[i])) {
      result.passed += 1;
    } else if (++result.failed <= 5) {
      console.log(`DIFFERS ${JSON.stringify(text)}\n  expected ${expected}\n  found    ${found[i]}`);
    }
  });
  return result;
}

function main(bittern, givenModel) {
  const folder = mkdtempSync(join(tmpdir(), 'bittern-js-'));
  try {
    const model = givenModel ?? join(folder, 'llama3-vocab.gguf');
    if (!givenModel) writeVocabGguf(oracle, model);
    const plain = makeTexts(NUM_PLAIN, 20251121);
    const total = compare(plain, bitternIds(bittern, model, plain, []),
      { ...NO_BOS, specialTokenRegex: NEVER });
    if (!givenModel) {
      // Other files name their reserved tokens differently from the package.
      const special = makeTexts(NUM_SPECIAL, 7);
      const more = compare(special, bitternIds(bittern, model, special, ['--parse-special']), NO_BOS);
      total.passed += more.passed;
      total.failed += more.failed;
    }
    console.log(`llama3-tokenizer-js: ${total.passed} passed, ${total.failed} failed`);
    return total.failed === 0 && total.passed >= LEAST ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

if (process.argv.length < 3) {
  console.error('usage: node llama3_tokenizer_test.mjs BITTERN [MODEL]');
  process.exit(2);
}
process.exit(main(process.argv[2], process.argv[3]));
