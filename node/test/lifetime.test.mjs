// SPDX-License-Identifier: Apache-2.0
// Workers that end in the middle of work, memory that comes back, and things that are closed.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';

import { ENDLESS, ENTRY, Model, Sampler, child } from './support.mjs';

/** The module that a worker runs: it loads, says "on" once text comes, and never ends by itself. */
const WORKER = `
  const { parentPort } = require('node:worker_threads');
  import(${JSON.stringify(ENTRY)}).then(async ({ Model }) => {
    const model = await Model.load();
    const engine = await model.engine();
    const settings = ${JSON.stringify(ENDLESS)};
    let told = false;
    const tell = () => { if (!told) { told = true; parentPort.postMessage('on'); } };
    const forever = async (of) => { for (;;) for await (const piece of of.generate('On the', settings)) tell(); };
    const sequence = await model.sequence({ maxSequences: 2 });
    await sequence.eval(await model.tokenize('On the'));
    const fork = await sequence.fork();
    sequence.complete(settings);
    fork.complete(settings);
    await Promise.all([forever(model), forever(engine), forever(model)]);
  });`;

test('a worker writes the text of the main thread', async () => {
  const { code, err, out } = await child(`
    import { Worker } from 'node:worker_threads';
    const settings = { nPredict: 30, temperature: 1, seed: 4 };
    const work = "const { parentPort, workerData } = require('node:worker_threads');" +
      "import(workerData).then(async ({ Model }) => { const m = await Model.load();" +
      "parentPort.postMessage((await m.complete('On the', " + JSON.stringify(settings) + ")).text); });";
    const start = () => new Promise((done, fail) => {
      const worker = new Worker(work, { eval: true, execArgv: [], workerData: ${JSON.stringify(ENTRY)} });
      worker.once('message', done).once('error', fail);
    });
    const texts = await Promise.all([start(), start(), start()]);  // the addon is first loaded by workers
    const model = await bittern.Model.load();
    texts.push((await model.complete('On the', settings)).text);
    console.log(new Set(texts).size, texts.length);`);
  assert.deepEqual([code, out.trim()], [0, '1 4'], err);
});

test('workers that are terminated in the middle of a text leave nothing behind', async () => {
  const { code, signal, out, err } = await child(`
    import { Worker } from 'node:worker_threads';
    import fs from 'node:fs';
    const threads = () => fs.readdirSync('/proc/self/task').length;
    const once = () => new Promise((done, fail) => {
      const worker = new Worker(${JSON.stringify(WORKER)}, { eval: true, execArgv: [] });
      worker.once('error', fail);
      worker.once('message', async () => { await worker.terminate(); done(); });
    });
    for (let i = 0; i < 4; ++i) await once();
    const [before, memory] = [threads(), process.memoryUsage().rss];
    for (let i = 0; i < 12; ++i) await once();
    const model = await bittern.Model.load();
    await model.complete('A tern is', { nPredict: 5 });
    const grown = () => (process.memoryUsage().rss - memory) / 1e6;
    for (let i = 0; i < 50 && grown() >= 100; ++i) await new Promise((go) => setTimeout(go, 100));  // freed by the way
    console.log(JSON.stringify({ threads: threads() - before, megabytes: grown() }));`);
  assert.deepEqual([code, signal], [0, null], err);
  const grown = JSON.parse(out);
  assert.ok(grown.threads < 8, `${grown.threads} more threads`);
  assert.ok(grown.megabytes < 100, `${grown.megabytes} MB more`);  // a model that is left: 12 MB each
});

test('a worker ends without waiting for its texts', async () => {
  const model = await Model.load();
  const full = [performance.now()];
  await model.complete('On the', ENDLESS);
  full.push(performance.now());
  const times = [];
  for (let i = 0; i < 3; ++i) {
    const worker = new Worker(WORKER, { eval: true });
    await new Promise((done, fail) => { worker.once('message', done).once('error', fail); });
    const begin = performance.now();
    await worker.terminate();
    times.push(performance.now() - begin);
  }
  // Its texts together take several times as long as this one.
  assert.ok(Math.min(...times) < (full[1] - full[0]) / 2, `${times} of ${full[1] - full[0]} ms`);
});

test('a process that exits in the middle of a text', async () => {
  for (const end of ['process.exit(7)', 'throw new Error("x")']) {
    const { code, signal } = await child(`
      const model = await bittern.Model.load();
      const engine = await model.engine();
      for await (const piece of engine.generate('On the', ${JSON.stringify(ENDLESS)})) {
        model.complete('On the', ${JSON.stringify(ENDLESS)});
        setTimeout(() => { ${end}; }, 1);
        break;
      }
      engine.complete('On the', ${JSON.stringify(ENDLESS)});`);
    assert.deepEqual([code, signal], [end.startsWith('process') ? 7 : 1, null]);
  }
});

test('a process ends by itself when nothing is left to do', async () => {
  const { code, out } = await child(`
    const model = await bittern.Model.load();
    const engine = await model.engine();
    await engine.complete('A tern is', { nPredict: 3 });
    model.complete('A tern is', { nPredict: 3 }).then(() => console.log('ended'));`);
  assert.deepEqual([code, out], [0, 'ended\n']);
});

test('the collector gives memory back', async () => {
  for (const [count, make, least] of [  // least: MB where they stay
    [60, "await (await model.sequence()).eval([5, 6, 7])", 1200],
    [30, "await (await model.engine()).complete('x', { nPredict: 1 })", 1400],
  ]) {
    const { code, out, err } = await child(`
      const model = await bittern.Model.load();
      const before = process.memoryUsage().rss;
      let most = 0;
      for (let i = 0; i < ${count}; ++i) {
        ${make};
        most = Math.max(most, process.memoryUsage().rss);
      }
      console.log((most - before) / 1e6);`);
    assert.equal(code, 0, err);
    assert.ok(Number(out) < least / 2, `${make}: ${out} MB more`);
  }
});

test('what is closed says so', async () => {
  const model = await Model.load();
  const sequence = await model.sequence();
  const engine = await model.engine();
  const sampler = new Sampler();
  const ids = await model.tokenize('A tern is');
  const generation = model.generate('A tern is', { nPredict: 5 });
  model.close();
  model.close();
  await sequence.eval(ids);  // keeps what it needs
  assert.equal((await sequence.complete({ nPredict: 3, ignoreEos: true })).ids.length, 3);
  assert.equal((await engine.complete(ids, { nPredict: 3, ignoreEos: true })).ids.length, 3);
  sequence.close();
  await engine.close();
  sampler.close();
  for (const [what, work] of Object.entries({
    generation: () => generation.result, info: () => model.info, vocabSize: () => model.vocabSize,
    metadata: () => model.metadata('x'), metadataKeys: () => model.metadataKeys(),
    tokenize: () => model.tokenize('x'), detokenize: () => model.detokenize([5]),
    tokenBytes: () => model.tokenBytes(5), tokenIsEnd: () => model.tokenIsEnd(5),
    applyTemplate: () => model.applyTemplate('x'), generate: () => model.generate('x').result,
    complete: () => model.complete('x'), chat: () => model.chat('x').result,
    completeChat: () => model.completeChat('x'), openai: () => model.createChatCompletion({ messages: 'x' }),
    logits: () => model.logits('x'), embedding: () => model.embedding('x'), sequence: () => model.sequence(),
    engine: () => model.engine(), certify: () => model.certify(),
    length: () => sequence.length(), tokens: () => sequence.tokens(), eval: () => sequence.eval([5]),
    setTokens: () => sequence.setTokens([5]), evalAll: () => sequence.evalAll([5]),
    sequenceLogits: () => sequence.logits(), hidden: () => sequence.hidden(),
    truncate: () => sequence.truncate(0), fork: () => sequence.fork(), save: () => sequence.save(),
    restore: () => sequence.restore(new Uint8Array(9)), sequenceGenerate: () => sequence.generate().result,
    sequenceComplete: () => sequence.complete(), engineComplete: () => engine.complete('x'),
    engineGenerate: () => engine.generate('x').result, stats: () => engine.stats(),
    accept: () => sampler.accept(5), sample: () => sampler.sample(new Float32Array(4)),
  })) {
    await assert.rejects(async () => work(), { name: 'BitternError', code: 'BITTERN_ERROR_HANDLE', message: /is closed/ }, what);
  }
});

test('closing in the middle of work ends it', async () => {
  const model = await Model.load();
  const sequence = await model.sequence();
  await sequence.eval(await model.tokenize('On the'));
  const generation = sequence.generate(ENDLESS);
  await generation.next();
  sequence.close();
  assert.equal((await generation.result).finishReason, 'cancelled');
  const other = model.generate('On the', ENDLESS);
  await other.next();
  model.close();  // the text goes on: it keeps what it needs
  await other.next();
  other.cancel();
  assert.equal((await other.result).finishReason, 'cancelled');
});
