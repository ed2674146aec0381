import type { IncomingMessage } from 'node:http';
import type { BodyLimits } from './body-limits.ts';

/** Time for a client whose body is out of time to read the reply; nginx lingers likewise. */
const linger_ms = 1000;

/**
 * Reads and discards the rest of an unwanted body, so that the client can read the reply instead of being reset. Destroys the request above
 * `max_body_bytes`, after a pause of `body_idle_ms`, or after `body_timeout_ms` in all, of which `exchange` has used some.
 */
export function discardBody(
  request: IncomingMessage,
  limits: Pick<BodyLimits, 'max_body_bytes' | 'body_idle_ms' | 'body_timeout_ms'>,
  exchange?: { readonly elapsed_ms: number },
): void {
  if (request.complete || request.destroyed) return;
  const end = () => request.destroy();
  const idle = setTimeout(end, limits.body_idle_ms).unref();
  const total = setTimeout(
    end,
    Math.max(linger_ms, limits.body_timeout_ms - (exchange?.elapsed_ms ?? 0)),
  ).unref();
  let left_bytes = limits.max_body_bytes;
  request.on('data', (part: Buffer) => {
    left_bytes -= part.length;
    if (left_bytes < 0) end();
    else idle.refresh();
  });
  request.once('close', () => {
    clearTimeout(idle);
    clearTimeout(total);
  });
  request.resume();
}
