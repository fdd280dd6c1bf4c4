// SPDX-License-Identifier: Apache-2.0
// Many requests at the same time on one model.
'use strict';

const { addon } = require('./addon.js');
const { STATUS, fail, isFunction, object, prompt } = require('./errors.js');
const { Generation, completion } = require('./generation.js');
const { split } = require('./settings.js');
const { uncloneable } = require('./uncloneable.js');
const { Work, checkSignal } = require('./work.js');

const PRIVATE = Symbol('made by this package');
let answerOf;  // (engine, body, settings, signal): begin(listener) of a Generation

/** Runs requests together. A request's text does not depend on others. */
class Engine {
  #handle;
  #model;
  #requests = new Set();
  #closed = null;

  constructor(secret, handle, model) {
    if (secret !== PRIVATE) throw new TypeError('model.engine() makes engines');
    uncloneable(this);
    this.#handle = handle;
    this.#model = model;
  }

  static [PRIVATE](handle, model) {
    return new Engine(PRIVATE, handle, model);
  }

  #open() {
    if (this.#closed !== null) throw fail(STATUS.HANDLE, 'the engine is closed');
  }

  #request(given, options) {
    this.#open();
    const text = prompt(given);
    const { settings, rest } = split(options, ['generate'], ['signal'], 'a request');
    const signal = checkSignal(rest.signal);
    return (listener) => this.#start(
      () => addon.engineSubmit(this.#handle, this.#model, text, settings, listener), signal);
  }

  /** Continues a prompt: pieces as they come. */
  generate(given, options) {
    return new Generation(this.#request(given, options));
  }

  /** Continues a prompt: all of the text. */
  async complete(given, options) {
    return completion(await this.#request(given, options)(null).promise);
  }

  /** A request as the server takes it: an object with "messages" or "prompt". The answer is one, too. */
  async answer(body, options) {
    const { settings, rest } = split(options, ['generate'], ['signal', 'onText'], 'a request');
    const onText = isFunction(rest.onText, 'onText') ?? null;
    const listener = onText && ((piece) => onText(piece));
    return JSON.parse((await this.#answer(body, settings, rest.signal)(listener).promise).json);
  }

  static {
    answerOf = (engine, ...given) => engine.#answer(...given);
  }

  #answer(body, settings, given) {
    this.#open();
    const text = JSON.stringify(object(body, 'request'));
    const signal = checkSignal(given);
    return (listener) => this.#start(
      () => addon.engineAnswer(this.#handle, text, settings, listener), signal, (words) => words);
  }

  #start(begin, signal, words) {
    this.#open();
    const work = new Work(begin, { signal, words });
    const remove = () => this.#requests.delete(work);
    this.#requests.add(work);
    work.promise.then(remove, remove);
    return work;
  }

  /** Steps, running and waiting requests, pages, and the prefix cache. */
  async stats() {
    this.#open();
    const json = JSON.parse(await new Work(() => addon.engineStats(this.#handle)).promise);
    return Object.fromEntries(Object.entries(json).map(([key, value]) => [
      key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase()), value]));
  }

  /** Ends what has not ended and gives the memory back, once that is done. */
  close() {
    this.#closed ??= (async () => {
      while (this.#requests.size > 0) {
        for (const work of this.#requests) work.cancel();
        await Promise.allSettled([...this.#requests].map((work) => work.promise));
      }
      addon.free(this.#handle);
    })();
    return this.#closed;
  }

  [Symbol.asyncDispose]() {
    return this.close();
  }
}

module.exports = { answerOf, Engine, newEngine: (handle, model) => Engine[PRIVATE](handle, model) };
