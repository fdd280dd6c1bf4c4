// SPDX-License-Identifier: Apache-2.0
import * as bittern from './index.js';

export * from './index.js';
export default bittern;
