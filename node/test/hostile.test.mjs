// SPDX-License-Identifier: Apache-2.0
// Arguments that nobody should give: a BitternError or a TypeError, or what they ask for; never a
// crash, and never an error of another kind.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';

import { BitternError, Engine, Generation, Model, PACKAGE, Sampler, Sequence, convert, pull } from './support.mjs';

const model = await Model.load();
const sequence = await model.sequence({ contextLength: 64 });
const engine = await model.engine({ contextLength: 64, maxSequences: 2 });
const sampler = new Sampler({ seed: 1 });

const detached = new Uint8Array(8);
structuredClone(detached.buffer, { transfer: [detached.buffer] });
const VALUES = [undefined, null, true, false, 0, -0, 1, -1, 1.5, NaN, Infinity, -Infinity, 2 ** 31, 2 ** 32, 2 ** 53,
  1e308, -1e308, 10n, 2n ** 70n, '', 'x', '\0', 'a\0b', '\ud800', 'x\udc00y', '1', 'on', '/', '../..', 'file:///x',
  '🐦'.repeat(50), 'x'.repeat(5000), Symbol('s'), () => {}, [], [0], [-1], [1e9], [NaN], ['x'], [null], [[]],
  new Array(3), Array(70).fill(5), {}, { length: -1 }, { length: 2 ** 53 }, { toString() { throw new Error('mine'); } },
  Object.create(null), new Date(), new Map(), new Int32Array(3), new Int32Array([2 ** 31]), new Float32Array(3),
  new Float32Array([NaN, 1, Infinity]), new Uint8Array([255, 254, 0]), detached, new Uint8Array(0), new Float64Array(2), new ArrayBuffer(8),
  new URL('http://x/'), new URL('file:///no/such'), new Proxy({}, {}), Promise.resolve(1), /x/, new Error('e'),
  { signal: 1 }, { signal: {} }, { nPredict: 2 }, { messages: 5 }, [{ role: 'user' }], [{ role: 5, content: {} }]];

/** Resolves or is refused properly. */
async function proper(what, work) {
  try {
    const value = await work();
    if (value instanceof Generation) await value.result;
  } catch (error) {
    assert.ok(error instanceof BitternError || error instanceof TypeError, `${what}: ${error?.stack ?? String(error)}`);
    if (error instanceof BitternError) {
      assert.match(error.code, /^BITTERN_ERROR_[A-Z_]+$/);
      assert.ok(error.message.length > 0);
    }
  }
}

const ABORTED = AbortSignal.abort(new TypeError('ended before it began'));
const SMALL = { nPredict: 2, contextLength: 64 };
const CALLS = {
  load: (v) => Model.load(v),
  loadPath: (v) => Model.load({ path: v }),
  loadData: (v) => Model.load({ data: v, name: 'x' }),
  loadName: (v) => Model.load({ data: new Uint8Array(30), name: v }),
  progress: (v) => Model.load({ progress: v, path: '/' }),
  metadata: (v) => model.metadata(v),
  tokenize: (v) => model.tokenize(v),
  tokenizeOptions: (v) => model.tokenize('x', v),
  bos: (v) => model.tokenize('x', { bos: v }),
  detokenize: (v) => model.detokenize(v),
  special: (v) => model.detokenize([5], { special: v }),
  tokenBytes: (v) => model.tokenBytes(v),
  tokenIsEnd: (v) => model.tokenIsEnd(v),
  applyTemplate: (v) => model.applyTemplate(v),
  chatTemplate: (v) => model.applyTemplate('x', { chatTemplate: v }),
  complete: (v) => model.complete(v, SMALL),
  completeOptions: (v) => model.complete('x', v === undefined || v === null ? SMALL : v),
  generate: (v) => model.generate(v, SMALL),
  signal: (v) => model.complete('x', { ...SMALL, signal: v }),
  chat: (v) => model.chat(v, SMALL),
  completeChat: (v) => model.completeChat(v, SMALL),
  openai: (v) => model.createChatCompletion(v),
  openaiMessages: (v) => model.createChatCompletion({ messages: v, max_tokens: 1 }),
  openaiTokens: (v) => model.createChatCompletion({ messages: 'x', max_tokens: v ?? 1 }),
  logits: (v) => model.logits(v, { contextLength: 64 }),
  embedding: (v) => model.embedding(v, { contextLength: 64 }),
  sequence: (v) => model.sequence(v),
  engine: (v) => model.engine(v),
  certify: (v) => model.certify(v !== null && typeof v === 'object' ? { signal: ABORTED, ...v } : v ?? { bad: 1 }),
  eval: (v) => sequence.eval(v),
  evalOptions: (v) => sequence.eval([], v),
  setTokens: (v) => sequence.setTokens(v),
  evalAll: (v) => sequence.evalAll(v),
  truncate: (v) => sequence.truncate(v),
  fork: (v) => sequence.fork(v),
  restore: (v) => sequence.restore(v),
  sequenceComplete: (v) => sequence.complete({ nPredict: 1, seed: v }),
  sequenceOptions: (v) => sequence.complete(v ?? { nPredict: 1 }),
  engineComplete: (v) => engine.complete(v, { nPredict: 2 }),
  engineOptions: (v) => engine.complete('x', v ?? { nPredict: 2 }),
  samplerOptions: (v) => new Sampler(v),
  accept: (v) => sampler.accept(v),
  sample: (v) => sampler.sample(v),
  convertSource: (v) => convert(v, '/no/such/folder/x', { to: 'i2_s' }),
  convertTarget: (v) => convert('/no/such', v, { to: 'i2_s' }),
  convertOptions: (v) => convert('/no/such', '/no/such/either', v),
  pullName: (v) => pull(v, { cache: '/no/such', offline: true }),
  pullOptions: (v) => pull('a/b', { cache: '/no/such', offline: true, ...(v !== null && typeof v === 'object' ? v : { retries: v }) }),
  newModel: (v) => new Model(v, v),
  newSequence: (v) => new Sequence(v, v, v),
  newEngine: (v) => new Engine(v, v, v),
};
for (const key of ['nPredict', 'temperature', 'topK', 'topP', 'minP', 'seed', 'stop', 'repeatPenalty', 'repeatLastN', 'grammar',
  'jsonSchema', 'regex', 'samplers', 'ignoreEos', 'speculation', 'contextLength', 'kvType', 'batchSize', 'threads', 'maxSequences']) {
  CALLS[key] = (v) => model.complete('x', { ...SMALL, [key]: v });
}

test('every argument of every kind', async () => {
  for (const [name, work] of Object.entries(CALLS)) {
    for (const [index, value] of VALUES.entries()) {
      // Nothing wrong with it, but it takes a while or much memory.
      if (name === 'maxSequences' || name === 'sequence' || name === 'engine') {
        if (value === 2 ** 31 || value === 2 ** 32) continue;
      }
      await proper(`${name}, value ${index}`, () => work(value));
    }
  }
});

test('methods on other objects', async () => {
  for (const type of [Model, Sequence, Engine, Generation, Sampler]) {
    for (const [name, { value, get }] of Object.entries(Object.getOwnPropertyDescriptors(type.prototype))) {
      if (name === 'constructor') continue;
      for (const self of [undefined, {}, model, sequence]) {
        if (self instanceof type) continue;
        await proper(`${type.name}.${name}`, () => (value ?? get).call(self, 'x', {}));
      }
    }
  }
});

test('the addon without the package\'s checks', async () => {
  const addon = createRequire(import.meta.url)(
    path.join(PACKAGE, 'prebuilds', `${process.platform}-${process.arch}`, 'bittern.node'));
  for (const [name, work] of Object.entries(addon)) {
    if (name === 'certify' || name === 'convert') continue;
    for (const a of VALUES) {
      for (const rest of [[], VALUES.slice(0, 6), [[], [], [], () => {}]]) {
        try {
          const given = work(a, ...rest);
          if (Array.isArray(given) && given[0] instanceof Promise) await given[0].catch(() => {});
        } catch (error) {
          assert.ok(error instanceof Error);
        }
      }
    }
  }
});

test('values that change while they are read', async () => {
  const shrinking = new Proxy([5, 5, 5], { get: (target, key) => { target.length = 1; return target[key]; } });
  await proper('proxy', () => sequence.eval(shrinking));
  await proper('getter', () => model.complete('x', { get nPredict() { throw new TypeError('mine'); } }));
  const ids = new Int32Array([5, 6, 7]);
  const work = model.complete(ids, { ...SMALL, ignoreEos: true });
  structuredClone(ids.buffer, { transfer: [ids.buffer] });
  assert.equal((await work).ids.length, 2);
  const own = await model.sequence({ contextLength: 64 });
  const later = Int32Array.of(5, 6, 7);
  const read = [own.eval([8]), own.eval(later)];
  later.fill(9);
  await Promise.all(read);
  assert.deepEqual(await own.tokens(), [8, 5, 6, 7]);
  const state = await own.save();
  const restore = (await model.sequence()).restore(state);
  structuredClone(state.buffer, { transfer: [state.buffer] });
  await restore;
});

test('states with a damaged byte', async () => {
  const own = await model.sequence({ contextLength: 64 });
  await own.eval([5, 6, 7]);
  const state = await own.save();
  const other = await model.sequence({ contextLength: 64 });
  for (let i = 0; i < state.length; i += 1 + Math.floor(state.length / 300)) {
    const damaged = Uint8Array.from(state);
    damaged[i] ^= 0x41;
    await proper(`byte ${i}`, () => other.restore(damaged));
    await other.truncate(0);
  }
  await other.restore(state);
  assert.deepEqual(await other.tokens(), [5, 6, 7]);
});

test('next() many times at once', async () => {
  const generation = model.generate('A tern is', { nPredict: 20, temperature: 0 });
  const parts = await Promise.all(Array.from({ length: 40 }, () => generation.next()));
  const text = parts.map(({ value }) => value ?? '').join('');
  assert.equal(text, (await generation.result).text);
  assert.equal((await generation.next()).done, true);
});
