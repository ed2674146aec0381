import type { EndReason } from '../../../../src/gateway/exchange/exchange-end.ts';
import type { Dice } from '../../../../src/simulator/seed.ts';
import { clientKey } from '../../../support/gateway-under-test.ts';
import { type Check, isAnswer } from './checks.ts';

/** How a client behaves; without any of these it sends all and reads all, at once. */
export interface Behaviour {
  /** Pauses after every read. */
  readonly pause_ms?: number;
  /** Leaves this long after it has sent its request. */
  readonly leave_ms?: number;
  /** Leaves after this many events. */
  readonly leave_events?: number;
  /** Leaves after this many characters of the reply. */
  readonly leave_characters?: number;
  /** Leaves as soon as it has read `[DONE]`. */
  readonly leave_at_done?: true;
  /** Sends this many bytes, headers included, and leaves. */
  readonly send_bytes?: number;
  /** Sends the last bytes of the request one by one, this long apart. */
  readonly drip_ms?: number;
  /** Sends all but the last bytes of the request, and waits. */
  readonly unfinished?: true;
  /** Reads nothing until the gateway disconnects it. */
  readonly stall?: true;
}

/** What a client sends, and how it behaves. Without a method the body is all that is sent. */
export interface Request extends Behaviour {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer;
  /** Throws what is wrong with the reply. Not called when the client has left. */
  readonly check?: Check;
  /** The operator must be alerted: log lines of level error are expected. */
  readonly alarms?: true;
}

/** Requests of one kind. */
export interface Kind {
  readonly name: string;
  /** Probability among the kinds of a client, relative to theirs. */
  readonly weight: number;
  /** Permitted end reasons of the log record; none if the request never becomes an exchange. */
  readonly endings: readonly EndReason[];
  /** It may be rejected before it becomes an exchange. */
  readonly may_lack_record?: true;
  /** Its clients are well-behaved; how long they wait is checked. */
  readonly good?: true;
  make(dice: Dice, id: string): Request;
}

/** Large enough that a busy machine does not reach them by itself, small enough to be reached on purpose. */
export const limits = { max_body_bytes: 1024 * 1024, non_stream_timeout_ms: 8000, slow_client_ms: 6000 };
/** Milliseconds for which the upstream may be silent; less than `slow_client_ms`, as a paused upstream is not silent. undici checks this about once a second. */
export const idle_timeout_ms = 4000;
/** A model whose upstream may be silent for longer than the time limit. */
export const patient_model = 'aion-labs/aion-3.0';

/** Further fields of a chat request, which may be random. */
type Body = object | ((dice: Dice) => object);

export const kind = (name: string, weight: number, endings: Kind['endings'], make: Kind['make']): Kind => ({
  name,
  weight,
  endings,
  make,
});

export const streaming = { stream: true };
export const continuous = { ...streaming, stream_options: { continuous_usage_stats: true } };
/** Asks for a stream, more often than not. */
export const maybeStreaming = (dice: Dice, share = 0.6): object => (dice.roll() < share ? streaming : {});

/** The id of the request that a text carries. Every prompt has one, so the provider's call is known by it. */
export const idIn = (text: string): string | undefined => /\bx\d+-\d+\b/.exec(text)?.[0];

/** A POST to chat completions with this body. */
export const post = (body: string | Buffer, more: Readonly<Record<string, string>> = {}): Request => ({
  method: 'POST',
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json', ...more },
  body,
});

/** A chat request with one user message. */
export const chat = (content: string, more: object = {}): Request =>
  post(JSON.stringify({ model: 'aion-labs/aion-3.5', messages: [{ role: 'user', content }], ...more }));

/** A request without a key or a body. */
export const plain = (method: string, path: string): Request => ({ method, path, headers: {}, body: '' });

/** A chat request that tells the simulator how to answer; in `directives`, `{a|b}` is one of both and `{1-5}` a number from 1 to 5. */
export const simulated = (dice: Dice, id: string, directives: string, body: Body = {}): Request =>
  chat(`Question ${id} [[sim:${chosen(dice, directives)}]]`, fieldsOf(dice, body));

/** The same with a text that no other request has, which must be the whole answer. */
export function answered(dice: Dice, id: string, directives: string, body: Body = {}) {
  const [how, fields, answer] = [chosen(dice, directives), fieldsOf(dice, body), uniqueText(dice, id)];
  return { ...chat(`Question ${id} [[sim:${how} say=${answer}]]`, fields), check: isAnswer(answer) };
}

const fieldsOf = (dice: Dice, body: Body): object => (typeof body === 'function' ? body(dice) : body);

const chosen = (dice: Dice, text: string): string =>
  text.replaceAll(/\{(.+?)\}/g, (_, inside: string) => {
    const [, low, high] = /^(\d+)-(\d+)$/.exec(inside) ?? [];
    return low ? String(dice.integer(Number(low), Number(high))) : dice.pick(inside.split('|'));
  });

const words = 'river sand 山 naïve 🦆 bends slowly {"a":1} <b> end. ещё a\nb'.split(' ');

/** A text that no other request has. */
export function uniqueText(dice: Dice, id: string): string {
  const rest = Array.from({ length: dice.integer(1, 80) }, () => dice.pick(words));
  return `Answer ${id}: ${rest.join(' ')} (${id})`;
}
