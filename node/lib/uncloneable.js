// SPDX-License-Identifier: Apache-2.0
// Objects that belong to their thread: to post one to a worker is an error, not an empty object.
'use strict';

const { markAsUncloneable } = require('node:worker_threads');  // from Node.js 22.10 on

/** Marks an object. A function among its own properties does the same in older versions. */
function uncloneable(object) {
  if (markAsUncloneable !== undefined) {
    markAsUncloneable(object);
  } else {
    Object.defineProperty(object, 'toJSON', { value: () => ({}), enumerable: true });
  }
}

module.exports = { uncloneable };
