// SPDX-License-Identifier: Apache-2.0
// Texts: those of the command line, in pieces and as a whole.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { BitternError, MODELS, Model, bittern, join, options, run } from './support.mjs';

const model = await Model.load();
const GREEDY = { nPredict: 20, temperature: 0 };

test('every option of the sampler, as the command line has it', async () => {
  const draw = { nPredict: 40, seed: 5, temperature: 1.2, ignoreEos: true };
  const dry = { dryMultiplier: 2, dryAllowedLength: 1 };
  const dryFlags = ['--dry-multiplier', '2', '--dry-allowed-length', '1'];
  const adaptive = { samplers: ['top_k', 'adaptive_p'], adaptiveTarget: 0.3 };
  const adaptiveFlags = ['--samplers', 'top_k;adaptive_p', '--adaptive-target', '0.3'];
  const keys = new Set(options().map(({ key }) => key));
  const seen = new Set();
  for (const [settings, flags, wrong] of [  // the wrong value is the first setting's
    [dry, dryFlags, 'much'],
    [{ dryAllowedLength: 1, dryMultiplier: 2, drySequenceBreakers: [] },
      [...dryFlags, '--dry-sequence-breaker', 'none'], -1],
    [{ dryBase: 1, ...dry }, [...dryFlags, '--dry-base', '1'], 0.5],
    [{ dryPenaltyLastN: 8, ...dry }, [...dryFlags, '--dry-penalty-last-n', '8'], -2],
    [{ drySequenceBreakers: ['e', 'a'], ...dry },
      [...dryFlags, '--dry-sequence-breaker', 'e', '--dry-sequence-breaker', 'a']],
    [{ mirostat: 1 }, ['--mirostat', '1'], 3],
    [{ mirostatTau: 3, mirostat: 2 }, ['--mirostat', '2', '--mirostat-ent', '3'], 'x'],
    [{ mirostatEta: 0.5, mirostat: 2 }, ['--mirostat', '2', '--mirostat-lr', '0.5'], 'x'],
    [{ dynatempRange: 1 }, ['--dynatemp-range', '1'], 'x'],
    [{ dynatempExponent: 2, dynatempRange: 1 }, ['--dynatemp-range', '1', '--dynatemp-exp', '2'], 'x'],
    [adaptive, adaptiveFlags, 'tall'],
    [{ adaptiveTarget: 0.3, samplers: 'top_k;adaptive_p' }, adaptiveFlags, 'x'],
    [{ adaptiveDecay: 0.2, ...adaptive }, [...adaptiveFlags, '--adaptive-decay', '0.2'], 1],
    [{ topK: 3 }, ['--top-k', '3'], -2],
    [{ topP: 0.1 }, ['--top-p', '0.1'], 2],
    [{ minKeep: 3, topP: 0.1 }, ['--top-p', '0.1', '--min-keep', '3'], -1],
    [{ minP: 0.3 }, ['--min-p', '0.3'], -1],
    [{ logitBias: { 300: 4, 290: false, 291: -0.5 } }, ['-l', '300+4', '-l', '290-inf', '-l', '291-0.5'], '300'],
    [{ typicalP: 0.5 }, ['--typical', '0.5'], 'x'],
    [{ xtcProbability: 0.9 }, ['--xtc-probability', '0.9'], 'x'],
    [{ xtcThreshold: 0.05, xtcProbability: 0.9 }, ['--xtc-probability', '0.9', '--xtc-threshold', '0.05'], 'x'],
    [{ presencePenalty: 1 }, ['--presence-penalty', '1'], 'x'],
    [{ frequencyPenalty: 1 }, ['--frequency-penalty', '1'], 'x'],
    [{ repeatPenalty: 1.3 }, ['--repeat-penalty', '1.3'], 0],
    [{ repeatLastN: 4, repeatPenalty: 1.3 }, ['--repeat-penalty', '1.3', '--repeat-last-n', '4'], -2],
    [{ topNSigma: 1 }, ['--top-nsigma', '1'], 'x'],
    [{ temperature: 0.5 }, ['--temp', '0.5'], 'warm'],
    [{ seed: 6 }, ['-s', '6'], -2],
  ]) {
    const [key] = Object.keys(settings);
    assert.ok(keys.has(key) && !seen.has(key), key);
    seen.add(key);
    const others = [['-s', '5'], ['--temp', '1.2']].filter(([flag]) => !flags.includes(flag)).flat();
    const expected = JSON.parse(run(['run', '-p', 'On the', '--json', '-n', '40', '--ignore-eos', ...others, ...flags]));
    assert.equal((await model.complete('On the', { ...draw, ...settings })).text, expected.text, key);
    if (wrong === undefined) continue;
    await assert.rejects(model.complete('On the', { [key]: wrong }), { name: 'BitternError', message: new RegExp(`^${key}: .* expected`) });
  }
  assert.equal(seen.size, 28);
});

test('the ids of the command line', async () => {
  for (const [prompt, settings, flags] of [
    ['A tern is', GREEDY, ['-n', '20', '--temp', '0']],
    ['On the', { nPredict: 40, seed: 5, temperature: 1, ignoreEos: true },
      ['-n', '40', '-s', '5', '--temp', '1', '--ignore-eos']],
    ['The sea', { nPredict: 30, seed: 7, stop: ['a', 'zz'] }, ['-n', '30', '-s', '7', '-r', 'a', '-r', 'zz']],
    ['My name', { nPredict: 30, seed: 9, temperature: 1, regex: '( [a-z]+){4}\\.' },
      ['-n', '30', '-s', '9', '--temp', '1', '--regex', '( [a-z]+){4}\\.']],
    ['A colour:', { nPredict: 9, seed: 2, grammar: 'root ::= " red" | " green"' },
      ['-n', '9', '-s', '2', '--grammar', 'root ::= " red" | " green"']],
    ['Data:', { nPredict: 60, seed: 3, jsonSchema: { type: 'array', items: { type: 'boolean' }, minItems: 2, maxItems: 3 } },
      ['-n', '60', '-s', '3', '-j', '{"type":"array","items":{"type":"boolean"},"minItems":2,"maxItems":3}']],
  ]) {
    const expected = JSON.parse(run(['run', '-p', prompt, '--json', ...flags]));
    const whole = await model.complete(prompt, settings);
    assert.deepEqual(whole.ids, expected.ids, prompt);
    assert.equal(whole.text, expected.text);
    assert.equal(whole.finishReason, expected.finish_reason);
    const generation = model.generate(prompt, settings);
    assert.equal(await join(generation), expected.text);
    const late = model.generate(prompt, settings);
    await late.result;
    assert.equal(await join(late), expected.text);  // pieces wait for their reader
    assert.deepEqual({ ...await generation.result, seed: 0 }, { ...whole, seed: 0 });  // the draw of greedy ones is not used
    if (settings.seed !== undefined) assert.equal(whole.seed, settings.seed);
  }
});

test('prompts as texts, bytes and ids', async () => {
  const { text } = await model.complete('A tern is', GREEDY);
  assert.equal((await model.complete(Buffer.from('A tern is'), GREEDY)).text, text);
  const ids = await model.tokenize('A tern is');
  assert.equal((await model.complete(ids, GREEDY)).text, text);
  assert.equal((await model.complete(Int32Array.from(ids), GREEDY)).text, text);
});

test('pieces are whole characters', async () => {
  // The grammar leaves nothing but characters of two to four bytes, of several tokens each: long enough for more than one
  // piece on a busy machine, where pieces that come faster than they are read are joined.
  for (let seed = 0; seed < 5; ++seed) {
    const generation = model.generate('Letters:', { nPredict: 480, seed, temperature: 1, regex: '[äß€→🐦𝄞]{120}' });
    const pieces = [];
    for await (const piece of generation) pieces.push(piece);
    for (const piece of pieces) assert.match(piece, /^[äß€→🐦𝄞]+$/u);
    assert.ok(pieces.length > 1);
    assert.equal(pieces.join(''), (await generation.result).text);
    assert.equal([...pieces.join('')].length, 120);
  }
});

test('conversations', async () => {
  const expected = run(['chat', '--temp', '0', '-n', '30'], 'What is a tern?\n').trim();
  const messages = [{ role: 'user', content: 'What is a tern?' }];
  const settings = { nPredict: 30, temperature: 0 };
  assert.equal((await model.completeChat(messages, settings)).text.trim(), expected);
  assert.equal((await join(model.chat(messages, settings))).trim(), expected);
  assert.equal((await join(model.chat('What is a tern?', settings))).trim(), expected);
  assert.equal((await model.chat({ messages }, settings).result).text.trim(), expected);
  const source = '{% for m in messages %}<{{ m.role }}: {{ m.content }}>{% endfor %}';
  assert.equal((await model.applyTemplate(messages, { chatTemplate: source })).text, '<user: What is a tern?>');
  await assert.rejects(model.applyTemplate(messages, { chatTemplate: '{% for' }), { name: 'BitternError' });
  const answer = await model.createChatCompletion({ messages, max_tokens: 30, temperature: 0 });
  assert.equal(answer.choices[0].message.content.trim(), expected);
  assert.equal(answer.choices[0].finish_reason, 'stop');
  assert.equal(answer.usage.total_tokens, answer.usage.prompt_tokens + answer.usage.completion_tokens);
  let text = '';
  let last;
  for await (const chunk of await model.createChatCompletion({ messages, max_tokens: 30, temperature: 0, stream: true })) {
    text += chunk.choices[0].delta.content ?? '';
    last = chunk.choices[0].finish_reason;
  }
  assert.deepEqual([text.trim(), last], [expected, 'stop']);
  const cut = await model.createChatCompletion({ messages, max_tokens: 2, temperature: 0, stream: true });
  for await (const chunk of cut) last = chunk.choices[0].finish_reason;
  assert.equal(last, 'length');
});

test('texts without an encoding', async () => {
  const refused = { code: 'BITTERN_ERROR_ARGUMENT', message: /surrogate/ };
  await assert.rejects(model.tokenize('x\ud83d'), refused);
  await assert.rejects(model.complete('\udc26x', GREEDY), refused);
  await assert.rejects(model.complete('x', { ...GREEDY, stop: '\ud83d' }), refused);
  await assert.rejects(model.complete('x', { ...GREEDY, stop: 'a\0' }), { code: 'BITTERN_ERROR_ARGUMENT', message: /zero/ });
});

test('tokens', async () => {
  const text = 'Grüße, 🐦 and\ttabs \0 and zeros';
  assert.equal(await model.detokenize(await model.tokenize(text, { bos: false })), text);
  assert.deepEqual(await model.tokenize('A tern is'),
    JSON.parse(run(['tokenize', '-p', 'A tern is', '--json'])).ids);
  assert.equal((await model.tokenize('x')).length, (await model.tokenize('x', { bos: false })).length + 1);
  const eos = Buffer.from(model.tokenBytes(model.eosId)).toString();
  assert.deepEqual(await model.tokenize(eos, { bos: false, special: true }), [model.eosId]);
  assert.equal(await model.detokenize([model.eosId], { special: true }), eos);
  assert.equal(await model.detokenize([model.eosId]), '');
  assert.equal(model.tokenIsEnd(model.eosId), true);
  assert.equal(model.tokenIsEnd(32), false);
});

test('logits and embeddings', async () => {
  const file = path.join(fs.mkdtempSync(path.join(process.env.TMPDIR ?? '/tmp', 'bittern-')), 'logits');
  try {
    run(['logits', '-p', 'A tern is', '-o', file]);
    const bytes = fs.readFileSync(file);
    const expected = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4);
    assert.deepEqual(await model.logits('A tern is'), Float32Array.from(expected));
  } finally {
    fs.rmSync(path.dirname(file), { recursive: true });
  }
  const sequence = await model.sequence({ hidden: true });
  await sequence.eval(await model.tokenize('A tern is'));
  const embedding = await model.embedding('A tern is');
  assert.equal(embedding.length, model.hiddenSize);
  assert.deepEqual(embedding, await sequence.hidden());
  assert.notDeepEqual(embedding, await model.embedding('A gull is'));
});

test('what is known', () => {
  assert.equal(model.info.architecture, 'bitnet-b1.58');
  assert.equal(model.metadata('general.architecture'), 'bitnet-b1.58');
  assert.ok(model.metadataKeys().includes('general.name'));
  assert.equal(model.metadata('tokenizer.ggml.tokens').length, model.vocabSize);
  assert.throws(() => model.metadata('no.such.key'), { name: 'BitternError', code: 'BITTERN_ERROR_NOT_FOUND' });
  for (const key of ['vocabSize', 'contextLength', 'hiddenSize', 'numLayers']) assert.ok(model[key] > 0, key);
  assert.equal(model.addsBos, true);
  assert.ok(model.bosId >= 0);
  const keys = options().map(({ key }) => key);
  for (const key of ['nPredict', 'temperature', 'jsonSchema', 'topNSigma', 'overrideKv']) assert.ok(keys.includes(key), key);
  assert.match(bittern.version, /^\d+\.\d+\.\d+$/);
});

test('files, memory, progress', async () => {
  const file = path.join(MODELS, 'kjv-5m-i2s.gguf');
  const told = [];
  const loaded = await Model.load({ path: file, layoutCache: '', progress: (done) => told.push(done) });
  assert.ok(told.length > 0 && told.at(-1) <= 1);
  const { text } = await loaded.complete('In the beginning', GREEDY);
  const fromMemory = await Model.load({ data: fs.readFileSync(file), name: 'mine', layoutCache: '' });
  assert.equal(fromMemory.info.path, 'mine');
  assert.equal((await fromMemory.complete('In the beginning', GREEDY)).text, text);
  await assert.rejects(Model.load({ path: file, progress: () => false }), { code: 'BITTERN_ERROR_CANCELLED' });
  const thrown = new Error('mine');
  await assert.rejects(Model.load({ path: file, progress() { throw thrown; } }), thrown);
  loaded.close();
  fromMemory.close();
});

test('errors have a code, a message and a hint', async () => {
  const error = await Model.load({ path: '/no/such/file' }).catch((caught) => caught);
  assert.ok(error instanceof BitternError && error instanceof Error);
  assert.equal(error.code, 'BITTERN_ERROR_NOT_FOUND');
  assert.match(error.message, /\/no\/such\/file/);
  assert.equal(typeof error.hint, 'string');
  for (const [settings, code, message] of [
    [{ temprature: 1 }, 'BITTERN_ERROR_NOT_FOUND', /temprature/],
    [{ topK: 1.5 }, 'BITTERN_ERROR_ARGUMENT', /^topK: a whole number/],
    [{ contextLength: 4 }, 'BITTERN_ERROR_CONTEXT_FULL', /context/],
    [{ overrideKv: 'x' }, 'BITTERN_ERROR_ARGUMENT', /overrideKv/],
    [{ regex: 'a', grammar: 'root ::= "a"' }, 'BITTERN_ERROR_ARGUMENT', /one of grammar/],
    [{ regex: '(' }, 'BITTERN_ERROR_ARGUMENT', /^regex: /],
    [{ jsonSchema: '{' }, 'BITTERN_ERROR_ARGUMENT', /^jsonSchema: /],
  ]) {
    await assert.rejects(async () => model.complete('A tern is a bird', settings), { code, message });
    await assert.rejects(async () => join(model.generate('A tern is a bird', settings)), { code, message });
  }
});
