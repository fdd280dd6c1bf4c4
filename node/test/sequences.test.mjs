// SPDX-License-Identifier: Apache-2.0
// Sequences, samplers and engines.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ENDLESS, Engine, Model, Sampler, Sequence, join } from './support.mjs';

const model = await Model.load();
const GREEDY = { nPredict: 20, temperature: 0 };
const ids = await model.tokenize('A tern is');

test('forks and states', async () => {
  const sequence = await model.sequence({ maxSequences: 2 });
  await sequence.eval(ids);
  assert.deepEqual([await sequence.length(), await sequence.tokens()], [ids.length, ids]);
  const fork = await sequence.fork();
  const state = await sequence.save();
  const { text } = await sequence.complete(GREEDY);
  assert.equal(text, (await model.complete(ids, GREEDY)).text);
  await fork.setTokens(ids);
  assert.equal(await join(fork.generate(GREEDY)), text);
  const other = await model.sequence();
  await other.restore(state);
  await other.setTokens(ids);
  assert.equal((await other.complete(GREEDY)).text, text);
  await assert.rejects(other.restore(state.subarray(0, -1)), { code: 'BITTERN_ERROR_CORRUPT' });
  await other.truncate(2);
  assert.deepEqual(await other.tokens(), ids.slice(0, 2));
  await other.truncate(99);
  assert.equal(await other.length(), 2);
  const short = await fork.fork(1).catch((error) => error);  // the room of two contexts is taken or not
  if (short instanceof Sequence) assert.equal(await short.length(), 1);
  await assert.rejects(other.fork(3), { code: 'BITTERN_ERROR_ARGUMENT' });
});

test('logits of one and of all positions', async () => {
  const sequence = await model.sequence();
  await assert.rejects(sequence.logits(), { code: 'BITTERN_ERROR_ARGUMENT' });
  await assert.rejects(sequence.hidden(), { code: 'BITTERN_ERROR_ARGUMENT' });
  const rows = await sequence.evalAll(ids);
  assert.equal(rows.length, ids.length);
  assert.deepEqual(rows.at(-1), await model.logits(ids));
  assert.deepEqual(rows[1], await model.logits(ids.slice(0, 2)));
});

test('calls without await are done in turn', async () => {
  const sequence = await model.sequence();
  sequence.eval(ids);
  const first = sequence.complete({ ...GREEDY, nPredict: 5 });
  sequence.eval([3671]);  // the fifth one, which nothing has read yet
  const second = sequence.complete({ ...GREEDY, nPredict: 5 });
  const length = sequence.length();
  const [a, b] = await Promise.all([first, second]);
  const whole = await model.complete(ids, { ...GREEDY, nPredict: 10 });
  assert.equal(a.ids[4], 3671);
  assert.deepEqual([...a.ids, ...b.ids], whole.ids);
  assert.equal(await length, ids.length + 9);
});

test('a sampler chooses as a generation does', async () => {
  const settings = { temperature: 1, seed: 11, topK: 20 };
  const expected = await model.complete(ids, { ...settings, nPredict: 12, ignoreEos: true });
  const sampler = new Sampler(settings);
  const sequence = await model.sequence();
  for (const id of ids) sampler.accept(id);
  await sequence.eval(ids);
  const made = [];
  for (let i = 0; i < 12; ++i) {
    const id = sampler.sample(await sequence.logits());
    made.push(id);
    sampler.accept(id);
    await sequence.eval([id]);
  }
  assert.deepEqual(made, expected.ids);
});

test('requests of an engine are those alone', async () => {
  const engine = await model.engine({ maxSequences: 5 });
  const prompts = ['A tern is', 'On the', 'The sea', 'A dog is'].flatMap((prompt) => [prompt, prompt, prompt]);
  const settings = prompts.map((_, i) => ({ nPredict: 20, temperature: i % 2, seed: i }));
  const together = await Promise.all(prompts.map((prompt, i) => (i % 3 === 0
    ? join(engine.generate(prompt, settings[i]))
    : engine.complete(prompt, settings[i]).then(({ text }) => text))));
  for (let i = 0; i < prompts.length; ++i) {
    assert.equal(together[i], (await model.complete(prompts[i], settings[i])).text);
  }
  const stats = await engine.stats();
  assert.deepEqual([stats.running, stats.waiting], [0, 0]);
  assert.ok(stats.steps > 0 && stats.steps < stats.rows);
  const seen = [];
  for await (const piece of engine.generate('On', ENDLESS)) {
    seen.push(piece);
    if (seen.length === 3) break;
  }
  assert.equal((await engine.stats()).running, 0);
  await assert.rejects(engine.complete([-1]), { code: 'BITTERN_ERROR_ARGUMENT' });
  await assert.rejects(engine.complete([]), { code: 'BITTERN_ERROR_ARGUMENT' });
  await engine.close();
});

test('an engine that is closed ends its requests', async () => {
  const engine = await model.engine();
  const generation = engine.generate('On', ENDLESS);
  await generation.next();
  const waiting = engine.complete('On', ENDLESS).catch((error) => error);
  await engine.close();
  assert.equal((await generation.result).finishReason, 'cancelled');
  const ended = await waiting;
  assert.ok(ended.finishReason === 'cancelled' || ended.code === 'BITTERN_ERROR_CANCELLED');
  assert.ok(Engine.prototype[Symbol.asyncDispose ?? Symbol()] !== undefined || Symbol.asyncDispose === undefined);
  await engine.close();
});

test('two texts at once on one model', async () => {
  const settings = { nPredict: 60, temperature: 1, ignoreEos: true };
  const [a, b] = await Promise.all([join(model.generate('On the', { ...settings, seed: 1 })),
    join(model.generate('The sea', { ...settings, seed: 2 }))]);
  assert.equal(a, (await model.complete('On the', { ...settings, seed: 1 })).text);
  assert.equal(b, (await model.complete('The sea', { ...settings, seed: 2 })).text);
});
