// SPDX-License-Identifier: Apache-2.0
// Compiled by a test, never run: what a program in TypeScript writes, and what the types must refuse.
import bittern, { BitternError, Model, Sampler, convert, options, type Completion } from 'bittern';

const model: Model = await Model.load({ path: new URL('file:///x'), threads: 2, progress: (done) => done < 1 });
const ids: number[] = await model.tokenize('x', { special: true });
for await (const piece of model.generate(ids, { nPredict: 3, stop: ['a'], jsonSchema: { type: 'object' } })) {
  const text: string = piece;
  console.log(text);
}
const whole: Completion = await model.complete('x', { signal: AbortSignal.timeout(5), contextLength: 5 });
if (whole.finishReason === 'stop_string') console.log(whole.ids[0]);
const reply: string = (await model.chat([{ role: 'user', content: 'x' }], { chatTemplate: 'llama3' }).result).text;
const answer = await model.createChatCompletion({ messages: 'x', max_tokens: 5 });
const content: string = answer.choices[0]!.message.content;
for await (const chunk of await model.createChatCompletion({ messages: 'x', stream: true })) {
  const part: string | undefined = chunk.choices[0]!.delta.content;
  console.log(part, content, reply);
}
using sequence = await model.sequence({ hidden: true, kvType: 'i8' });
await sequence.eval(Int32Array.of(1, 2));
const rows: Float32Array[] = await sequence.evalAll([1]);
const fork = await sequence.fork(1);
await fork.restore(await sequence.save());
const id: number = new Sampler({ temperature: 0 }).sample(rows[0]!);
await using engine = await model.engine({ prefixCache: false });
const waiting: number = (await engine.stats()).waiting;
const notes: string[] = (await convert('a', 'b', { to: 'i2_s', prove: true })).notes;
console.log(id, waiting, notes, options()[0]!.key, bittern.version);
try {
  await Model.load({ data: new Uint8Array(3), name: 'x' });
} catch (error) {
  if (error instanceof BitternError && error.code === 'BITTERN_ERROR_IO') console.log(error.hint);
}

// @ts-expect-error a misspelt option
model.complete('x', { temprature: 1 });
// @ts-expect-error a text where a number belongs
model.complete('x', { nPredict: '5' });
// @ts-expect-error not a choice
model.sequence({ kvType: 'f64' });
// @ts-expect-error there is no such code
if ((new Error() as BitternError).code === 'EPERM') console.log();
// @ts-expect-error only Model.load() makes models
new Model();
// @ts-expect-error both a path and bytes
Model.load({ path: 'x', data: new Uint8Array(1) });
// @ts-expect-error a sampler does not stop at texts
new Sampler({ stop: 'x' });
// @ts-expect-error it has to say to which format
convert('a', 'b', {});
