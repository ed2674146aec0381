import { setImmediate as turn } from 'node:timers/promises';
import type { Script, UpstreamRequest } from '../scripted-upstream.ts';
import { until } from '../until.ts';
import type { Exchange } from './matrix.ts';

/** How exchanges are settled. */
export const completed = { end_reason: 'completed', status: 200, error_type: undefined } as const;
export const gone = { end_reason: 'client_gone', status: 200, error_type: undefined } as const;
export const goneEarly = { ...gone, status: 0 } as const;
export const broken = { end_reason: 'upstream_failed', status: 200, error_type: 'provider_error' } as const;
export const failed = { ...broken, status: 502 } as const;
export const refused = {
  end_reason: 'refused',
  status: 400,
  error_type: 'invalid_request_error',
} as const;
export const misconfigured = {
  end_reason: 'upstream_failed',
  status: 400,
  error_type: 'configuration_error',
} as const;

/** What a client is told of them. */
export const toldBroken = { error: 'provider_error', finish: undefined } as const;
export const toldFailed = { ...toldBroken, status: 502 } as const;
export const toldRefused = { error: 'invalid_request_error', status: 400 } as const;

/** A second without a byte is too long for these gateways. */
export const impatient = {
  providers: [{ idle_timeout_ms: 1000 }, { idle_timeout_ms: 1000 }],
  chain: { idle_timeout_ms: 1000 },
};

/** An upstream that says nothing. */
export const silence: Script = () => {};

/** A client that leaves once it has read this. */
export const leavesWhen =
  (pattern: RegExp) =>
  async ({ client }: Exchange): Promise<void> => {
    await client.received(pattern);
    client.leave();
  };

/** A client that leaves once an upstream has its request. */
export const leavesOnceAsked = async ({ client, requests }: Exchange): Promise<void> => {
  await until(() => requests.length > 0);
  client.leave();
};

const held = new WeakMap<UpstreamRequest, () => unknown>();

/** Plays only when `release` is called for the exchange. */
export const whenReleased =
  (script: Script): Script =>
  (socket, request) => {
    held.set(request, () => (typeof script === 'function' ? script(socket, request) : socket.write(script)));
  };

/** Lets the upstreams of an exchange play what they hold back, once one has been asked. */
export async function release({ requests }: Exchange): Promise<void> {
  await until(() => requests.length > 0);
  for (const request of requests) held.get(request)?.();
}

/** Once the client's end of its connection has reached the gateway, which is in this process. */
export async function noticed({ client }: Exchange): Promise<void> {
  await client.ended;
  for (let turns = 0; turns < 50; turns++) await turn();
}

/** A client that leaves once its upstream is at work, which then plays on. */
export const leavesBefore = async (exchange: Exchange): Promise<void> => {
  await leavesOnceAsked(exchange);
  await noticed(exchange);
  await release(exchange);
};
