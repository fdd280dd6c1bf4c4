// SPDX-License-Identifier: Apache-2.0
// A text that is being written: its pieces as they come, and all of it at the end.
'use strict';

const { STATUS, fail } = require('./errors.js');

/** What the addon gives for a whole text. */
function completion({ text, ids, json }) {
  const { finish_reason: finishReason, seed, drafted, accepted, logprobs, receipt } = JSON.parse(json);
  return { text, ids: Array.from(ids), finishReason, seed, drafted, accepted,
    ...(logprobs === undefined ? {} : { logprobs }), ...(receipt === undefined ? {} : { receipt }) };
}

const noPart = () => ({ text: '', ids: [] });

/**
 * An async iterable of pieces of text, each of whole characters. The text is begun when the first
 * piece or `result` is asked for; pieces that come faster than they are read, or than 250 a second, are
 * joined. Leaving the loop early ends it.
 */
class Generation {
  #begin;
  #work = null;
  #result = null;
  #part = noPart();  // that nobody has read
  #ended = false;
  #error = null;
  #changed = null;  // {promise, resolve} while somebody waits

  /** begin(listener) returns a Work. */
  constructor(begin) {
    this.#begin = begin;
  }

  /** All of the text, its ids, and why it ended. */
  get result() {
    this.#start();
    return this.#result;
  }

  /** Ends the text; `result` then has what was made until then, or is an error where that is nothing. */
  cancel() {
    this.#start();
    this.#work?.cancel();
  }

  #start() {
    if (this.#result !== null) return;
    try {
      this.#work = this.#begin((text, ids, told) => {
        this.#part.text += text;
        this.#part.ids.push(...ids);
        for (const { logprobs } of JSON.parse(`[${told}]`)) {
          if (logprobs !== undefined) (this.#part.logprobs ??= []).push(...logprobs);
        }
        this.#change();
      });
      this.#result = this.#work.promise.then(completion);
    } catch (error) {
      this.#result = Promise.reject(error);
    }
    this.#begin = null;
    this.#result.then(() => {}, (error) => { this.#error = { error }; }).then(() => {
      this.#ended = true;
      this.#change();
    });
  }

  #change() {
    this.#changed?.resolve();
    this.#changed = null;
  }

  #wait() {
    if (this.#changed === null) {
      let resolve;
      const promise = new Promise((take) => { resolve = take; });
      this.#changed = { promise, resolve };
    }
    return this.#changed.promise;
  }

  async next() {
    const { value, done } = await this.#next();
    return { value: value?.text, done };
  }

  /**
   * The same pieces with their tokens: {text, ids}, and logprobs where the setting asks for them. Read
   * either these or the texts alone.
   */
  parts() {
    return {
      next: () => this.#next(),
      return: (value) => this.return(value),
      [Symbol.asyncIterator]() { return this; },
    };
  }

  async #next() {
    this.#start();
    while (this.#part.text === '' && !this.#ended) await this.#wait();
    if (this.#part.text !== '') {
      const value = this.#part;
      this.#part = noPart();
      return { value, done: false };
    }
    if (this.#error !== null) {
      const { error } = this.#error;
      this.#error = null;  // told once
      throw error;
    }
    return { value: undefined, done: true };
  }

  async return(value) {
    if (this.#result === null) {  // never begun
      this.#result = Promise.reject(fail(STATUS.CANCELLED, 'cancelled'));
      this.#result.catch(() => {});
      this.#ended = true;
    }
    this.#work?.cancel();
    while (!this.#ended) await this.#wait();
    this.#part = noPart();
    this.#error = null;
    return { value, done: true };
  }

  [Symbol.asyncIterator]() {
    return this;
  }
}

module.exports = { Generation, completion };
