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

/** {15043: 1.5, 318: false} as "15043+1.5" and "318-inf". */
function biasTexts(key, biases) {
  return Object.entries(biases).map(([token, bias]) => {
    if (bias !== false && typeof bias !== 'number') {
      throw new TypeError(`${key}: a number or false expected, ${shown(bias)} found`);
    }
    const added = bias === false ? -Infinity : bias;
    const text = String(Math.abs(added)).replace('Infinity', 'inf').replace('NaN', 'nan');
    return `${token}${added < 0 ? '-' : '+'}${text}`;
  });
}

/** The texts that say a value: one for each time that its key is set. */
function texts({ name, repeated }, key, value) {
  if (name === 'json_schema') return [schemaText(key, value)];
  if (name === 'logit_bias' && typeof value === 'object' && !Array.isArray(value)) return biasTexts(key, value);
  if (Array.isArray(value)) {
    if (name === 'samplers') return [value.map((one) => valueText(key, one)).join(';')];
    if (name === 'dry_sequence_breakers' && value.length === 0) return ['none'];
    if (repeated) return value.map((one) => valueText(key, one));
  }
  return [valueText(key, value)];
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
    for (const text of texts(row, key, value)) settings.push(row.name, text);
  }
  return { settings, rest };
}

/** True for the key of an option of this kind. */
function isOf(kind, key) {
  return byKey.get(key)?.kinds.includes(kind) ?? false;
}

module.exports = { isOf, options, reword, split };
