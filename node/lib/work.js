// SPDX-License-Identifier: Apache-2.0
// Work that the addon does on a thread of its own, in its turn, and how it is ended early.
'use strict';

const { addon } = require('./addon.js');
const { STATUS, fail, shown, wrap } = require('./errors.js');
const { reword } = require('./settings.js');

/** One work at a time: the addon would wait, and with it the event loop. */
class Turn {
  #tail = Promise.resolve();

  take(work) {
    const done = this.#tail.then(work);
    this.#tail = done.catch(() => {});
    return done;
  }
}

function checkSignal(signal) {
  if (signal === undefined || signal === null) return null;
  if (typeof signal !== 'object' || typeof signal.aborted !== 'boolean' ||
      typeof signal.addEventListener !== 'function') {
    throw new TypeError(`signal: an AbortSignal expected, ${shown(signal)} found`);
  }
  return signal;
}

/**
 * start() begins the work and returns [promise, number] of the addon. `promise` is settled once the
 * work has ended: with its value, its error, or the signal's reason. cancel() ends it within one
 * layer of the network; where its turn has not come, it never begins.
 */
class Work {
  #number = null;
  #cancelled = false;
  #ended = false;
  #again = null;
  #signal;
  #words;  // errors name options as callers spell them
  #onAbort = () => this.cancel();
  #dropped;  // ends a work that waits for its turn

  constructor(start, { signal = null, turn = null, words = reword } = {}) {
    this.#words = words;
    this.#signal = signal;
    const dropped = new Promise((resolve) => { this.#dropped = resolve; });
    const begin = () => this.#run(start);
    const run = turn === null ? begin() : turn.take(begin);
    this.promise = this.#finish(turn === null ? run : Promise.race([run, dropped]));
    this.promise.catch(() => {});  // the caller may look at another promise
    signal?.addEventListener('abort', this.#onAbort);
    if (signal?.aborted) this.cancel();
  }

  cancel() {
    if (this.#ended) return;
    this.#cancelled = true;
    if (this.#number === null) {
      this.#dropped();
      return;
    }
    // A cancel that comes before the call that it is meant for has no effect: it is said again.
    addon.cancel(this.#number);
    this.#again ??= setInterval(() => addon.cancel(this.#number), 1);
  }

  async #run(start) {
    if (this.#cancelled || this.#signal?.aborted) return undefined;
    const [done, number] = start();
    this.#number = number;
    return done;
  }

  async #finish(run) {
    try {
      const value = await run;
      this.#signal?.throwIfAborted();
      if (this.#number === null) throw fail(STATUS.CANCELLED, 'cancelled');
      return value;
    } catch (error) {
      throw this.#signal?.aborted ? this.#signal.reason : wrap(error, this.#words);
    } finally {
      this.#ended = true;
      clearInterval(this.#again);
      this.#signal?.removeEventListener('abort', this.#onAbort);
    }
  }
}

/** Hands shares of progress to the caller's function; false from it, or an error, ends the work. */
class Progress {
  #tell;
  #work = null;
  #stopped = false;
  error = null;

  constructor(tell) {
    this.#tell = tell;
    this.listener = tell === null ? null : (done) => this.#take(done);
  }

  #take(done) {
    if (this.#stopped) return;
    try {
      this.#stopped = this.#tell(done) === false;
    } catch (error) {
      this.#stopped = true;
      this.error = { error };
    }
    if (this.#stopped) this.#work.cancel();
  }

  /**
   * The work's value, or what the caller's function has thrown. Work that ended before it heard of
   * the caller's false counts as cancelled, too: short work must not differ from long.
   */
  async of(work) {
    this.#work = work;
    let value;
    try {
      value = await work.promise;
    } catch (error) {
      throw this.error === null ? error : this.error.error;
    }
    if (this.error !== null) throw this.error.error;
    if (this.#stopped) throw fail(STATUS.CANCELLED, 'cancelled');
    return value;
  }
}

module.exports = { Progress, Turn, Work, checkSignal };
