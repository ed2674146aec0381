import type { EndReason } from '../../../src/exchange/exchange-end.ts';
import { clientKey } from '../../support/gateway-under-test.ts';
import type { Draw } from './draw.ts';

/** The reply as far as it was received. */
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

/** How the client behaves; without any of these it sends all and reads all, at once. */
export interface Manner {
  /** Pauses after every read. */
  readonly pause_ms?: number;
  /** Leaves so long after it has sent its request. */
  readonly leave_ms?: number;
  /** Leaves after so many events. */
  readonly leave_events?: number;
  /** Leaves after so many characters of the reply. */
  readonly leave_characters?: number;
  /** Leaves as soon as it has read `[DONE]`. */
  readonly leave_at_done?: true;
  /** Sends so many bytes, headers included, and leaves. */
  readonly send_bytes?: number;
  /** Sends the last bytes of the request one by one, with so long between two. */
  readonly drip_ms?: number;
  /** Sends all but the last bytes of the request, and waits. */
  readonly unfinished?: true;
  /** Reads nothing until it is cut. */
  readonly stall?: true;
}

/** One client action, and its permitted outcomes. */
export interface Errand {
  readonly request: Request;
  readonly manner?: Manner;
  /** Permitted end reasons of its record; none if it never becomes an exchange. */
  readonly endings: readonly EndReason[];
  /** It may be refused before it becomes an exchange. */
  readonly may_lack_record?: true;
  /** Returns what is wrong with a reply. Not called when the client has left. */
  readonly check?: (reply: Reply) => string | undefined;
  /** The operator must be alerted: log lines of level error are expected. */
  readonly alarms?: true;
}

/** A way to make errands. */
export interface Kind {
  readonly name: string;
  readonly weight: number;
  /** Its clients are well-behaved; how long they wait is checked. */
  readonly good?: true;
  make(draw: Draw, id: string): Errand;
}

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };

/** The id of the errand that a text carries. Every prompt has one, and so the provider's call is known by it. */
export const idIn = (text: string): string | undefined => /\bx\d+-\d+\b/.exec(text)?.[0];

/** A POST to chat completions with this body. */
export const post = (body: string | Buffer, more: Readonly<Record<string, string>> = {}): Request => ({
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { ...headers, ...more },
  body,
});

/** A chat request with one user message. */
export const chat = (content: string, more: object = {}): Request =>
  post(JSON.stringify({ model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content }], ...more }));

/** A request without a key or a body. */
export const plain = (method: string, path: string): Request => ({ method, path, headers: {}, body: '' });

const words = 'river sand 山 naïve 🦆 bends slowly {"a":1} <b> end. ещё a\nb'.split(' ');

/** A text that no other errand has. */
export function secret(draw: Draw, id: string): string {
  const rest = Array.from({ length: draw.integer(1, 80) }, () => draw.one(words));
  return `Answer ${id}: ${rest.join(' ')} (${id})`;
}
