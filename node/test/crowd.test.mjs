// SPDX-License-Identifier: Apache-2.0
// Many calls at once: few threads, little memory, and all of it given back.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';

import { Model, Sampler } from './support.mjs';

const GREEDY = { temperature: 0, nPredict: 8 };
const model = await Model.load();
const sleep = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

function ofProcess(name) {
  const line = readFileSync('/proc/self/status', 'utf8').split('\n').find((one) => one.startsWith(`${name}:`));
  return Number(line.split(/\s+/)[1]);
}

test('two hundred texts at once', async () => {
  const one = await model.complete('A tern is', GREEDY);
  const threads = ofProcess('Threads');
  let most = 0;
  for (let round = 0; round < 2; ++round) {
    const all = Array.from({ length: 200 }, () => model.complete('A tern is', GREEDY));
    const watch = setInterval(() => { most = Math.max(most, ofProcess('Threads')); }, 2);
    for (const text of await Promise.all(all)) assert.equal(text.text, one.text);
    clearInterval(watch);
  }
  assert.ok(most - threads <= 8, `${most - threads} threads more`);
  assert.ok(ofProcess('VmRSS') < 300 * 1024, `${ofProcess('VmRSS')} KiB`);
  await sleep(50);
  assert.ok(ofProcess('Threads') <= threads + 4, `${ofProcess('Threads') - threads} threads stay`);
});

test('conversations at once share an engine', async () => {
  const ask = () => model.createChatCompletion({ messages: [{ role: 'user', content: 'What is a tern?' }], temperature: 0 });
  const one = await ask();
  const threads = ofProcess('Threads');
  const all = Array.from({ length: 100 }, ask);
  await sleep(20);
  const during = ofProcess('Threads');
  for (const answer of await Promise.all(all)) {
    assert.equal(answer.choices[0].message.content, one.choices[0].message.content);
  }
  assert.ok(during - threads <= 8, `${during - threads} threads more`);
});

test('a text that waits for its turn can be cancelled at once', async () => {
  const long = Array.from({ length: 4 }, () => model.complete('A tern is', { nPredict: 1500, ignoreEos: true, temperature: 1 }));
  const controller = new AbortController();
  const waits = model.complete('A tern is', { ...GREEDY, signal: controller.signal });
  const begin = performance.now();
  controller.abort();
  await assert.rejects(waits, { name: 'AbortError' });
  const took = performance.now() - begin;
  const done = Promise.all(long).then(() => performance.now() - begin);
  assert.ok(took < await done, `${took} ms`);
  assert.equal((await model.complete('A tern is', GREEDY)).ids.length, 8);
});

test('forks, truncated and restored sequences go on generating', async () => {
  const ids = await model.tokenize('A tern is');
  const sequence = await model.sequence({ maxSequences: 3 });
  await sequence.eval(ids);
  const state = await sequence.save();
  const fork = await sequence.fork();
  const expected = (await sequence.complete(GREEDY)).text;
  assert.equal((await fork.complete(GREEDY)).text, expected);
  await sequence.truncate(ids.length);
  assert.equal((await sequence.complete(GREEDY)).text, expected);
  const other = await model.sequence();
  await other.restore(state);
  assert.equal((await other.complete(GREEDY)).text, expected);
  await other.truncate(ids.length);
  assert.deepEqual(await other.logits(), await model.logits(ids));
});

test('a sampler with a model obeys a grammar', async () => {
  const options = { temperature: 1, seed: 3, regex: ' (yes|no|perhaps)' };
  assert.throws(() => new Sampler(options), { code: 'BITTERN_ERROR_ARGUMENT' });
  assert.throws(() => new Sampler(options, {}), TypeError);
  const ids = await model.tokenize('A tern is');
  const sampler = new Sampler(options, model);
  const sequence = await model.sequence();
  for (const id of ids) sampler.accept(id);
  await sequence.eval(ids);
  const chosen = [];
  for (;;) {
    const id = sampler.sample(await sequence.logits());
    if (model.tokenIsEnd(id)) break;
    sampler.accept(id);
    chosen.push(id);
    await sequence.eval([id]);
  }
  assert.deepEqual(chosen, (await model.complete('A tern is', options)).ids);
  assert.match(await model.detokenize(chosen), /^ (yes|no|perhaps)$/);
});

test('what belongs to a thread cannot be posted to another', async () => {
  const { port1 } = new MessageChannel();
  const sequence = await model.sequence();
  for (const object of [model, sequence, new Sampler(), await model.engine()]) {
    assert.throws(() => port1.postMessage(object), { name: 'DataCloneError' });
  }
  port1.close();
});
