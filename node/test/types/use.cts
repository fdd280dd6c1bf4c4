// SPDX-License-Identifier: Apache-2.0
// As use.mts, for programs that require().
import bittern = require('bittern');

async function main(): Promise<string> {
  const model: bittern.Model = await bittern.Model.load();
  const settings: bittern.TextSettings = { temperature: 0 };
  return (await model.complete('x', settings)).text;
}

// @ts-expect-error it gives a text
const number: Promise<number> = main();
console.log(number);
