// SPDX-License-Identifier: Apache-2.0
// Writes the vocabulary inside the npm package llama3-tokenizer-js as a GGUF v3 file: tokenizer
// keys and one dummy tensor. So the test of the real LLaMA-3 vocabulary needs no model.
import { writeFileSync } from 'node:fs';

const TYPE = { u32: 4, i32: 5, bool: 7, string: 8, array: 9 };
const NORMAL = 1, CONTROL = 3;
const FIRST_SPECIAL = 128000;
const ALIGNMENT = 32;

class Writer {
  chunks = [];
  size = 0;

  bytes(buffer) {
    this.chunks.push(buffer);
    this.size += buffer.length;
  }
  u32(value) {
    const buffer = Buffer.alloc(4);
    buffer.writeUInt32LE(value);
    this.bytes(buffer);
  }
  u64(value) {
    const buffer = Buffer.alloc(8);
    buffer.writeBigUInt64LE(BigInt(value));
    this.bytes(buffer);
  }
  string(text) {
    const buffer = Buffer.from(text, 'utf8');
    this.u64(buffer.length);
    this.bytes(buffer);
  }
  key(name, type) {
    this.string(name);
    this.u32(TYPE[type]);
  }
  array(name, type, values, put) {
    this.key(name, 'array');
    this.u32(TYPE[type]);
    this.u64(values.length);
    values.forEach(put);
  }
  pad() {
    this.bytes(Buffer.alloc((ALIGNMENT - (this.size % ALIGNMENT)) % ALIGNMENT));
  }
}

/** Writes `tokenizer` (an instance of the package's class) to `path`. */
export function writeVocabGguf(tokenizer, path) {
  const tokens = tokenizer.vocabById;
  const merges = [...tokenizer.merges.keys()]; // "left right", in order of rank
  const out = new Writer();
  out.bytes(Buffer.from('GGUF'));
  out.u32(3);
  out.u64(1); // tensors
  out.u64(8); // keys
  out.key('general.architecture', 'string');
  out.string('bitnet-b1.58');
  out.key('tokenizer.ggml.model', 'string');
  out.string('gpt2');
  out.array('tokenizer.ggml.tokens', 'string', tokens, (token) => out.string(token));
  out.array('tokenizer.ggml.token_type', 'i32', tokens, (_, id) =>
    out.u32(id < FIRST_SPECIAL ? NORMAL : CONTROL));
  out.array('tokenizer.ggml.merges', 'string', merges, (merge) => out.string(merge));
  out.key('tokenizer.ggml.bos_token_id', 'u32');
  out.u32(FIRST_SPECIAL);
  out.key('tokenizer.ggml.eos_token_id', 'u32');
  out.u32(FIRST_SPECIAL + 1);
  out.key('tokenizer.ggml.add_bos_token', 'bool');
  out.bytes(Buffer.from([1]));
  out.string('dummy');
  out.u32(1); // dimensions
  out.u64(8); // elements
  out.u32(0); // F32
  out.u64(0); // offset
  out.pad();
  out.bytes(Buffer.alloc(8 * 4));
  out.pad();
  writeFileSync(path, Buffer.concat(out.chunks));
}
