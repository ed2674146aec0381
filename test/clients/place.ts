import { expect } from 'expect';
import { startSimulator } from '../../src/simulator/server.ts';
import { type GatewayOverrides, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';
import type { ShownUsage } from './libraries/client.ts';

/** The upstream of all clients. */
export const simulator = await startSimulator({ cached_tokens: 0.5, recorded_requests: 10_000 });

const opened: { close(): unknown }[] = [simulator];
const gateways = new Map<string, Promise<GatewayUnderTest>>();

/** Closes it at the end of the run. */
export function untilTheEnd<T extends { close(): unknown }>(one: T): T {
  opened.unshift(one);
  return one;
}

/** A gateway in this process, in front of the simulator, which lives to the end of the run: the same one for the same settings. */
export function gatewayWith(
  settings: Omit<GatewayOverrides, 'upstream'> & { readonly upstream?: GatewayOverrides['upstream'] } = {},
): Promise<GatewayUnderTest> {
  const config = { messages: { enabled: true }, ...settings.config };
  const overrides = { upstream: simulator.url, server: {}, ...settings, config };
  const key = JSON.stringify(overrides);
  let gateway = gateways.get(key);
  if (!gateway) gateways.set(key, (gateway = startGateway(overrides).then(untilTheEnd)));
  return gateway;
}

/** The configuration of most tests. */
export const gateway = await gatewayWith();

/** Ends every gateway, and then what they stand in front of. */
export async function closeAll(): Promise<void> {
  for (const one of opened.splice(0)) await one.close();
}

/** The last request as it reached the upstream. */
export function asked(): Readonly<Record<string, unknown>> {
  const last = simulator.requests.at(-1);
  if (!last) throw new Error('nothing has reached the upstream');
  return last.body as Record<string, unknown>;
}

/** Expects that what is done ends one stream of the upstream before its time, and that none stays open. */
export async function expectAborted<T>(leave: () => Promise<T>): Promise<T> {
  await until(() => simulator.stats.open === 0);
  const { aborted } = simulator.stats;
  const result = await leave();
  await until(() => simulator.stats.aborted === aborted + 1);
  expect(simulator.stats.open).toBe(0);
  return result;
}

/** Everything that is iterated over. */
export async function listOf<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

/** What the upstream says to a request, asked without the gateway. */
export interface Truth {
  readonly text: string;
  readonly reasoning: string;
  readonly usage: ShownUsage;
}

/** What the upstream says to the last request that reached it. Simulated answers depend on the request alone. */
export async function truth(): Promise<Truth> {
  const { stream, stream_options, ...body } = asked();
  const response = await fetch(`${simulator.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const { choices, usage } = (await response.json()) as WireReply;
  return {
    text: choices[0].message.content,
    reasoning: choices[0].message.reasoning,
    usage: {
      input: usage.prompt_tokens,
      output: usage.completion_tokens,
      total: usage.total_tokens,
      cached: usage.prompt_tokens_details.cached_tokens,
      reasoning: usage.completion_tokens_details.reasoning_tokens,
    },
  };
}

interface WireReply {
  readonly choices: readonly [{ readonly message: { readonly content: string; readonly reasoning: string } }];
  readonly usage: {
    readonly prompt_tokens: number;
    readonly completion_tokens: number;
    readonly total_tokens: number;
    readonly prompt_tokens_details: { readonly cached_tokens: number };
    readonly completion_tokens_details: { readonly reasoning_tokens: number };
  };
}
