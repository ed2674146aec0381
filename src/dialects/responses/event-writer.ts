import type { Usage } from '../../canonical.ts';
import { encodeEvent } from '../../sse/encode.ts';
import { usageFields } from './response-object.ts';

/** Writes the events of one Responses stream: named, and numbered without a gap (protocol h1). */
export class EventWriter {
  #next = 0;
  #usage = '';

  /** Puts usage on every event from now on, where the client asked for running usage (h7). */
  showUsage(usage: Usage): void {
    this.#usage = usageMember(usage);
  }

  event(type: string, fields: object): string {
    return this.encoded(type, `,${JSON.stringify(fields).slice(1, -1)}`);
  }

  /** The same with fields that are JSON already: members, each after a comma. */
  encoded(type: string, members: string, usage = this.#usage): string {
    return encodeEvent(`{"type":"${type}","sequence_number":${this.#next++}${members}${usage}}`, type);
  }
}

export const usageMember = (usage: Usage): string => `,"usage":${JSON.stringify(usageFields(usage))}`;
