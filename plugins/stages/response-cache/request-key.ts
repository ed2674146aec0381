import { type ChatRequest, isObject } from '../../../src/plugin.ts';

/** Increased when the form of stored replies changes. */
const version = 1;

/**
 * The canonical request as text, without what does not decide its answer: the form in which it is sent, and who asks. A field that a stage
 * adds is part of it. Requests of another `owner` have other keys.
 */
export function requestKey(request: ChatRequest, owner: unknown): string {
  const { stream, stream_options, metadata, client, ...asked } = request;
  const { user, prompt_cache_key, ...parameters } = asked.parameters;
  return JSON.stringify([version, owner, { ...asked, parameters }], inOrder);
}

/** For JSON.stringify: objects with their fields in order, which clients choose differently. */
const inOrder = (_: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value;
