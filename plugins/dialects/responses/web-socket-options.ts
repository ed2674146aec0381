import { z } from 'zod';
import { hour_ms, minute_ms } from '../../../src/plugin.ts';

const whole = () => z.int().positive();

const limits = z.strictObject({
  max_open: whole()
    .default(10_000)
    .describe('The most WebSockets that may be open in one process; others are refused with 503.'),
  max_open_per_account: whole()
    .default(100)
    .describe('The same for each account, which is refused with 429; those without an account share one.'),
  idle_ms: whole()
    .default(10 * minute_ms)
    .describe('A WebSocket without a request for this time is closed.'),
  max_age_ms: whole()
    .default(hour_ms)
    .describe('A WebSocket of this age takes no further request, and is closed when its reply has ended.'),
});

/** Bounds of WebSockets. */
export type WebSocketLimits = z.output<typeof limits>;

/** The option `websocket` of `responses`. */
export const webSocketOption = z
  .union([z.boolean(), limits], 'must be true, false or limits such as { max_open: 1000 }')
  .optional()
  .describe(
    'Offer the Responses API over WebSocket at `/v1/responses` as well, as Codex asks for it. `true` takes the defaults of the limits. A request before the end of a reply gets 409 `response_in_progress`. Errors are messages, after which the connection stays open. Close codes: 1000 after `idle_ms` or `max_age_ms`, 1001 at a shutdown, 1003, 1007 and 1009 for messages that are no text, no UTF-8 or too large, 1008 for a key that is no longer valid or a slow message, 1013 when memory is short.',
  );

/** The limits of WebSockets as configured; undefined if none are offered. */
export function webSocketLimits(option: z.output<typeof webSocketOption>): WebSocketLimits | undefined {
  return option ? limits.parse(option === true ? {} : option) : undefined;
}
