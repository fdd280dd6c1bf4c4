// SPDX-License-Identifier: Apache-2.0
// Work that is ended early, and the event loop meanwhile.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';

import { ENDLESS, MODELS, Model, convert, join, sleep } from './support.mjs';

const model = await Model.load();

/** How long all of an endless text takes, in ms: what an abort must beat. */
async function fullTime() {
  const begin = performance.now();
  await model.complete('On the', ENDLESS);
  return performance.now() - begin;
}
const FULL = await fullTime();

test('the loop goes on while texts are written', async () => {
  const gaps = [];
  let last = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    gaps.push(now - last);
    last = now;
  }, 5);
  const begin = performance.now();
  while (performance.now() - begin < 1500) await model.complete('On the', ENDLESS);
  clearInterval(timer);
  gaps.sort((a, b) => a - b);
  // One text takes FULL; a loop that waits for it would tick once for each.
  assert.ok(gaps.length > 20, `${gaps.length} ticks`);
  const median = gaps[Math.floor(gaps.length / 2)];
  assert.ok(median < 50, `half of the ticks came after ${median} ms`);
});

test('a signal ends a text', async () => {
  for (const wait of [0, 1, 5, 20]) {
    const controller = new AbortController();
    const reason = new Error(`after ${wait}`);
    const work = model.complete('On the', { ...ENDLESS, signal: controller.signal });
    await sleep(wait);
    controller.abort(reason);
    const begin = performance.now();
    await assert.rejects(work, reason);
    assert.ok(performance.now() - begin < FULL / 2, `${performance.now() - begin} of ${FULL} ms`);
  }
});

test('a signal ends a stream, after its pieces', async () => {
  const controller = new AbortController();
  let text = '';
  await assert.rejects(async () => {
    for await (const piece of model.generate('On the', { ...ENDLESS, signal: controller.signal })) {
      text += piece;
      controller.abort();
    }
  }, { name: 'AbortError' });
  assert.ok(text.length > 0);
  const whole = await model.complete('On the', ENDLESS);
  assert.ok(whole.text.startsWith(text));
  assert.ok(text.length < whole.text.length / 2, `${text.length} of ${whole.text.length} characters`);
});

test('a signal ends the reading of a long prompt', async () => {
  const file = path.join(MODELS, 'pocket-8m-i2s.gguf');
  const loaded = await Model.load({ path: file, layoutCache: '' });
  const prompt = Array.from({ length: loaded.contextLength - 2 }, (_, i) => 40 + (i * 7) % 900);
  const settings = { nPredict: 1, threads: 1 };
  const begin = performance.now();
  await loaded.complete(prompt, settings);
  const full = performance.now() - begin;
  let took = 0;
  for (let i = 0; i < 5; ++i) {  // other programs may take a CPU away for as long as a prompt takes
    const controller = new AbortController();
    const sequence = await loaded.sequence({ threads: 1 });
    const works = [loaded.complete(prompt, { ...settings, signal: controller.signal }),
      sequence.eval(prompt, { signal: controller.signal }),
      loaded.logits(prompt, { threads: 1, signal: controller.signal })];
    await sleep(Math.min(10, full / 8));
    const abort = performance.now();
    controller.abort();
    for (const result of await Promise.allSettled(works)) assert.equal(result.reason?.name, 'AbortError');
    took = performance.now() - abort;
    assert.ok(await sequence.length() < prompt.length);
    if (took < full) break;
  }
  assert.ok(took < full, `${took} of ${full} ms`);
});

test('a signal that was aborted before', async () => {
  const signal = AbortSignal.abort();
  await assert.rejects(model.complete('x', { signal }), { name: 'AbortError' });
  await assert.rejects(join(model.generate('x', { signal })), { name: 'AbortError' });
  await assert.rejects(join(model.chat('x', { signal })), { name: 'AbortError' });
  await assert.rejects(Model.load({ signal }), { name: 'AbortError' });
  await assert.rejects(model.certify({ signal }), { name: 'AbortError' });
  const sequence = await model.sequence();
  await assert.rejects(sequence.eval([5], { signal }), { name: 'AbortError' });
  assert.equal(await sequence.length(), 0);
});

test('a call that waits for its turn is dropped at once', async () => {
  const sequence = await model.sequence();
  await sequence.eval(await model.tokenize('On the'));
  const first = sequence.complete(ENDLESS);
  const controller = new AbortController();
  let isFirstDone = false;
  first.then(() => { isFirstDone = true; });
  const second = sequence.eval([5], { signal: controller.signal });
  controller.abort();
  await assert.rejects(second, { name: 'AbortError' });
  assert.equal(isFirstDone, false);
  assert.notEqual((await first).finishReason, 'cancelled');
});

test('sequence.cancel() and a loop that is left', async () => {
  const sequence = await model.sequence();
  await sequence.eval(await model.tokenize('On the'));
  const generation = sequence.generate(ENDLESS);
  await generation.next();
  sequence.cancel();
  assert.equal((await generation.result).finishReason, 'cancelled');
  const begin = performance.now();
  for await (const piece of model.generate('On the', ENDLESS)) {
    assert.ok(piece);
    break;
  }
  assert.ok(performance.now() - begin < FULL / 2, `${performance.now() - begin} of ${FULL} ms`);
  const left = model.generate('On the', ENDLESS);
  await left.return();
  assert.deepEqual(await left.next(), { value: undefined, done: true });
  await assert.rejects(left.result, { code: 'BITTERN_ERROR_CANCELLED' });
});

test('an engine\'s request', async () => {
  const engine = await model.engine();
  const controller = new AbortController();
  const generation = engine.generate('On the', { ...ENDLESS, signal: controller.signal });
  await generation.next();
  controller.abort();
  await assert.rejects(generation.result, { name: 'AbortError' });
  assert.equal((await engine.complete('A tern is', { nPredict: 5 })).ids.length, 5);
  await engine.close();
});

test('certificates and conversions', async () => {
  await assert.rejects(model.certify({ progress: () => false }), { code: 'BITTERN_ERROR_CANCELLED' });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bittern-'));
  try {
    const source = path.join(MODELS, 'kjv-5m-i2s.gguf');
    const [a, b] = [path.join(folder, 'a.gguf'), path.join(folder, 'b.gguf')];
    const told = [];
    const report = await convert(source, a, { to: 'i2_s:arm-64', progress: (done) => { told.push(done); } });
    assert.ok(report.ternaryTensors > 0);
    assert.equal(told.at(-1), 1);
    await assert.rejects(convert(a, b, { to: 'i2_s', progress: () => false }), { code: 'BITTERN_ERROR_CANCELLED' });
    await assert.rejects(convert(a, b, { to: 'i2_s', signal: AbortSignal.abort() }), { name: 'AbortError' });
    assert.equal(fs.existsSync(b), false);
    const lines = [];
    for (const file of [source, a]) lines.push(await (await Model.load({ path: file, layoutCache: '' })).certify());
    assert.equal(lines[0].split('model=')[1], lines[1].split('model=')[1]);
  } finally {
    fs.rmSync(folder, { recursive: true });
  }
});
