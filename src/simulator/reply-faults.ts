import { breakOff } from './break-off.ts';
import { BEFORE_HEADERS, type Directives } from './directives.ts';
import type { SimulatedExchange } from './simulated-exchange.ts';
import { failureBody, hasStreamFaults } from './stream-faults.ts';

const PAGE =
  '<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>It works!</h1></body></html>\n';

/** Whether the directives make the reply one that a healthy server would not send. */
export function isFailure(directives: Directives): boolean {
  return (
    directives.status !== undefined ||
    directives.error200 === true ||
    directives.html === true ||
    hasStreamFaults(directives)
  );
}

/** The failure that replaces the whole reply, ready to be sent, if the directives name one. */
export function failBeforeReply(
  exchange: SimulatedExchange,
  directives: Directives,
): (() => void) | undefined {
  const { response } = exchange;
  if (directives.reset === BEFORE_HEADERS) return () => breakOff(response, 'reset');
  if (directives.cut === BEFORE_HEADERS) return () => breakOff(response, 'cut');
  if (directives.html) return () => exchange.send(200, 'text/html; charset=utf-8', PAGE);
  // With `error` the status is that of the event in the middle of the stream.
  const status_first = directives.status !== undefined && directives.error === undefined;
  if (!directives.error200 && !status_first) return undefined;
  const status = directives.error200 ? 200 : (directives.status ?? 500);
  const body = failureBody(directives, 502);
  const retry = directives.retry_after === undefined ? {} : { 'retry-after': directives.retry_after };
  return () => exchange.send(status, body.content_type, body.text, retry);
}
