import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { auth, validation } from '../../src/index.ts';
import { defineStage } from '../../src/plugin.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { chainOf, settlements } from '../support/chain-app.ts';
import { connected, proxied, requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { said } from '../support/hostile-setting.ts';
import { chunk, events, startScriptedUpstream, streamHead } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

const scripted = async (script: Parameters<typeof startScriptedUpstream>[0]) =>
  alongside(await startScriptedUpstream(script));

describe('a client that disconnects', () => {
  it('in the middle of a stream aborts the upstream request', async () => {
    const upstream = await scripted(streamHead() + chunk(events(said('So far.'))));
    const { app, outcomes } = await proxied(upstream);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?', { stream: true })));
    await connection.received(/So far\./);
    connection.destroy();
    expect(await upstream.last.closed).toBe('gateway');
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 200, error_type: undefined }]);
    // It has used the tokens it has seen.
    expect(outcomes[0]?.usage).toMatchObject({ estimated: true, completion_tokens: 3 });
  });

  it.each([true, false])(
    'before the reply has begun aborts the upstream request (stream: %s)',
    async stream => {
      const upstream = await scripted('');
      const { app, outcomes } = await proxied(upstream);
      const connection = connected(app);
      connection.write(requestOf(ask('Hello?', { stream })));
      await until(() => upstream.requests.length === 1);
      connection.destroy();
      expect(await upstream.last.closed).toBe('gateway');
      await until(() => outcomes.length > 0);
      expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    },
  );

  it('from an endless generation stops the upstream', async () => {
    const simulator = alongside(await startSimulator());
    const { app, outcomes } = await proxied(simulator);
    const controller = new AbortController();
    const reply = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(ask('[[sim:tokens=endless tps=200]]', { stream: true })),
      signal: controller.signal,
    });
    const reader = reply.body!.getReader();
    await reader.read();
    controller.abort();
    await until(() => simulator.stats.aborted === 1 && outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone' }]);
  });

  it('while sending its body causes no upstream request', async () => {
    const upstream = await scripted('');
    const { app, outcomes } = await proxied(upstream);
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?')).slice(0, -10));
    await sleep(50);
    connection.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    expect(upstream.requests).toEqual([]);
  });

  it.each([
    ['onHeaders', [] as const],
    ['onRequest', [validation()] as const],
  ] as const)('while a stage is running %s prevents the call of the handler', async (hook, stages) => {
    const { outcomes, stage } = settlements();
    let release = () => {};
    const busy = new Promise<void>(resolve => (release = resolve));
    let isBusy = false;
    const slow = defineStage({
      name: 'slow',
      schema: z.strictObject({}),
      create: () => ({
        [hook]: () => {
          isBusy = true;
          return busy;
        },
      }),
    });
    let called = false;
    const app = await startApp(app => {
      app.use(chainOf([stage, auth(), ...stages, slow()]), () => void (called = true));
    });
    const connection = connected(app);
    connection.write(requestOf(ask('Hello?')));
    await until(() => isBusy);
    connection.destroy();
    await sleep(50);
    release();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 0 }]);
    expect(called).toBe(false);
  });

  it('from another endpoint settles the exchange', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, auth()]), (_request, response) => void response.write('begun'));
    });
    const connection = connected(app);
    connection.write(requestOf({}, '/v1/embeddings'));
    await connection.received(/begun/);
    connection.destroy();
    await until(() => outcomes.length > 0);
    expect(outcomes).toMatchObject([{ end_reason: 'client_gone', status: 200, endpoint: 'unknown' }]);
  });
});
