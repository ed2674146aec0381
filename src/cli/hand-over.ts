import type { Server } from 'node:http';
import { Server as NetServer } from 'node:net';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import type { Gateway } from '../mount/gateway.ts';

/** Shortest time for requests of open connections after the listener has closed in favour of another process. */
const hand_over_ms = 500;

/**
 * Stops accepting connections, because another process does. Waits `wait_ms` for the next request of open ones, whose reply closes them, and
 * then, within `drain_ms`, until no exchange has run for half a second: each that could not announce the end may have one request behind it.
 * Resolves with false if some still run. The listener closes when no connection waits: the kernel resets those that do, unless
 * `net.ipv4.tcp_migrate_req` is set.
 */
export async function handOver(
  server: Server,
  gateway: Gateway,
  unready_ms: number,
  signal: AbortSignal,
): Promise<boolean> {
  await acceptWaiting(server, signal);
  // That of `node:http` would close idle connections, on which the next request may be under way.
  NetServer.prototype.close.call(server);
  const pause = (ms: number) => sleep(ms, undefined, { signal }).catch(() => {});
  await pause(Math.max(hand_over_ms, unready_ms));
  const end_ms = performance.now() + gateway.settings.server.drain_ms;
  let quiet_ms = gateway.inFlight > 0 ? 0 : hand_over_ms;
  while (quiet_ms < hand_over_ms && !signal.aborted && performance.now() < end_ms) {
    await pause(look_ms);
    quiet_ms = gateway.inFlight > 0 ? 0 : quiet_ms + look_ms;
  }
  // What has arrived is read first.
  await nextTurn();
  server.closeIdleConnections();
  return gateway.inFlight === 0;
}

/** Time between two looks at whether exchanges still run. */
const look_ms = 50;

/** Longest time for accepting the connections that wait, on a process that is too busy to catch up. */
const accept_ms = 10_000;

/** A turn of the event loop that took longer had others to serve, or no processor: connections may have come behind its look at the listener. */
const short_turn_ms = 0.3;
/** How long a short turn is waited for, on a process that is too busy for any. */
const short_wait_ms = 1000;

/** Resolves when no connection waits to be accepted. libuv accepts one in each turn of the event loop. */
async function acceptWaiting(server: Server, signal: AbortSignal): Promise<void> {
  let hasAccepted = false;
  const onConnection = () => void (hasAccepted = true);
  server.on('connection', onConnection);
  const began_ms = performance.now();
  let looked_ms = began_ms;
  let isDone = false;
  while (!isDone && !signal.aborted) {
    hasAccepted = false;
    await nextTurn();
    const now_ms = performance.now();
    const isShort = now_ms - looked_ms < short_turn_ms || now_ms - began_ms > short_wait_ms;
    isDone = (!hasAccepted && isShort) || now_ms - began_ms > accept_ms;
    looked_ms = now_ms;
  }
  server.off('connection', onConnection);
}
