// SPDX-License-Identifier: Apache-2.0
// A model with its tokenizer, and the short ways to use it.
'use strict';

const crypto = require('node:crypto');
const os = require('node:os');
const path = require('node:path');
const { types } = require('node:util');

const { addon } = require('./addon.js');
const check = require('./errors.js');
const { answerOf, newEngine } = require('./engine.js');
const { Generation, completion } = require('./generation.js');
const { newSequence } = require('./sequence.js');
const { isOf, split } = require('./settings.js');
const { uncloneable } = require('./uncloneable.js');
const { Progress, Work, checkSignal } = require('./work.js');

const { STATUS, call, fail, shown, text } = check;
const PRIVATE = Symbol('made by this package');
const SHARED_SEQUENCES = 8;  // conversations that are answered at the same time; more wait

/** Where the command line keeps which layout of weights is faster on this machine. */
function layoutCache() {
  const folder = process.env.XDG_CACHE_HOME || path.join(os.homedir(), '.cache');
  return path.isAbsolute(folder) ? path.join(folder, 'bittern', 'layouts.json') : undefined;
}

/** Messages as the library reads them: JSON. */
function conversation(messages) {
  if (typeof messages === 'string') return conversation([{ role: 'user', content: messages }]);
  if (messages === null || typeof messages !== 'object') {
    throw new TypeError(`messages: an array, an object or a string expected, ${shown(messages)} found`);
  }
  const json = JSON.stringify(messages);  // lone surrogates come out escaped
  if (json === undefined) throw new TypeError('messages: something that JSON can say expected');
  return json;
}

function flag(value, name, fallback) {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new TypeError(`${name}: true or false expected, ${shown(value)} found`);
  return value;
}

/** Options that are no settings: refuses the others. */
function only(options, names) {
  return split(options, [], names, 'this call').rest;
}

/** A GGUF file, a Hugging Face folder, or the small built-in model; never changed. */
class Model {
  #handle;
  #closed = false;
  #shared = null;  // a promise of an engine, while some conversation is being answered
  #users = 0;

  constructor(secret, handle) {
    if (secret !== PRIVATE) throw new TypeError('Model.load() makes models');
    uncloneable(this);
    this.#handle = handle;
  }

  /** Loads {path}, {data: bytes of a GGUF file, name}, or without both the built-in model. */
  static async load(options) {
    const { settings, rest } = split(options, ['model'], ['path', 'data', 'name', 'progress', 'signal'],
      'Model.load');
    const progress = new Progress(check.isFunction(rest.progress, 'progress'));
    const signal = checkSignal(rest.signal);
    let source = null;
    let name = null;
    if (rest.data !== undefined && rest.data !== null) {
      if (!types.isUint8Array(rest.data)) {
        throw new TypeError(`data: a Uint8Array expected, ${shown(rest.data)} found`);
      }
      source = rest.data;
      name = check.word(rest.name ?? 'memory', 'name');
      if (rest.path !== undefined) throw fail(STATUS.ARGUMENT, 'one of path and data expected, two found');
    } else if (rest.path !== undefined && rest.path !== null) {
      source = check.path(rest.path, 'path');
    }
    const cache = layoutCache();
    if (cache !== undefined && !settings.includes('layout_cache')) settings.push('layout_cache', cache);
    const work = new Work(() => addon.load(source, name, settings, progress.listener), { signal });
    return new Model(PRIVATE, await progress.of(work));
  }

  /** The model of a name, as pull() takes it: from the cache, or downloaded where it is not there. */
  static async fromPretrained(name, options) {
    const ofPull = { update: false };
    const ofLoad = {};
    for (const [key, value] of Object.entries(check.object(options, 'options'))) {
      if (key !== 'progress' && key !== 'signal' && isOf('pull', key)) {
        ofPull[key] = value;
      } else {
        ofLoad[key] = value;
      }
    }
    const { progress, signal } = ofLoad;
    const file = await pull(name, { ...ofPull, progress, signal });
    return Model.load({ ...ofLoad, path: file });
  }

  /** The addon's handle. Error: the model is closed, or is none. */
  static [PRIVATE](model) {
    if (!(model instanceof Model)) throw new TypeError(`model: a Model expected, ${shown(model)} found`);
    return model.#open();
  }

  #open() {
    if (this.#closed) throw fail(STATUS.HANDLE, 'the model is closed');
    return this.#handle;
  }

  #number(name) {
    return call(() => addon.modelNumber(this.#open(), name));
  }

  // -- what is known -------------------------------------------------------------------------------

  /** Path, architecture, sizes and decisions. */
  get info() {
    const { load_s: loadSeconds, ...info } = JSON.parse(call(() => addon.modelInfo(this.#open())));
    return { ...info, loadSeconds };
  }

  get vocabSize() { return this.#number('vocab_size'); }
  get contextLength() { return this.#number('context_length'); }
  get hiddenSize() { return this.#number('hidden_size'); }
  get numLayers() { return this.#number('num_layers'); }
  get bosId() { return this.#number('bos_id'); }
  get eosId() { return this.#number('eos_id'); }
  get addsBos() { return this.#number('adds_bos') === 1; }

  /** A metadata value of the file. */
  metadata(key) {
    return JSON.parse(call(() => addon.metadata(this.#open(), check.word(key, 'key')))).value;
  }

  /** The file's metadata keys, in its order. */
  metadataKeys() {
    return call(() => addon.metadataKeys(this.#open()));
  }

  // -- tokens --------------------------------------------------------------------------------------

  /**
   * The ids of a text: with BOS where the model wants one; `special` reads special tokens as such; `eos`:
   * with EOS where the model wants one.
   */
  async tokenize(given, options) {
    const { bos, special, eos } = only(options, ['bos', 'special', 'eos']);
    const flags =
      (flag(bos, 'bos', true) ? 1 : 0) | (flag(special, 'special', false) ? 2 : 0) | (flag(eos, 'eos', false) ? 4 : 0);
    const source = check.textOrBytes(given, 'text');
    return Array.from(await this.#do((handle) => addon.tokenize(handle, source, flags)));
  }

  /** The text of ids. */
  async detokenize(ids, options) {
    const flags = flag(only(options, ['special']).special, 'special', false) ? 1 : 0;
    const list = check.ids(ids, 'ids');
    return this.#do((handle) => addon.detokenize(handle, list, flags));
  }

  /** The bytes of one token: parts of characters are possible. */
  tokenBytes(id) {
    return call(() => addon.tokenBytes(this.#open(), check.id(id, 'id')));
  }

  /** Whether a token ends what the model says. */
  tokenIsEnd(id) {
    return call(() => addon.tokenIsEnd(this.#open(), check.id(id, 'id')));
  }

  /** A conversation as the model reads it: {text, ids}. */
  async applyTemplate(messages, options) {
    const { chatTemplate = null } = only(options, ['chatTemplate']);
    const json = conversation(messages);
    const source = chatTemplate === null ? null : check.word(chatTemplate, 'chatTemplate');
    const result = await this.#do((handle) => addon.applyTemplate(handle, json, source));
    return { text: result.text, ids: Array.from(result.ids) };
  }

  #do(start) {
    const handle = this.#open();
    return new Work(() => start(handle)).promise;
  }

  // -- texts ---------------------------------------------------------------------------------------

  #request(given, options) {
    this.#open();
    const source = check.prompt(given);
    const { settings, rest } = split(options, ['sequence', 'generate'], ['signal'], 'a text');
    const signal = checkSignal(rest.signal);
    return (listener) => new Work(
      () => addon.generate(this.#open(), source, settings, listener), { signal });
  }

  /** Continues a prompt (a text or ids): pieces as they come. */
  generate(given, options) {
    return new Generation(this.#request(given, options));
  }

  /** Continues a prompt: all of the text. */
  async complete(given, options) {
    return completion(await this.#request(given, options)(null).promise);
  }

  /** The reply to a conversation: pieces as they come. */
  chat(messages, options) {
    return new Generation(this.#chat(messages, options));
  }

  /** The reply to a conversation: all of it. */
  async completeChat(messages, options) {
    return completion(await this.#chat(messages, options)(null).promise);
  }

  #chat(messages, options) {
    const { chatTemplate = null, ...rest } = check.object(options, 'options');
    const json = conversation(messages);
    const source = chatTemplate === null ? null : check.word(chatTemplate, 'chatTemplate');
    this.#request([], rest);  // wrong options are told before the work
    return (listener) => {
      let inner = null;
      let cancelled = false;
      const promise = (async () => {
        const { ids } = await this.#do((handle) => addon.applyTemplate(handle, json, source));
        inner = this.#request(ids, rest)(listener);
        if (cancelled) inner.cancel();
        return inner.promise;
      })();
      promise.catch(() => {});
      return { promise, cancel() { cancelled = true; inner?.cancel(); } };
    };
  }

  /** completeChat() and chat() in the shape of OpenAI's answers. */
  async createChatCompletion(request) {
    const { messages, stream = false, signal, ...rest } = check.object(request, 'request');
    const streamed = flag(stream, 'stream', false);
    const said = JSON.parse(conversation(messages));
    const body = { max_tokens: -1, ...(Array.isArray(said) ? { messages: said } : said), ...rest };
    const { name, path: file } = this.info;
    const head = {
      id: `chatcmpl-${crypto.randomBytes(12).toString('hex')}`,
      created: Math.floor(Date.now() / 1000),
      model: name || file,
    };
    checkSignal(signal);
    if (streamed) return chunks(head, () => this.#share(), () => this.#unshare(), body, signal);
    const engine = await this.#share();
    try {
      const answer = JSON.parse((await answerOf(engine, body, [], signal)(null).promise).json);
      const choices = answer.choices ?? [answer];
      const used = choices.reduce((sum, choice) => sum + choice.ids.length, 0);
      return {
        ...head,
        object: 'chat.completion',
        choices: choices.map((choice, index) => ({
          index,
          finish_reason: openaiReason(choice),
          message: { role: 'assistant', content: choice.text, ...(choice.tool_calls?.length ? { tool_calls: choice.tool_calls } : {}) },
          ...(choice.logprobs ? { logprobs: choice.logprobs } : {}),
        })),
        usage: {
          prompt_tokens: answer.prompt_tokens,
          completion_tokens: used,
          total_tokens: answer.prompt_tokens + used,
        },
      };
    } finally {
      this.#unshare();
    }
  }

  /** The engine of all conversations that are being answered. Each #share() has its #unshare(). */
  async #share() {
    ++this.#users;
    try {
      this.#shared ??= this.engine({ maxSequences: SHARED_SEQUENCES });
      return await this.#shared;
    } catch (error) {
      this.#unshare();
      throw error;
    }
  }

  /** The last one gives the engine's memory and threads back. */
  #unshare() {
    if (--this.#users > 0) return;
    const shared = this.#shared;
    this.#shared = null;
    shared.then((engine) => engine.close(), () => {});
  }

  /** The logits after a prompt. For those of growing texts, use a sequence. */
  async logits(given, options) {
    return this.#last(given, options, {}, (sequence) => sequence.logits());
  }

  /** A text as one vector: hidden states after the final norm, pooled ({pooling, normalize}). */
  async embedding(given, options) {
    const { settings, rest } = split(options, ['embed', 'sequence'], ['signal'], 'an embedding');
    const signal = checkSignal(rest.signal);
    const source = check.prompt(given);
    const ids = types.isInt32Array(source) ? source : await this.tokenize(source, { eos: true });
    const handle = this.#open();
    return new Work(() => addon.embed(handle, check.ids(ids, 'ids'), settings), { signal }).promise;
  }

  /**
   * What each operation computes for a prompt: a line each, for its last token. `folder` gets the trace
   * of all tokens, as `bittern trace --dump` writes it.
   */
  async trace(given, options) {
    const { settings, rest } = split(options, ['trace', 'sequence'], ['folder', 'signal'], 'a trace');
    const signal = checkSignal(rest.signal);
    const folder = rest.folder === undefined ? '' : check.path(rest.folder, 'folder');
    const source = check.prompt(given);
    const ids = types.isInt32Array(source) ? source : await this.tokenize(source);
    const handle = this.#open();
    return new Work(() => addon.trace(handle, check.ids(ids, 'ids'), folder, settings), { signal }).promise;
  }

  /** The calls of functions in a text that the model has made: {text, toolCalls}. */
  parseAnswer(text) {
    const { text: content, json } = call(() => addon.parseAnswer(this.#open(), check.textOrBytes(text, 'text')));
    return { text: content, toolCalls: JSON.parse(json).tool_calls };
  }

  /** Perplexity of a text, and more. */
  async scoreText(text, options) {
    return this.#score(addon.scoreText, check.textOrBytes(text, 'text'), options);
  }

  /** The share of multiple-choice questions (a JSON object a line) that it answers rightly. */
  async scoreChoices(lines, options) {
    return this.#score(addon.scoreChoices, check.textOrBytes(lines, 'lines'), options);
  }

  async #score(score, source, options) {
    const { settings, rest } = split(options, ['score', 'sequence'], ['progress', 'signal'], 'a score');
    const progress = new Progress(check.isFunction(rest.progress, 'progress'));
    const signal = checkSignal(rest.signal);
    const handle = this.#open();
    return JSON.parse(await progress.of(
      new Work(() => score(handle, source, settings, progress.listener), { signal })));
  }

  /** Replays the answers that receipts stand for (a text or an object that holds some): {identical, what}. */
  async verify(receipts) {
    const source = receipts !== null && typeof receipts === 'object' && !types.isUint8Array(receipts)
      ? JSON.stringify(receipts) : receipts;
    const text = check.textOrBytes(source, 'receipts');
    const handle = this.#open();
    return JSON.parse(await new Work(() => addon.verify(handle, text, [])).promise);
  }

  async #last(given, options, more, take) {
    const { signal, ...settings } = check.object(options, 'options');
    const source = check.prompt(given);
    const ids = types.isInt32Array(source) ? source : await this.tokenize(source);
    const sequence = await this.sequence({ ...settings, ...more });
    try {
      await sequence.eval(ids, { signal });
      return await take(sequence);
    } finally {
      sequence.close();
    }
  }

  /** An empty sequence. */
  async sequence(options) {
    const { settings } = split(options, ['sequence'], [], 'a sequence');
    return newSequence(await this.#do((handle) => addon.sequenceCreate(handle, settings)));
  }

  /** An engine for many requests at the same time. */
  async engine(options) {
    const { settings } = split(options, ['sequence'], [], 'an engine');
    const model = this.#open();
    return newEngine(await this.#do((handle) => addon.engineCreate(handle, settings)), model);
  }

  /** The line that is the same on every machine where the model answers alike. */
  async certify(options) {
    const { settings, rest } = split(options, ['sequence'], ['progress', 'signal'], 'certify');
    const progress = new Progress(check.isFunction(rest.progress, 'progress'));
    const signal = checkSignal(rest.signal);
    const handle = this.#open();
    return progress.of(new Work(() => addon.certify(handle, settings, progress.listener), { signal }));
  }

  /** Gives the memory back; sequences and engines keep what they need. */
  close() {
    if (this.#closed) return;
    this.#closed = true;
    addon.free(this.#handle);
  }

  [Symbol.dispose]() {
    this.close();
  }
}

function openaiReason({ finish_reason: reason, tool_calls: calls }) {
  if (calls?.length > 0) return 'tool_calls';
  return reason === 'end_of_text' || reason === 'stop_string' ? 'stop' : 'length';
}

async function* chunks(head, share, unshare, body, signal) {
  const chunk = (delta, reason = null) => ({
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta, finish_reason: reason }],
  });
  const quiet = Boolean(body.tools?.length);  // calls are told when they are whole
  const begin = answerOf(await share(), body, [], signal);
  try {
    let work = null;
    const generation = new Generation((listener) => {
      work = begin(listener);
      return work;
    });
    yield chunk({ role: 'assistant' });
    for await (const content of generation) {
      if (!quiet) yield chunk({ content });
    }
    await generation.result;
    const answer = JSON.parse((await work.promise).json);
    if (quiet) {
      const calls = answer.tool_calls.map((one, index) => ({ index, ...one }));
      yield chunk({ content: answer.text, ...(calls.length > 0 ? { tool_calls: calls } : {}) });
    }
    yield chunk({}, openaiReason(answer));
  } finally {
    unshare();
  }
}

/** A file's contents, without loading it: an object as `bittern inspect --json` prints it. */
async function inspect(source, options) {
  const { settings } = split(options, ['model'], [], 'inspect');
  const from = check.path(source, 'source');
  return JSON.parse(await new Work(() => addon.inspect(from, settings)).promise);
}

/** Why a model talks nonsense: an object as `bittern doctor --json` prints it. */
async function doctor(source, options) {
  const { settings } = split(options, ['doctor', 'model'], [], 'doctor');
  const from = check.path(source, 'source');
  return JSON.parse(await new Work(() => addon.doctor(from, settings)).promise);
}

/** Converts a model file or folder to another format: convert('m.gguf', 'out.gguf', {to: 'tq2_0'}). */
async function convert(source, target, options) {
  const { settings, rest } = split(options, ['convert'], ['progress', 'signal'], 'convert');
  const from = check.path(source, 'source');
  const to = check.path(target, 'target');
  const progress = new Progress(check.isFunction(rest.progress, 'progress'));
  const signal = checkSignal(rest.signal);
  const report = JSON.parse(await progress.of(
    new Work(() => addon.convert(from, to, settings, progress.listener), { signal })));
  return {
    kind: report.kind,
    bytes: report.bytes,
    ternaryTensors: report.ternary_tensors,
    ternaryWeights: report.ternary_weights,
    plainTensors: report.plain_tensors,
    notes: report.notes,
  };
}

/**
 * Finds a model by its name in Hugging Face's cache folder, or fetches it; its path. The variables
 * of Hugging Face's programs (HF_HUB_CACHE, HF_TOKEN ...) hold where an option is not given.
 */
async function pull(name, options) {
  const { settings, rest } = split(options, ['pull'], ['progress', 'signal'], 'pull');
  const reference = check.word(name, 'name');
  const progress = new Progress(check.isFunction(rest.progress, 'progress'));
  const signal = checkSignal(rest.signal);
  const variables = Object.entries(process.env).map(([key, value]) => `${key}=${value}\0`).join('');
  const found = await progress.of(
    new Work(() => addon.pull(reference, variables, settings, progress.listener), { signal }));
  return found.text;
}

const LEVELS = { 1: 'warning', 2: 'info' };

/** Has listener({level, message}) told what the library decides and doubts; null: nobody. */
function setLog(listener) {
  const tell = check.isFunction(listener, 'listener');
  // A microtask: what the listener throws is an uncaught exception, not lost.
  call(() => addon.setLog(tell === null ? null : (level, message) => queueMicrotask(
    () => tell({ level: LEVELS[level] ?? 'info', message }))));
}

module.exports = {
  Model, convert, doctor, inspect, handleOf: (model) => Model[PRIVATE](model), pull, setLog,
};
