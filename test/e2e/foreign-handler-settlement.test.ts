import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { defineStage, type Outcome } from '../../src/plugin.ts';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo, settlements } from '../support/chain-app.ts';
import { closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

let simulator: Simulator;
let app: RunningApp;
let outcomes: readonly Outcome[];
let registry: Registry;

beforeEach(async () => {
  simulator = await startSimulator({ cached_tokens: 0.5 });
  registry = new Registry();
  const remembered = settlements();
  outcomes = remembered.outcomes;
  app = await startApp(app => {
    app.use(
      chainOf([remembered.stage, ...allStages()], { registry, stream_commit_ms: 100 }),
      proxyTo(simulator),
    );
  });
});

afterEach(async () => {
  await closeApps();
  await simulator.close();
});

const chat = (content: string, more: object = {}, headers: Record<string, string> = {}) =>
  post(`${app.url}/v1/chat/completions`, ask(content, more), headers).then(reply => reply.text());

/** Asks, and leaves when the first bytes have come, or after a while if none come. */
async function leaving(content: string, more: object): Promise<void> {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(), 400);
  try {
    const reply = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask(content, more)),
      signal: controller.signal,
    });
    await reply.body!.getReader().read();
    controller.abort();
  } catch {
    // It has left.
  }
  clearTimeout(timer);
}

const stream = { stream: true };
const short = 'tokens=4 reasoning_tokens=2';

/** Every way in which an exchange can end: what is asked, and what is settled. */
const endings: [string, () => Promise<unknown>, Partial<Outcome>][] = [
  ['a reply', () => chat(`[[sim:${short}]]`), { end_reason: 'completed', status: 200 }],
  ['a stream', () => chat(`[[sim:${short}]]`, stream), { end_reason: 'completed', status: 200 }],
  [
    'a stream without [DONE]',
    () => chat(`[[sim:${short} no_done]]`, stream),
    { end_reason: 'completed', status: 200 },
  ],
  [
    'a missing key',
    () => chat('Hello?', {}, { authorization: '' }),
    { end_reason: 'refused', status: 401, error_type: 'authentication_error' },
  ],
  [
    'a body that is not JSON',
    () => post(`${app.url}/v1/chat/completions`, '{').then(reply => reply.text()),
    { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' },
  ],
  [
    'a refusal by a stage',
    () => chat('Hello?', { n: 99 }),
    { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' },
  ],
  [
    'a refusal by the upstream',
    () => chat('[[sim:status=400]]'),
    { end_reason: 'refused', status: 400, error_type: 'invalid_request_error' },
  ],
  [
    'an error of the upstream',
    () => chat('[[sim:status=500]]', stream),
    { end_reason: 'upstream_failed', status: 502, error_type: 'provider_error' },
  ],
  [
    'a reset before the reply',
    () => chat('[[sim:reset]]'),
    { end_reason: 'upstream_failed', status: 502, error_type: 'provider_error' },
  ],
  [
    'a reset in the stream',
    () => chat('[[sim:reset=4]]', stream),
    { end_reason: 'upstream_failed', status: 200, error_type: 'provider_error' },
  ],
  [
    'an error after an early commit',
    () => chat('[[sim:ttft=300 truncate=1]]', stream),
    { end_reason: 'upstream_failed', status: 200, error_type: 'provider_error' },
  ],
  [
    'a client that leaves a stream',
    () => leaving('[[sim:tokens=endless tps=50]]', stream),
    { end_reason: 'client_gone', status: 200, error_type: undefined },
  ],
  [
    'a client that leaves before a reply',
    () => leaving('[[sim:stall]]', {}),
    { end_reason: 'client_gone', status: 0, error_type: undefined },
  ],
  [
    'another endpoint',
    () => fetch(`${app.url}/v1/models`).then(reply => reply.text()),
    { end_reason: 'completed', status: 200, endpoint: 'models' },
  ],
];

describe('an exchange', () => {
  it.each(endings)('is settled exactly once: %s', async (_, exchange, outcome) => {
    await exchange();
    await until(() => outcomes.length > 0);
    // For a second end that should not come.
    await sleep(150);
    expect(outcomes).toEqual([expect.objectContaining(outcome)]);
    const metrics = await registry.metrics();
    expect(metrics.match(/^sluice_requests_total\{.* [1-9]\d*$/gm)).toEqual([expect.stringMatching(/ 1$/)]);
    expect(metrics).toMatch(/^sluice_in_flight\{.*\} 0$/m);
  });
});

describe('the settlement of an exchange', () => {
  it.each([{}, stream])('contains the usage that the client received: %j', async more => {
    const told = /"usage":(\{.*?\}\})/.exec(
      await chat(`[[sim:${short}]]`, { ...more, max_tokens: 100 }),
    )?.[1];
    const usage = JSON.parse(told ?? 'null');
    expect(outcomes).toHaveLength(1);
    expect(outcomes[0]).toMatchObject({
      account: 'tester',
      model: 'aion-labs/aion-3.5',
      usage: {
        prompt_tokens: usage.prompt_tokens,
        completion_tokens: usage.completion_tokens,
        cached_tokens: usage.prompt_tokens_details.cached_tokens,
        estimated: false,
      },
    });
    expect(usage.completion_tokens).toBeGreaterThanOrEqual(6);
  });

  it('contains estimated usage up to the point where a stage throws in a stream', async () => {
    const quitting = defineStage({
      name: 'quitting',
      schema: z.strictObject({}),
      create: () => ({
        onStream: () => {
          let count = 0;
          return {
            transform(chunk, controller) {
              if (++count > 3) throw new Error('enough');
              controller.enqueue(chunk);
            },
          };
        },
      }),
    });
    const { outcomes, stage } = settlements();
    const other = await startApp(app =>
      app.use(chainOf([stage, ...allStages(), quitting()]), proxyTo(simulator)),
    );
    const reply = await post(
      `${other.url}/v1/chat/completions`,
      ask('[[sim:tokens=endless tps=50]]', stream),
    );
    expect(await reply.text()).toMatch(/"server_error"\}\}\n\ndata: \[DONE\]\n\n$/);
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'internal_error', usage: { estimated: true } }]);
    expect(outcomes[0]?.usage.prompt_tokens).toBeGreaterThan(0);
    expect(outcomes[0]?.usage.completion_tokens).toBeGreaterThan(0);
    await until(() => simulator.stats.aborted === 1);
  });

  it('excludes the time of the handler from the gateway overhead', async () => {
    await chat(`[[sim:ttft=250 ${short}]]`, stream);
    await chat(`[[sim:ttft=250 ${short}]]`);
    for (const { timings } of outcomes) {
      expect(timings.upstream_wait_ms).toBeGreaterThan(200);
      expect(timings.duration_ms).toBeGreaterThan(200);
    }
    const sum = /^sluice_overhead_seconds_sum\{.*\} (.*)$/m.exec(await registry.metrics())?.[1];
    expect(Number(sum)).toBeLessThan(0.2);
  });

  it('records the duration of each stage and hook', async () => {
    await chat(`[[sim:${short}]]`, stream);
    await chat(`[[sim:${short}]]`);
    const metrics = await registry.metrics();
    for (const [stage, hook, count] of [
      ['auth', 'onHeaders', 2],
      ['validation', 'onRequest', 2],
      ['rate-limit', 'onRequest', 2],
      ['request-rewrite', 'onRequest', 2],
      ['reasoning-split', 'onReply', 1],
      ['reasoning-split', 'onStream', 1],
      ['stream-rechunk', 'onStream', 1],
    ]) {
      expect(metrics).toContain(
        `sluice_stage_duration_seconds_count{stage="${stage}",hook="${hook}"} ${count}`,
      );
    }
  });
});
