// SPDX-License-Identifier: Apache-2.0
// The rest of the program from Node.js: receipts, scores, vectors, inspect, doctor, calls in a text.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Model, doctor, inspect, setLog } from './support.mjs';

const POCKET = fileURLToPath(new URL('../../models/pocket-3-i2s.gguf', import.meta.url));
const model = await Model.load();

test('receipts replay, and changed ones do not', async () => {
  const { receipt } = await model.complete('A tern is', { nPredict: 6, receipt: true, temperature: 1, seed: 4 });
  assert.equal((await model.verify(receipt)).identical, true);
  const chain = (receipt.chain[0] === '0' ? '1' : '0') + receipt.chain.slice(1);
  assert.equal((await model.verify({ ...receipt, chain })).identical, false);
  await assert.rejects(model.verify({}), { code: 'BITTERN_ERROR_ARGUMENT' });
});

test('scores', async () => {
  let share = 0;
  const text = 'A tern is a bird. A dog is an animal. A horse is an animal that people ride.';
  const score = await model.scoreText(text, { window: 8, everyToken: true, progress: (done) => { share = done; } });
  assert.ok(score.perplexity > 1);
  assert.equal(share, 1);
  const lines = [{ query: 'A tern is a', choices: [' bird', ' gd'], gold: 0 }].map((one) => JSON.stringify(one)).join('\n');
  assert.equal((await model.scoreChoices(lines)).acc, 1);
});

test('vectors', async () => {
  const last = await model.embedding('A tern is');
  const sequence = await model.sequence({ hidden: true });
  await sequence.eval(await model.tokenize('A tern is'));
  assert.deepEqual(last, await sequence.hidden());
  const rows = await (await model.sequence()).evalHidden(await model.tokenize('A tern is'));
  assert.equal(rows.length, (await model.tokenize('A tern is')).length);
  assert.deepEqual(rows.at(-1), last);
  const mean = await model.embedding('A tern is', { pooling: 'mean', normalize: true });
  assert.ok(Math.abs(mean.reduce((sum, value) => sum + value * value, 0) - 1) < 1e-5);
});

test('inspect, doctor, and calls in a text', async () => {
  assert.ok((await inspect(POCKET)).tensors.length > 0);
  assert.equal((await doctor(POCKET)).verdict, 'healthy');
  await assert.rejects(inspect(path.join(POCKET, 'none')), { name: 'BitternError' });
  const { text, toolCalls } = model.parseAnswer('so\n<tool_call>\n{"name": "f", "arguments": {"x": 1}}\n</tool_call>');
  assert.equal(toolCalls[0].function.name, 'f');
  assert.ok(text.startsWith('so'));
});

test('pieces of a text with their tokens', async () => {
  const settings = { nPredict: 12, temperature: 0, logprobs: 1 };
  const whole = await model.complete('A tern is', settings);
  const generation = model.generate('A tern is', settings);
  const parts = [];
  for await (const part of generation.parts()) parts.push(part);
  assert.equal(parts.map((part) => part.text).join(''), whole.text);
  assert.deepEqual(parts.flatMap((part) => part.ids), whole.ids);
  assert.deepEqual(parts.flatMap((part) => part.logprobs), whole.logprobs);
  for await (const part of model.generate('A tern is', { nPredict: 3 }).parts()) {
    assert.equal(part.logprobs, undefined);
    assert.ok(part.ids.length > 0);
    break;  // ends it
  }
});

test('a trace', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bittern-trace-'));
  try {
    const text = await model.trace('A tern is', { folder: path.join(folder, 'there'), values: true });
    assert.ok(text.includes('attn_norm'));
    assert.equal(await model.trace(await model.tokenize('A tern is')), text);
    assert.ok(fs.existsSync(path.join(folder, 'there', 'values', 'embedding.npy')));
    fs.writeFileSync(path.join(folder, 'trace.json'), 'kept');
    await assert.rejects(model.trace('A', { folder }), { code: 'BITTERN_ERROR_ARGUMENT' });
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});

test('a log listener', async () => {
  const heard = [], later = [];
  const load = (options) => Model.load(options).then((made) => made.close());
  const turn = () => new Promise((resolve) => { setTimeout(resolve, 20); });
  setLog((entry) => heard.push(entry));
  await load();
  await model.scoreText('A tern is a bird.', { window: 100000 });
  await turn();
  assert.deepEqual(new Set(heard.map((entry) => entry.level)), new Set(['info', 'warning']));
  setLog((entry) => later.push(entry));
  const before = heard.length;
  await load();
  await turn();
  assert.equal(heard.length, before);
  assert.ok(later.length > 0);
  setLog(null);
  const all = later.length;
  await load();
  await turn();
  assert.equal(later.length, all);
  assert.throws(() => setLog(5), TypeError);
});
