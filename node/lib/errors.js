// SPDX-License-Identifier: Apache-2.0
// The error of this package, and the checks of arguments that several files share. Values of a wrong
// type give a TypeError, values that cannot be used a BitternError.
'use strict';

const { fileURLToPath } = require('node:url');
const { types } = require('node:util');  // these know values of other realms, too

const { addon } = require('./addon.js');

const STATUS = { ARGUMENT: 1, NOT_FOUND: 2, MEMORY: 6, CANCELLED: 8, HANDLE: 10 };

/** Something failed. `code` is a name of bittern.h, `hint` what may help ("" if nothing). */
class BitternError extends Error {
  constructor(status, message, hint = '') {
    super(message);
    this.name = 'BitternError';
    this.code = addon.statusName(status);
    this.hint = hint;
  }
}

const fail = (status, message, hint) => new BitternError(status, message, hint);

/** What an error of the addon becomes for the caller. `reword` words its texts. */
function wrap(error, reword = (text) => text) {
  if (error instanceof BitternError || typeof error?.status !== 'number') return error;
  return fail(error.status, reword(error.message), reword(error.hint));
}

/** Calls a function of the addon that does not wait. */
function call(work) {
  try {
    return work();
  } catch (error) {
    throw wrap(error);
  }
}

/** How a value is shown in a message: short, and whatever it is. */
function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (typeof value === 'bigint') return `${value}n`;
  if (value === null || value === undefined) return String(value);
  if (typeof value === 'object') return Array.isArray(value) ? 'an array' : 'an object';
  return `a ${typeof value}`;
}

const SURROGATE = /\p{Surrogate}/u;  // with the u flag only lone ones match

/** `value` as a string that has an encoding in UTF-8. */
function text(value, name) {
  if (typeof value !== 'string') throw new TypeError(`${name}: a string expected, ${shown(value)} found`);
  if (SURROGATE.test(value)) {
    throw fail(STATUS.ARGUMENT, `${name}: a text of whole characters expected, half a surrogate pair found`);
  }
  return value;
}

/** The same for texts that go through C, where a zero ends them. */
function word(value, name) {
  if (text(value, name).includes('\0')) {
    throw fail(STATUS.ARGUMENT, `${name}: a text without zero characters expected`);
  }
  return value;
}

/** A text, or the bytes of one. */
function textOrBytes(value, name) {
  return types.isUint8Array(value) ? value : text(value, name);
}

/** A path: a string or a file: URL. */
function path(value, name) {
  if (typeof value === 'object' && value !== null && typeof value.href === 'string') {
    if (value.protocol !== 'file:') {
      throw fail(STATUS.ARGUMENT, `${name}: a path or a file: URL expected, ${value.protocol} found`);
    }
    return word(fileURLToPath(value), name);
  }
  return word(value, name);
}

/** Token ids: an Int32Array of its own. */
function ids(value, name) {
  if (!Array.isArray(value) && !types.isInt32Array(value)) {
    throw new TypeError(`${name}: an array of token ids expected, ${shown(value)} found`);
  }
  const copy = new Int32Array(value.length);
  for (let i = 0; i < copy.length; ++i) copy[i] = id(value[i], name);
  return copy;
}

function id(value, name) {
  if (typeof value !== 'number') throw new TypeError(`${name}: a token id expected, ${shown(value)} found`);
  if (!Number.isInteger(value) || value < -(2 ** 31) || value >= 2 ** 31) {
    throw fail(STATUS.ARGUMENT, `${name}: a token id expected, ${value} found`);
  }
  return value;
}

/** A prompt: a text, its bytes, or ids. */
function prompt(value) {
  return typeof value === 'string' || types.isUint8Array(value)
    ? textOrBytes(value, 'prompt') : ids(value, 'prompt');
}

/** A length of a sequence; `fallback` where there is none. */
function length(value, fallback) {
  if (value === undefined && fallback !== undefined) return fallback;
  if (typeof value !== 'number') throw new TypeError(`length: a number expected, ${shown(value)} found`);
  if (!Number.isSafeInteger(value) || value < 0) {
    throw fail(STATUS.ARGUMENT, `length: a whole number of 0 or more expected, ${value} found`);
  }
  return value;
}

/** An object of options; nothing counts as an empty one. */
function object(value, name) {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) {
    throw new TypeError(`${name}: an object expected, ${shown(value)} found`);
  }
  return value;
}

function isFunction(value, name) {
  if (value !== undefined && value !== null && typeof value !== 'function') {
    throw new TypeError(`${name}: a function expected, ${shown(value)} found`);
  }
  return value ?? null;
}

module.exports = {
  BitternError, STATUS, call, fail, id, ids, isFunction, length, object, path, prompt, shown, text,
  textOrBytes, word, wrap,
};
