// SPDX-License-Identifier: Apache-2.0
// Validates texts that schemas gave with ajv, which shares no code with Bittern or with
// python3-jsonschema: node validate.mjs FILE, with lines of ../../schema_collection.py or of
// ../../grammar_oracle.py. A schema is read by the draft that its $schema names, draft 7 if none.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import Ajv from 'ajv';
import Ajv2019 from 'ajv/dist/2019.js';
import Ajv2020 from 'ajv/dist/2020.js';
import Ajv4 from 'ajv-draft-04';
import addFormats from 'ajv-formats';

const draft6 = createRequire(import.meta.url)('ajv/dist/refs/json-schema-draft-06.json');
// Names of formats that ajv does not know are remarks, and a faulty keyword is Bittern's to refuse.
const options = { strict: false, logger: false, validateSchema: false, addUsedSchema: false };

function validatorOf(schema) {
  const draft = String(schema.$schema ?? process.argv[3] ?? '');
  const Kind = /2020-12/.test(draft) ? Ajv2020 : /2019-09/.test(draft) ? Ajv2019 : /draft-0[34]/.test(draft) ? Ajv4 : Ajv;
  const ajv = new Kind(options);
  addFormats(ajv);
  if (Kind === Ajv) ajv.addMetaSchema(draft6);
  const { $schema: _, ...rest } = schema;
  // Ids tell where other documents are; there are none. Drafts 3 and 4 wrote `id`.
  delete rest.$id;
  if (typeof rest.id === 'string') delete rest.id;
  return ajv.compile(rest);
}

const counts = { schemas: 0, supported: 0, refused: 0, uncompiled: 0, valid: 0, invalid: 0 };
for (const line of readFileSync(process.argv[2], 'utf8').split('\n')) {
  if (!line) continue;
  const { path, schema, texts, error } = JSON.parse(line);
  counts.schemas += 1;
  if (error !== undefined) {
    counts.refused += 1;
    continue;
  }
  counts.supported += 1;
  let validate;
  try {
    validate = typeof schema === 'boolean' ? () => schema : validatorOf(schema);
  } catch (problem) {
    counts.uncompiled += 1; // ajv cannot read the schema: no judgement of the text
    if (counts.uncompiled <= 20) console.log(`NOT READ BY AJV ${path ?? ''} ${problem.message.slice(0, 150)}`);
    continue;
  }
  for (const text of texts) {
    let valid = false;
    try {
      valid = validate(JSON.parse(text));
    } catch (problem) {
      validate.errors = [{ message: String(problem) }]; // no JSON
    }
    counts[valid ? 'valid' : 'invalid'] += 1;
    if (!valid && counts.invalid <= 40) {
      const shown = JSON.stringify(validate.errors).slice(0, 300);
      console.log(`INVALID ${path ?? JSON.stringify(schema).slice(0, 500)}\n  ${text.slice(0, 300)}\n  ${shown}`);
    }
  }
}
console.log(JSON.stringify(counts));
process.exit(counts.invalid === 0 && counts.valid > 0 ? 0 : 1);
