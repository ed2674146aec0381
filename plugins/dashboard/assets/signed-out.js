import { forgetKey } from './playground-key.js';

/** Who signs in next in this tab does not find the key of the one before. */
forgetKey();
