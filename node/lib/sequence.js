// SPDX-License-Identifier: Apache-2.0
// A text being read and made, token by token.
'use strict';

const { types } = require('node:util');

const { addon } = require('./addon.js');
const { STATUS, call, fail, ids, length, shown } = require('./errors.js');
const { Generation, completion } = require('./generation.js');
const { split } = require('./settings.js');
const { uncloneable } = require('./uncloneable.js');
const { Turn, Work, checkSignal } = require('./work.js');

const PRIVATE = Symbol('made by this package');

/**
 * Holds tokens with their keys and values. Forks share memory with it. Calls of a sequence and its
 * forks are done one after the other, in the order in which they are made.
 */
class Sequence {
  #handle;
  #turn;
  #running = new Set();
  #closed = false;

  constructor(secret, handle, turn) {
    if (secret !== PRIVATE) throw new TypeError('model.sequence() makes sequences');
    uncloneable(this);
    this.#handle = handle;
    this.#turn = turn;
  }

  static [PRIVATE](handle) {
    return new Sequence(PRIVATE, handle, new Turn());
  }

  #open() {
    if (this.#closed) throw fail(STATUS.HANDLE, 'the sequence is closed');
    return this.#handle;
  }

  /** A call that is done by the addon's own thread. */
  #work(start, options = {}) {
    this.#open();
    const { signal, ...none } = options;
    for (const key of Object.keys(none)) throw fail(STATUS.NOT_FOUND, `there is no option ${shown(key)}`);
    return this.#add(new Work(() => start(this.#handle), { signal: checkSignal(signal), turn: this.#turn }));
  }

  #add(work) {
    const remove = () => this.#running.delete(work);
    this.#running.add(work);
    work.promise.then(remove, remove);
    return work;
  }

  /** A call that takes a moment. */
  #moment(take) {
    this.#open();
    return this.#turn.take(() => call(() => take(this.#handle)));
  }

  /** Number of tokens held. */
  async length() {
    return this.#moment((handle) => addon.sequenceLength(handle));
  }

  /** The ids held. */
  async tokens() {
    return this.#moment((handle) => Array.from(addon.sequenceTokens(handle)));
  }

  /** Reads ids behind those that are held. */
  async eval(tokens, options) {
    const list = ids(tokens, 'ids');
    await this.#work((handle) => addon.sequenceEval(handle, list), options).promise;
  }

  /** Makes the sequence hold exactly these ids; what it holds already is not read again. */
  async setTokens(tokens, options) {
    const list = ids(tokens, 'ids');
    await this.#work((handle) => addon.sequenceSetTokens(handle, list), options).promise;
  }

  /** Reads ids and gives the logits of each. */
  async evalAll(tokens, options) {
    const list = ids(tokens, 'ids');
    return this.#work((handle) => addon.sequenceEvalAll(handle, list), options).promise;
  }

  /** Reads ids and gives the hidden state of each after the final norm. */
  async evalHidden(tokens, options) {
    const list = ids(tokens, 'ids');
    return this.#work((handle) => addon.sequenceEvalHidden(handle, list), options).promise;
  }

  /** The logits of the last position: a copy. */
  async logits() {
    return this.#work((handle) => addon.sequenceLogits(handle)).promise;
  }

  /** The last position's hidden state after the final norm. Needs {hidden: true} at the beginning. */
  async hidden() {
    return this.#work((handle) => addon.sequenceHidden(handle)).promise;
  }

  /** Forgets what lies behind the first `count` tokens. */
  async truncate(count) {
    const kept = length(count);
    await this.#moment((handle) => addon.sequenceTruncate(handle, kept));
  }

  /** Another sequence with the first `count` tokens, or all of them. */
  async fork(count) {
    const kept = length(count, null);
    const handle = await this.#moment((own) => addon.sequenceFork(
      own, kept === null ? addon.sequenceLength(own) : kept));
    return new Sequence(PRIVATE, handle, this.#turn);
  }

  /** The state as bytes, to go on with in another process. */
  async save() {
    return this.#work((handle) => addon.sequenceSave(handle)).promise;
  }

  /** Takes a saved state in place of what is held. */
  async restore(state) {
    if (!types.isUint8Array(state)) {
      throw new TypeError(`state: a Uint8Array expected, ${shown(state)} found`);
    }
    const copy = Uint8Array.from(state);
    await this.#work((handle) => addon.sequenceRestore(handle, copy)).promise;
  }

  #generate(options) {
    const { settings, rest } = split(options, ['generate'], ['signal'], 'a sequence');
    const signal = checkSignal(rest.signal);
    this.#open();
    return (listener) => {
      this.#open();
      return this.#add(new Work(() => addon.sequenceGenerate(this.#handle, settings, listener),
        { signal, turn: this.#turn }));
    };
  }

  /** Continues the text: pieces as they come. */
  generate(options) {
    return new Generation(this.#generate(options));
  }

  /** Continues the text: all of it. */
  async complete(options) {
    return completion(await this.#generate(options)(null).promise);
  }

  /** Ends the calls of this sequence that run or wait. */
  cancel() {
    for (const work of this.#running) work.cancel();
  }

  /** Ends what runs and gives the memory back. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    this.cancel();
    this.#turn.take(() => addon.free(this.#handle));
  }

  [Symbol.dispose]() {
    this.close();
  }
}

module.exports = { Sequence, newSequence: (handle) => Sequence[PRIVATE](handle) };
