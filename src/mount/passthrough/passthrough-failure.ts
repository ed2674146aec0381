import type { IncomingMessage } from 'node:http';
import { GatewayError, refusal } from '../../gateway/exchange/errors.ts';
import { type Failure, failureOf, failureOfStatus } from '../../gateway/upstream/attempt/attempt-failure.ts';
import type { Provider } from '../../gateway/upstream/http/provider.ts';
import { errorTextOf, StreamBody } from '../../gateway/upstream/http/reply-body.ts';

/** Failure of a call; a refusal by the gateway itself counts as the client's mistake. */
export const failureOfCall = (thrown: unknown, begun: boolean): Failure =>
  GatewayError.is(thrown) && thrown.status < 500
    ? { kind: 'refused', error: thrown }
    : failureOf(thrown, begun);

/** Failure for the upstream's error status. A missing file is the client's mistake, not the operator's. */
export async function failureOfReply(
  status: number,
  reply: IncomingMessage,
  provider: Provider,
): Promise<Failure> {
  const text = provider.redacted(await errorTextOf(new StreamBody(reply), reply));
  if (status !== 404) return failureOfStatus(status, reply.headers, text, provider.config.pass_upstream_429);
  const message = 'The upstream provider has nothing there.';
  return { kind: 'refused', error: refusal('unknown_url', { message }) };
}
