// SPDX-License-Identifier: Apache-2.0
// Loads the addon that this package carries for the platform: prebuilds/PLATFORM-ARCH, or PLATFORM-ARCH-musl where
// Linux has that C library (Alpine).
'use strict';

const fs = require('node:fs');
const path = require('node:path');

/** Whether this process has musl in memory. */
function hasMusl() {
  try {
    return fs.readFileSync('/proc/self/maps', 'utf8').includes('/ld-musl-');
  } catch {
    return false;
  }
}

const name = `${process.platform}-${process.arch}${process.platform === 'linux' && hasMusl() ? '-musl' : ''}`;
const folder = path.join(__dirname, '..', 'prebuilds');
const file = path.join(folder, name, 'bittern.node');

if (!fs.existsSync(file)) {
  const held = fs.existsSync(folder) ? fs.readdirSync(folder).join(', ') : '';
  throw new Error(`bittern: this package has no addon for ${name} (it has: ${held || 'none'})`);
}

module.exports = { addon: require(file) };
