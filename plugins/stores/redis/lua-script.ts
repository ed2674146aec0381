import { hash } from 'node:crypto';

/** A Lua script, and the SHA-1 by which the server knows it once it has seen it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/** A script of the parts given, in order. */
export function script(...parts: readonly string[]): Script {
  const text = parts.join('\n');
  return { text, sha: hash('sha1', text, 'hex') };
}
