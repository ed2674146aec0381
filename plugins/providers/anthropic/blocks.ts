import { isObject } from '../../../src/plugin.ts';

/** A content block of the Messages API, as it is sent and as it comes. */
export interface Block {
  readonly type: string;
  readonly [key: string]: unknown;
}

export const isBlock = (value: unknown): value is Block => isObject(value) && typeof value.type === 'string';

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** Reasoning that the API wants to see again exactly as it came, with its signature or its encrypted data. */
export const isSealed = ({ type, signature, data }: Block): boolean =>
  (type === 'thinking' && textOf(signature) !== '') || (type === 'redacted_thinking' && textOf(data) !== '');

/** Ids as the API takes them; those of other servers, which a conversation may have passed through, have dots and colons. */
export const callIdOf = (id: string): string => id.replace(/[^a-zA-Z0-9_-]/g, '_');
