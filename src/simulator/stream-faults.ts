import type { StreamEvent } from './chunks.ts';
import type { Directives } from './directives.ts';
import { type ErrorBody, errorBody } from './error-body.ts';

/** How a stream ends: `[DONE]`, a clean end without it, a TCP reset, a closed connection, or never. */
export type Ending = 'done' | 'end' | 'reset' | 'cut' | 'stall';

const CUTS = ['reset', 'cut', 'stall', 'error', 'truncate'] as const;

/** True when the directives change the events of a stream or its end. */
export function hasStreamFaults(directives: Directives): boolean {
  return (
    CUTS.some(name => directives[name] !== undefined) ||
    directives.garbage !== undefined ||
    directives.no_done === true
  );
}

/** The events with the faults of the directives; a fault that lies behind the last event happens after it. */
export function* withFaults(
  events: Iterable<StreamEvent>,
  directives: Directives,
): Generator<StreamEvent, Ending> {
  const cut = firstCut(directives);
  let sent = 0;
  let garbage = directives.garbage ?? Number.POSITIVE_INFINITY;
  for (const event of events) {
    if (sent >= garbage) {
      yield { text: 'data: {"id":"chatcmpl-7f","object":"chat.comp\n\n', step: event.step, bare: true };
      garbage = Number.POSITIVE_INFINITY;
    }
    if (cut !== null && sent >= cut.after) break;
    yield event;
    sent += 1;
  }
  if (cut === null || cut.name === 'error') {
    if (cut) yield failureEvent(directives);
    return directives.no_done ? 'end' : 'done';
  }
  return cut.name === 'truncate' ? 'end' : cut.name;
}

/** The error in the middle of a stream, as the servers whose error bodies have that shape write it there. */
function failureEvent(directives: Directives): StreamEvent {
  const { text } = failureBody(directives, 500);
  switch (directives.body) {
    case 'openrouter':
      return {
        text: `${text.slice(1, -1)},"choices":[{"index":0,"delta":{"content":""},"finish_reason":"error"}]}\n\n`,
        step: 0,
      };
    case 'anthropic':
      return { text: `event: error\ndata: ${text}\n\n`, step: 0, bare: true };
    case 'llama_cpp':
      return { text: `error: ${text.slice('{"error":'.length, -1)}\n\n`, step: 0, bare: true };
    default:
      return { text: `data: ${text}\n\n`, step: 0, bare: true };
  }
}

/** The error body that the directives describe; `status` stands in for one that they do not name. */
export function failureBody(directives: Directives, status: number): ErrorBody {
  const code = directives.status ?? status;
  return errorBody(
    directives.body ?? 'vllm',
    code,
    directives.say ?? `Simulated failure with status ${code}.`,
  );
}

function firstCut(directives: Directives): { name: (typeof CUTS)[number]; after: number } | null {
  let first: { name: (typeof CUTS)[number]; after: number } | null = null;
  for (const name of CUTS) {
    const after = directives[name];
    if (after !== undefined && (first === null || after < first.after)) first = { name, after };
  }
  return first;
}
