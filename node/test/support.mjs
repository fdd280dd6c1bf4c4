// SPDX-License-Identifier: Apache-2.0
// What the tests share. Environment: BITTERN_PROGRAM, the command line; BITTERN_PACKAGE, the folder
// of the package as `npm pack` takes it.
import { execFileSync, spawn } from 'node:child_process';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

export const PROGRAM = process.env.BITTERN_PROGRAM;
export const PACKAGE = process.env.BITTERN_PACKAGE;
if (!PROGRAM || !PACKAGE) throw new Error('BITTERN_PROGRAM and BITTERN_PACKAGE expected; run.sh sets them');
export const ENTRY = pathToFileURL(path.join(PACKAGE, 'index.mjs')).href;
export const MODELS = fileURLToPath(new URL('../../models/', import.meta.url));

export const bittern = (await import(ENTRY)).default;
export const {
  BitternError, Engine, Generation, Model, Sampler, Sequence, convert, doctor, inspect, options, pull, setLog,
} = bittern;

/** Standard output of the command line. */
export function run(args, input) {
  return execFileSync(PROGRAM, args, { input, encoding: 'utf8', stdio: ['pipe', 'pipe', 'ignore'] });
}

export async function join(pieces) {
  let text = '';
  for await (const piece of pieces) text += piece;
  return text;
}

export const sleep = (ms) => new Promise((done) => { setTimeout(done, ms); });

/** Runs a module in a process of its own: {code, signal, out, err}. `bittern` is imported for it. */
export async function child(source, flags = []) {
  const started = spawn(process.execPath, [...flags, '--input-type=module', '-e',
    `import bittern from ${JSON.stringify(ENTRY)};\n${source}`]);
  let out = '';
  let err = '';
  started.stdout.on('data', (data) => { out += data; });
  started.stderr.on('data', (data) => { err += data; });
  return new Promise((done, fail) => {
    started.on('error', fail);
    started.on('close', (code, signal) => done({ code, signal, out, err }));
  });
}

/** Endless, as far as the context goes. */
export const ENDLESS = { nPredict: -1, ignoreEos: true, temperature: 1, seed: 1, speculation: 'off' };
