// SPDX-License-Identifier: Apache-2.0
// The package as users get it: packed, installed without a network, typed; and what its pages say.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { PACKAGE, bittern, options } from './support.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TYPES = fileURLToPath(new URL('./types/', import.meta.url));
const hasNpm = (() => {
  try {
    execFileSync('npm', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
})();
const skip = hasNpm ? false : 'SKIPPED: no npm';

let folder;  // with the package installed, as far as there is npm
let tarball;

const npm = (args, cwd) => execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
const node = (args) => execFileSync(process.execPath, args, { cwd: folder, encoding: 'utf8' });

before(() => {
  folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bittern-'));
  if (!hasNpm) return;
  const [packed] = JSON.parse(npm(['pack', '--json', '--pack-destination', folder], PACKAGE));
  tarball = packed;
  npm(['install', '--offline', '--no-audit', '--no-fund', `./${packed.filename}`], folder);
});
after(() => fs.rmSync(folder, { recursive: true }));

test('the tarball installs offline and runs', { skip }, () => {
  const hello = "const m = await Model.load(); console.log((await m.complete('A tern is', { nPredict: 20, temperature: 0 })).text);";
  fs.writeFileSync(path.join(folder, 'hello.mjs'), `import { Model } from 'bittern'; ${hello}`);
  fs.writeFileSync(path.join(folder, 'hello.cjs'), `const { Model } = require('bittern'); (async () => { ${hello} })();`);
  fs.writeFileSync(path.join(folder, 'same.mjs'), `import { createRequire } from 'node:module'; import * as a from 'bittern';
    const b = createRequire(import.meta.url)('bittern');
    console.log(Object.keys(b).every((key) => a[key] === b[key]), Object.keys(a).length - Object.keys(b).length);`);
  const text = ' a small slender gull with narrow wings and a forked tail.\n';
  assert.equal(node(['hello.mjs']), text);
  assert.equal(node(['hello.cjs']), text);
  assert.equal(node(['same.mjs']), 'true 1\n');  // the default
});

test('the tarball has what it needs and nothing that runs at installation', { skip }, () => {
  const names = tarball.files.map((file) => file.path);
  assert.ok(names.includes(`prebuilds/${process.platform}-${process.arch}/bittern.node`));
  const notices = fs.readFileSync(path.join(PACKAGE, 'NOTICES'), 'utf8');
  assert.ok(names.includes('NOTICES') && notices.includes('Princeton University') && notices.includes('Unicode, Inc.'));
  for (const name of ['LICENSE', 'README.md', 'index.js', 'index.mjs', 'index.d.ts', 'index.d.mts']) assert.ok(names.includes(name), name);
  assert.ok(names.every((name) => !/test|\.cpp|\.gyp|CMake/.test(name)), names.join(' '));
  const description = JSON.parse(fs.readFileSync(path.join(folder, 'node_modules/bittern/package.json')));
  for (const key of ['scripts', 'dependencies', 'optionalDependencies', 'gypfile']) assert.equal(description[key], undefined, key);
  assert.equal(description.version, bittern.version);
  // npm refuses other machines than the addon is for.
  assert.deepEqual([description.os, description.cpu, description.libc], [['linux'], [process.arch], ['glibc']]);
});

test('the sources alone cannot be packed', { skip }, () => {
  const pack = () => execFileSync('npm', ['pack', '--dry-run'], { cwd: path.join(ROOT, 'node'), stdio: 'pipe' });
  assert.throws(pack, /no addon here/);
});

test('without an addon for the platform it says so', () => {
  const copy = path.join(folder, 'copy');
  fs.cpSync(PACKAGE, copy, { recursive: true, filter: (name) => !name.endsWith('.node') });
  fs.renameSync(path.join(copy, 'prebuilds', `${process.platform}-${process.arch}`), path.join(copy, 'prebuilds', 'plan9-mips'));
  assert.throws(() => createRequire(import.meta.url)(copy), /no addon for [a-z0-9]+-[a-z0-9]+ \(it has: plan9-mips\)/);
});

/** TypeScript, or why there is none. */
function typescript() {
  if (!hasNpm) return 'SKIPPED: no npm';
  if (!fs.existsSync(path.join(TYPES, 'node_modules/typescript'))) {
    try {
      npm(['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--fetch-retries=1'], TYPES);
    } catch (error) {
      // A damaged package or lock file is a failure, not an absence.
      const code = /npm error code (\S+)/.exec(error.stderr)?.[1] ?? '';
      if (!/^(E40[134]|E5..|ENOTFOUND|EAI_AGAIN|ECONN.*|ETIMEDOUT|E(NET|HOST)UNREACH|)$/.test(code)) throw error;
      return `SKIPPED: TypeScript cannot be installed (${code})`;
    }
  }
  return createRequire(path.join(TYPES, 'package.json'))('typescript');
}
const ts = typescript();
const skipTypes = typeof ts === 'string' ? ts : false;

test('the types accept what they should and refuse the rest', { skip: skipTypes }, () => {
  for (const name of ['use.mts', 'use.cts']) fs.copyFileSync(path.join(TYPES, name), path.join(folder, name));
  const args = ['--noEmit', '--strict', '--noUncheckedIndexedAccess', '--target', 'es2022', '--module', 'node16',
    '--lib', 'esnext,dom,dom.iterable', 'use.mts', 'use.cts'];
  try {
    node([path.join(TYPES, 'node_modules/typescript/bin/tsc'), ...args]);
  } catch (error) {
    assert.fail(error.stdout);
  }
});

test('the types name all that is there and nothing else', { skip: skipTypes }, () => {
  const file = path.join(PACKAGE, 'index.d.ts');
  const source = ts.createSourceFile(file, fs.readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const classes = new Map();
  const settings = new Set();
  const exported = new Set();
  for (const statement of source.statements) {
    const name = statement.name?.text ?? statement.declarationList?.declarations[0].name.text;
    if (!ts.isInterfaceDeclaration(statement) && !ts.isTypeAliasDeclaration(statement)) exported.add(name);
    const members = (statement.members ?? []).filter((member) => member.name !== undefined)
      .map((member) => member.name.getText(source).replace(/^\[(.*)\]$/, '$1'));
    if (ts.isClassDeclaration(statement)) classes.set(name, new Set(members));
    if (ts.isInterfaceDeclaration(statement) && /Settings$/.test(name)) members.forEach((member) => settings.add(member));
  }
  assert.deepEqual([...exported].sort(), Object.keys(bittern).sort());
  assert.deepEqual([...settings].sort(), options().map(({ key }) => key).sort());
  const word = (key) => (typeof key === 'symbol' ? key.description : key);
  for (const [name, members] of classes) {
    if (name === 'BitternError') continue;  // its fields are its own
    const type = bittern[name];
    const there = [...Reflect.ownKeys(type.prototype), ...(name === 'Model' ? ['fromPretrained', 'load'] : [])].filter((key) => key !== 'constructor');
    const own = (key) => key.replace(/^Symbol\.(\w+)$/, (text) => word(Symbol[text.slice(7)]) ?? text);
    assert.deepEqual(there.map(word).sort(), [...members].map(own).sort(), name);
  }
});

/** Blocks of a page: `language` as it stands behind the fence. */
function blocks(page, language) {
  const text = fs.readFileSync(path.join(ROOT, page), 'utf8');
  return [...text.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, block]) => block);
}

test('the pages\' programs print what the pages say', { skip }, () => {
  for (const page of ['node/README.md', 'docs/embedding.md']) {
    const programs = blocks(page, 'js');
    assert.ok(programs.length > 0, page);
    for (const program of programs) {
      fs.writeFileSync(path.join(folder, 'page.mjs'), program);
      const said = [...program.matchAll(/\/\/ (?:prints )?"(.*)"$/gm)].map(([, line]) => line);
      const printed = node(['page.mjs']);
      for (const line of said) assert.ok(printed.includes(line), `${page}: ${line}\n${printed}`);
    }
  }
  const [transcript] = blocks('node/README.md', 'console');
  const [, command, expected] = /\$ (node hello\.mjs)\n(.*)/s.exec(transcript);
  fs.writeFileSync(path.join(folder, 'hello.mjs'), blocks('node/README.md', 'js')[0]);
  assert.equal(node(command.split(' ').slice(1)), expected);
});
