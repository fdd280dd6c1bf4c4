// SPDX-License-Identifier: Apache-2.0
// The door of the package for require(); index.mjs is the same for import, index.d.ts describes it.
'use strict';

const { addon } = require('./lib/addon.js');
const { BitternError } = require('./lib/errors.js');
const { options } = require('./lib/settings.js');
const { Engine } = require('./lib/engine.js');
const { Generation } = require('./lib/generation.js');
const { Model, convert, doctor, inspect, pull, setLog } = require('./lib/model.js');
const { Sampler } = require('./lib/sampler.js');
const { Sequence } = require('./lib/sequence.js');

module.exports = {
  BitternError, Engine, Generation, Model, Sampler, Sequence, convert, doctor, inspect, options, pull, setLog,
  version: addon.version(),
};
