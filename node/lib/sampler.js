// SPDX-License-Identifier: Apache-2.0
// For programs that choose tokens themselves, from logits that they may change.
'use strict';

const { types } = require('node:util');

const { addon } = require('./addon.js');
const { STATUS, call, fail, id, shown, wrap } = require('./errors.js');
const { handleOf } = require('./model.js');
const { reword, split } = require('./settings.js');
const { uncloneable } = require('./uncloneable.js');

/**
 * A sampler with the settings of a generation that concern it. With a model it has its vocabulary and
 * recommendations, and obeys grammars: it chooses as the model's texts do.
 */
class Sampler {
  #handle;
  #closed = false;

  constructor(options, model = null) {
    uncloneable(this);
    const { settings } = split(options, ['generate'], [], 'a sampler');
    const handle = model === null ? null : handleOf(model);
    try {
      this.#handle = handle === null ? addon.samplerCreate(settings)
        : addon.samplerCreateFor(settings, handle);
    } catch (error) {
      throw wrap(error, reword);
    }
  }

  #open() {
    if (this.#closed) throw fail(STATUS.HANDLE, 'the sampler is closed');
    return this.#handle;
  }

  /** Tells it of a token in the text: those of the prompt, and each one that was chosen. */
  accept(token) {
    call(() => addon.samplerAccept(this.#open(), id(token, 'id')));
  }

  /** Chooses among logits. */
  sample(logits) {
    if (!types.isFloat32Array(logits)) {
      throw new TypeError(`logits: a Float32Array expected, ${shown(logits)} found`);
    }
    return call(() => addon.samplerSample(this.#open(), logits));
  }

  close() {
    if (this.#closed) return;
    this.#closed = true;
    addon.free(this.#handle);
  }

  [Symbol.dispose]() {
    this.close();
  }
}

module.exports = { Sampler };
