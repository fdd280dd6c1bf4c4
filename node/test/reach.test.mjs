// SPDX-License-Identifier: Apache-2.0
// The rest of the program from Node.js: receipts, scores, vectors, inspect, doctor, calls in a text.
import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Model, doctor, inspect } from './support.mjs';

const POCKET = fileURLToPath(new URL('../../models/pocket-2-i2s.gguf', import.meta.url));
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
