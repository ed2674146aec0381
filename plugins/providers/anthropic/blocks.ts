import { isObject } from '../../../src/plugin.ts';

/** A content block of the Messages API, in requests and replies. */
export interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}

/** Format of blocks and citations that are passed on as they are. */
export const native_format = 'anthropic';

export const isBlock = (value: unknown): value is Block => isObject(value) && typeof value.type === 'string';

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Whether a block is reasoning that the API requires back unchanged, with its signature or encrypted data. */
export const isSealed = ({ type, signature, data }: Block): boolean =>
  (type === 'thinking' && textOf(signature) !== '') || (type === 'redacted_thinking' && textOf(data) !== '');

/** A call id that the API accepts; ids of other servers earlier in the conversation may have dots and colons. */
export const callIdOf = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, '_');
