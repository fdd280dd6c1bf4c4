// SPDX-License-Identifier: Apache-2.0
// Settings: the library's keys (n_predict) as JavaScript spells them (nPredict), and their values as
// the texts that the library takes and checks.
'use strict';

const { addon } = require('./addon.js');
const { STATUS, fail, object, shown, word } = require('./errors.js');

const rows = JSON.parse(addon.describe()).map((row) => ({
  ...row,
  key: row.key.replace(/_([a-z0-9])/g, (_, letter) => letter.toUpperCase()),
  name: row.key,
}));
const byKey = new Map(rows.map((row) => [row.key, row]));

/** All settings: [{key, kinds, value, default, repeated, description}]. */
function options() {
  return rows.map(({ name, ...row }) => ({ ...row, kinds: [...row.kinds] }));
}

/** A message of the library with the keys as they are spelt here. */
function reword(message) {
  return rows.reduce((text, { key, name }) => (key === name
    ? text
    : text.replaceAll(new RegExp(`\\b${name}\\b(?=[:=])`, 'g'), key)), message);
}

function valueText(key, value) {
  switch (typeof value) {
    case 'string': return word(value, key);
    case 'number':
    case 'bigint': return String(value);
    case 'boolean': return value ? 'on' : 'off';
    default: throw new TypeError(`${key}: a string, number or boolean expected, ${shown(value)} found`);
  }
}

/** A schema may be given as an object or as its text. */
function schemaText(key, value) {
  if (value === null || (typeof value !== 'object' && typeof value !== 'boolean')) return valueText(key, value);
  const made = JSON.stringify(value);
  if (made === undefined) throw new TypeError(`${key}: a JSON schema expected`);
  return valueText(key, made);
}

/**
 * Splits the caller's options: `settings` are keys and values in turn, of the kinds that are wanted;
 * `rest` has those of `others`. Whatever else is there is refused.
 */
function split(given, kinds, others, what) {
  const settings = [];
  const rest = {};
  for (const [key, value] of Object.entries(object(given, 'options'))) {
    if (others.includes(key)) {
      rest[key] = value;
      continue;
    }
    const row = byKey.get(key);
    if (row === undefined) {
      throw fail(STATUS.NOT_FOUND, `there is no option ${shown(key)}`, 'options() lists them');
    }
    if (!row.kinds.some((kind) => kinds.includes(kind))) {
      throw fail(STATUS.ARGUMENT, `${key}: ${what} has no such option`);
    }
    if (value === undefined || value === null) continue;
    const toText = row.name === 'json_schema' ? schemaText : valueText;
    const values = row.repeated && Array.isArray(value) ? value : [value];
    for (const one of values) settings.push(row.name, toText(key, one));
  }
  return { settings, rest };
}

module.exports = { options, reword, split };
