// SPDX-License-Identifier: Apache-2.0
// The door of the package for import. The classes are those that require() gives.
import bittern from './index.js';

export const {
  BitternError, Engine, Generation, Model, Sampler, Sequence, convert, doctor, inspect, options, pull, setLog,
  version,
} = bittern;
export default bittern;
