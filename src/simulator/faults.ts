import type { StreamEvent } from './chunks.ts';
import { BEFORE_HEADERS, type Directives } from './directives.ts';
import { type Body, errorBody } from './error-body.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';

/** How a stream ends: `[DONE]`, a clean end without it, a TCP reset, a closed connection, or never. */
export type Ending = 'done' | 'end' | 'reset' | 'cut' | 'stall';

/** A fault within a reply. */
interface Fault {
  /** Ends a stream at the fault; without it the stream goes on. */
  readonly ending?: Ending;
  /** Sends a plain completion. It has no chunks to count, so the fault is in its middle. */
  complete(exchange: SimulatedExchange, text: string, directives: Directives): void;
}

const half = (text: string): string => text.slice(0, text.length / 2);
const sendHalf: Fault['complete'] = (exchange, text) =>
  exchange.send(200, { content_type: 'application/json', text: half(text) });
const breakInHalf =
  (how: 'reset' | 'cut'): Fault['complete'] =>
  (exchange, text) => {
    exchange.begin(text);
    exchange.breakOff(how, half(text));
  };

/** All faults that have a place in the reply. Where several have the same place, the first is the one that happens. */
const FAULTS: Readonly<Record<'reset' | 'cut' | 'stall' | 'error' | 'truncate' | 'garbage', Fault>> = {
  reset: { ending: 'reset', complete: breakInHalf('reset') },
  cut: { ending: 'cut', complete: breakInHalf('cut') },
  stall: { ending: 'stall', complete: (exchange, text) => exchange.begin(text) },
  error: {
    ending: 'done',
    complete: (exchange, _, directives) => exchange.send(500, failureBody(directives, 500)),
  },
  truncate: { ending: 'end', complete: sendHalf },
  garbage: { complete: sendHalf },
};

type FaultName = keyof typeof FAULTS;

const faultsIn = (directives: Directives): FaultName[] =>
  (Object.keys(FAULTS) as FaultName[]).filter(name => directives[name] !== undefined);

/** Whether the directives change the events of a stream or its end. */
export const hasStreamFaults = (directives: Directives): boolean =>
  directives.no_done === true || faultsIn(directives).length > 0;

/** Whether the directives make the reply one that a healthy server would not send. */
export const isFailure = (directives: Directives): boolean =>
  directives.status !== undefined ||
  directives.error200 === true ||
  directives.html === true ||
  hasStreamFaults(directives);

/** The events with the faults of the directives; a fault that is placed behind the last event happens after it. */
export function* withFaults(
  events: Iterable<StreamEvent>,
  directives: Directives,
): Generator<StreamEvent, Ending> {
  const place = (name: FaultName): number => directives[name] ?? 0;
  const [last] = faultsIn(directives)
    .filter(name => FAULTS[name].ending)
    .sort((a, b) => place(a) - place(b));
  let sent = 0;
  for (const event of events) {
    if (sent === directives.garbage)
      yield { text: 'data: {"id":"chatcmpl-7f","object":"chat.comp\n\n', step: event.step, bare: true };
    if (last && sent >= place(last)) break;
    yield event;
    sent += 1;
  }
  if (last === 'error') yield failureEvent(directives);
  const ending = (last && FAULTS[last].ending) ?? 'done';
  return ending === 'done' && directives.no_done ? 'end' : ending;
}

/** Sends a plain completion with the fault of the directives, if any. */
export function sendCompletion(exchange: SimulatedExchange, text: string, directives: Directives): void {
  const [fault] = faultsIn(directives);
  if (fault) FAULTS[fault].complete(exchange, text, directives);
  else exchange.send(200, { content_type: 'application/json', text });
}

const PAGE = {
  content_type: 'text/html; charset=utf-8',
  text: '<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>\n',
};

/** Returns what sends the failure that replaces the whole reply, if the directives name one. */
export function failureInstead(directives: Directives): ((exchange: SimulatedExchange) => void) | undefined {
  const { reset, cut, html, error, error200, retry_after } = directives;
  if (reset === BEFORE_HEADERS) return exchange => exchange.breakOff('reset');
  if (cut === BEFORE_HEADERS) return exchange => exchange.breakOff('cut');
  if (html) return exchange => exchange.send(200, PAGE);
  // With `error` the status is that of the event in the middle of the stream.
  const status = error200 ? 200 : error === undefined ? directives.status : undefined;
  if (status === undefined) return undefined;
  const retry = retry_after === undefined ? {} : { 'retry-after': retry_after };
  return exchange => exchange.send(status, failureBody(directives, 502), retry);
}

/** The error in the middle of a stream, as the servers whose error bodies have that shape write it there. */
function failureEvent(directives: Directives): StreamEvent {
  const { text } = failureBody(directives, 500);
  switch (directives.body) {
    case 'openrouter': {
      const choice = '{"index":0,"delta":{"content":""},"finish_reason":"error"}';
      return { text: `${text.slice(1, -1)},"choices":[${choice}]}\n\n`, step: 0 };
    }
    case 'anthropic':
      return { text: `event: error\ndata: ${text}\n\n`, step: 0, bare: true };
    case 'llama_cpp':
      return { text: `error: ${text.slice('{"error":'.length, -1)}\n\n`, step: 0, bare: true };
    default:
      return { text: `data: ${text}\n\n`, step: 0, bare: true };
  }
}

/** The error body that the directives describe; `status` is used if they name none. */
function failureBody(directives: Directives, status: number): Body {
  const code = directives.status ?? status;
  const message = directives.say ?? `Simulated failure with status ${code}.`;
  return errorBody(directives.body ?? 'vllm', code, message);
}
