import type { EndReason } from '../../src/exchange.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import type { Draw } from './soak-draw.ts';

/** What came back, as far as it came. */
export interface Reply {
  /** 0: nothing came. */
  readonly status: number;
  readonly text: string;
  /** Its end came too. */
  readonly complete: boolean;
  /** What went wrong with the connection, unless it was the client that ended it. */
  readonly fault: string | undefined;
}

export interface Request {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
}

/** How the client behaves; it reads all, and at once, where nothing else is said. */
export interface Manner {
  /** Pauses after every read. */
  readonly pause_ms?: number;
  /** Leaves so long after it has sent its request. */
  readonly leave_ms?: number;
  /** Leaves after so many events. */
  readonly leave_events?: number;
  /** Leaves as soon as it has read `[DONE]`. */
  readonly leave_at_done?: true;
  /** Sends so many bytes, headers included, and leaves. */
  readonly send_bytes?: number;
  /** Reads nothing until it is cut. */
  readonly stall?: true;
}

/** One thing that a client does, and what may come of it. */
export interface Errand {
  readonly request: Request;
  readonly manner?: Manner;
  /** How its record may end; none: it never becomes an exchange. */
  readonly endings: readonly EndReason[];
  /** What is wrong with a reply. Asked only when the client has not left. */
  readonly check?: (reply: Reply) => string | undefined;
  /** The operator must hear of it: lines of level error are right. */
  readonly alarms?: true;
}

/** A way to make errands. `n` differs in each. */
export interface Kind {
  readonly name: string;
  readonly weight: number;
  make(draw: Draw, n: number): Errand;
}

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };

/** A chat request with one user message. */
export function chat(content: string, more: object = {}): Request {
  const body = { model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content }], ...more };
  return { method: 'POST', path: '/v1/chat/completions', headers, body: JSON.stringify(body) };
}

/** A request without anything that it needs no key or body for. */
export const plain = (method: string, path: string): Request => ({ method, path, headers: {}, body: '' });

const words = [
  'river',
  'sand',
  '山',
  'naïve',
  '🦆',
  'bends',
  'slowly',
  '{"a":1}',
  '<b>',
  'end.',
  'ещё',
  'a\nb',
];

/** A text that no other errand has. */
export function secret(draw: Draw, n: number): string {
  const rest = Array.from({ length: draw.integer(1, 80) }, () => draw.one(words));
  return `Answer ${n}: ${rest.join(' ')} (${n})`;
}
