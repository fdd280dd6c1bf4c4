// SPDX-License-Identifier: Apache-2.0
// Tokens a second beside the command line's, in turn: no test, since machines are noisy.
//   BITTERN_PROGRAM=... BITTERN_PACKAGE=... node node/test/speed.mjs [MODEL [TOKENS [ROUNDS]]]
// The prompt is read before the clock starts, as the command line counts it.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Model, run } from './support.mjs';

const [path, tokens = '500', rounds = '7'] = process.argv.slice(2);
const PROMPT = 'On the';
const settings = { nPredict: Number(tokens), ignoreEos: true, temperature: 1, seed: 1 };
const model = await Model.load(path === undefined ? {} : { path });
const ids = await model.tokenize(PROMPT);

async function timed(work) {
  const warm = await model.sequence(); // threads that slept are placed anew: the command line's have just loaded
  await warm.eval(ids);
  await warm.complete({ ...settings, nPredict: 16 });
  warm.close();
  const sequence = await model.sequence();
  await sequence.eval(ids);
  const begin = performance.now();
  await work(sequence);
  const speed = (Number(tokens) * 1000) / (performance.now() - begin);
  sequence.close();
  return speed;
}

const WAYS = {
  // The second of two lines: the first one makes what a model makes once (the copy of its head).
  'command line': async () => {
    const folder = mkdtempSync(join(tmpdir(), 'speed-'));
    const line = (n) => JSON.stringify({ prompt: PROMPT, n_predict: n, ignore_eos: true, temperature: 1, seed: 1 });
    writeFileSync(join(folder, 'in'), `${line(16)}\n${line(Number(tokens))}\n`);
    const args = ['batch', join(folder, 'in'), '-o', join(folder, 'out'), '-np', '1', '--timings', '--quiet'];
    run(path === undefined ? args : [...args, '-m', path]);
    const speed = JSON.parse(readFileSync(join(folder, 'out'), 'utf8').split('\n')[1]).timings.predicted_per_second;
    rmSync(folder, { recursive: true });
    return speed;
  },
  'complete()': () => timed((sequence) => sequence.complete(settings)),
  'for await': () => timed(async (sequence) => {
    for await (const piece of sequence.generate(settings)) pieces += piece.length > 0 ? 1 : 0;
  }),
};
let pieces = 0;
const speeds = Object.fromEntries(Object.keys(WAYS).map((name) => [name, []]));
for (let i = 0; i < Number(rounds); ++i) {
  for (const [name, work] of Object.entries(WAYS)) speeds[name].push(await work());
}
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const base = median(speeds['command line']);
for (const [name, list] of Object.entries(speeds)) {
  const speed = median(list);
  console.log(`${name.padEnd(13)} ${speed.toFixed(1).padStart(8)} tokens/s  ${((speed / base - 1) * 100).toFixed(1).padStart(6)} %  (${Math.min(...list).toFixed(1)} to ${Math.max(...list).toFixed(1)})`);
}
console.log(`${(pieces / Number(rounds)).toFixed(0)} pieces a text`);
