// SPDX-License-Identifier: Apache-2.0
// One package for several machines (tools/npm_package.py): what it says of them, which addon is chosen, what is refused.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { PACKAGE } from './support.mjs';

const TOOL = fileURLToPath(new URL('../../tools/npm_package.py', import.meta.url));
const HERE = `${process.platform}-${process.arch}`;
const OWN = path.join(PACKAGE, 'prebuilds', HERE, 'bittern.node');
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bittern-prebuilds-'));
after(() => fs.rmSync(folder, { recursive: true }));

/** The first bytes of addons for other machines. */
function heads() {
  const windows = Buffer.alloc(80);
  windows.write('MZ');
  windows.writeUInt32LE(64, 60);
  windows.write('PE\0\0', 64);
  windows.writeUInt16LE(0x8664, 68);
  const universal = Buffer.alloc(48);
  [0xcafebabe, 2, 0x01000007].forEach((word, i) => universal.writeUInt32BE(word, 4 * i));
  universal.writeUInt32BE(0x0100000c, 28);
  const arm = Buffer.alloc(20);
  arm.write('\x7fELF\x02\x01', 'latin1');
  arm.writeUInt16LE(183, 18);
  return Object.fromEntries(Object.entries({ windows, universal, arm }).map(([name, data]) => {
    const file = path.join(folder, name);
    fs.writeFileSync(file, data);
    return [name, file];
  }));
}
const { windows, universal, arm } = heads();

const pack = (...words) => {
  const out = path.join(folder, 'out');
  execFileSync('python3', [TOOL, PACKAGE, out, ...words], { stdio: 'pipe' });
  return [out, JSON.parse(fs.readFileSync(path.join(out, 'package.json')))];
};

test('a package for all desks says so and runs here', () => {
  const [out, said] = pack(`${HERE}=${OWN}`, `${HERE}-musl=${OWN}`,
    `linux-arm64=${process.arch === 'arm64' ? OWN : arm}`, `linux-arm64-musl=${arm}`, `darwin-arm64=${universal}`,
    `darwin-x64=${universal}`, `win32-x64=${windows}`);
  assert.deepEqual([said.os, said.cpu, said.libc], [['darwin', 'linux', 'win32'], ['arm64', 'x64'], undefined]);
  const own = JSON.parse(fs.readFileSync(path.join(PACKAGE, 'package.json')));
  assert.deepEqual([said.name, said.version, said.exports], [own.name, own.version, own.exports]);
  assert.equal(fs.readdirSync(path.join(out, 'prebuilds')).length, new Set([HERE, `${HERE}-musl`, 'linux-arm64',
    'linux-arm64-musl', 'darwin-arm64', 'darwin-x64', 'win32-x64']).size);
  const notices = fs.readFileSync(path.join(out, 'NOTICES'), 'utf8');
  for (const words of ['Princeton University', 'mingw-w64', 'musl']) assert.ok(notices.includes(words), words);
  assert.equal(createRequire(import.meta.url)(out).version, own.version);
});

test('a package for Linux alone names its C libraries', () => {
  assert.deepEqual(pack(`${HERE}=${OWN}`)[1].libc, ['glibc']);
  assert.deepEqual(pack(`${HERE}=${OWN}`, `${HERE}-musl=${OWN}`)[1].libc, ['glibc', 'musl']);
});

test('with musl in memory the addon for musl is chosen', () => {
  const [out] = pack(`${HERE}=${OWN}`);
  const script = `const fs = require('fs'); const read = fs.readFileSync;
    fs.readFileSync = (name, ...rest) => name === '/proc/self/maps' ? '7f00 r-xp /lib/ld-musl-x86_64.so.1' : read(name, ...rest);
    require(${JSON.stringify(out)})`;
  assert.match(spawnSync(process.execPath, ['-e', script], { encoding: 'utf8' }).stderr, new RegExp(`no addon for ${HERE}-musl \\(it has: ${HERE}\\)`));
});

test('an addon for another machine is refused', () => {
  assert.throws(() => pack(`win32-x64=${OWN}`), new RegExp(`for win32-x64 expected, ${HERE} found`));
  assert.throws(() => pack(OWN), /PLATFORM-ARCH=FILE expected/);
  assert.throws(() => pack(`darwin-arm64=${windows}`), /win32-x64 found/);
});
