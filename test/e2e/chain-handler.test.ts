import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { Express, Response as ExpressResponse, Request, RequestHandler } from 'express';
import { Registry } from 'prom-client';
import { z } from 'zod';
import { auth, type ChainOptions, rateLimit, validation } from '../../src/index.ts';
import { defineStage, refusal, type StreamTransformer } from '../../src/plugin.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo, settlements } from '../support/chain-app.ts';
import { connected, requestOf } from '../support/chain-connection.ts';
import { alongside, closeApps, type RunningApp, startApp } from '../support/express-app.ts';
import { brokenStream, stream, whole } from '../support/foreign-replies.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { bothWays, expectRefusal, finished, said } from '../support/hostile-setting.ts';
import { events } from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

const chat = '/v1/chat/completions';

afterAll(closeApps);

/** All stages in front of a handler of the application. */
const handled = (handler: (app: Express) => unknown) =>
  startApp(async app => {
    app.use(chainOf());
    await handler(app);
  });

const askFor = (app: RunningApp, stream: boolean) => post(app.url + chat, ask('Hello?', { stream }));

describe('an application handler', () => {
  const unreachable = 'The upstream provider could not be reached.';
  it.each<[string, RequestHandler, string | undefined]>([
    ['calls next with an error', (_request, _response, next) => next(new Error('secret')), undefined],
    ['throws before it has replied', () => Promise.reject(new Error('secret')), undefined],
    ['destroys the response before it has replied', (_, response) => void response.destroy(), unreachable],
  ])('that %s causes a 502 in the OpenAI error format', async (what, handler, message) => {
    for (const { stream } of bothWays) {
      const app = await handled(app => app.use(handler));
      const told = await expectRefusal(await askFor(app, stream), 502, 'provider_error', message);
      expect(told).not.toMatch(/secret|parent error/);
      expect(app.errors).toMatchObject(what.startsWith('destroys') ? [] : [{ message: 'secret' }]);
    }
  });

  it('that destroys the response in the middle of a stream causes an error event', async () => {
    const app = await handled(app =>
      app.use((_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        setTimeout(() => response.destroy(), 20);
      }),
    );
    const broken = await brokenStream(await askFor(app, true));
    expect(broken).toEqual({
      content: 'So far.',
      message: 'The upstream provider closed the stream unexpectedly.',
    });
  });

  it('that throws in the middle of its stream causes a closed connection, not a stream that looks complete', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      app.use(chainOf([stage, ...allStages()]), async (_request, response) => {
        response.type('text/event-stream').write(events(said('So far.')));
        await new Promise(resolve => setTimeout(resolve, 30));
        throw new Error('secret');
      });
    });
    const reply = await askFor(app, true);
    expect(reply.status).toBe(200);
    await expect(reply.text()).rejects.toThrow();
    expect(outcomes).toMatchObject([{ status: 200, end_reason: 'client_gone' }]);
  });

  it('that replies after stream_commit_ms may still set headers', async () => {
    const app = await startApp(app => {
      app.use(chainOf(allStages(), { stream_commit_ms: 30 }), async (_request, response) => {
        // biome-ignore lint/plugin: longer than stream_commit_ms.
        await new Promise(resolve => setTimeout(resolve, 150));
        response.set('x-late', 'yes').type('text/event-stream').status(200);
        response.write(events(said('Late.')));
        response.end(events(finished(), '[DONE]'));
      });
    });
    const reply = await askFor(app, true);
    expect(reply.headers.get('x-late')).toBeNull();
    const text = await reply.text();
    expect(text).toContain('"content":"Late."');
    expect(text).toMatch(/"finish_reason":"stop".*data: \[DONE\]\n\n$/s);
    expect(app.errors).toEqual([]);
  });

  it('that is missing causes a configuration error in place of the 404 of the parent', async () => {
    await expectRefusal(await askFor(await handled(() => {}), false), 400, 'configuration_error');
  });

  it.each([false, true])('that throws in a plain Node server causes a 502 (stream: %s)', async stream => {
    const chain = chainOf();
    const thrower = () => {
      throw new Error('secret');
    };
    const app = await startApp(app => app.use((request, response) => chain(request, response, thrower)));
    const message = await expectRefusal(await askFor(app, stream), 502, 'server_error');
    expect(message).not.toContain('secret');
  });

  it('keeps its own errors when no stage transforms the reply', async () => {
    const app = await startApp(app => {
      app.use(chainOf([auth(), validation()]));
      app.use((_request, response) => void response.status(418).send('<b>own</b>'));
    });
    const reply = await askFor(app, true);
    expect([reply.status, await reply.text()]).toEqual([418, '<b>own</b>']);
  });
});

/** A streamed request to a chain with a transformer that begins so; what happened, in order. */
async function beginning(start: () => Promise<void>, options: object = {}) {
  const events: string[] = [];
  const transformer: StreamTransformer = {
    async start() {
      await start();
      events.push('started');
    },
    transform: (chunk, controller) => controller.enqueue(chunk),
  };
  const own = defineStage({
    name: 'own',
    schema: z.strictObject({}),
    create: () => ({ onStream: () => transformer }),
  });
  const { outcomes, stage } = settlements();
  const app = await startApp(app =>
    app.use(chainOf([stage, own()], options), (_: Request, response: ExpressResponse) => {
      events.push('handler called');
      response.writeHead(200, { 'content-type': 'text/event-stream' }).end(stream.join(''));
    }),
  );
  const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?', { stream: true }));
  const text = await reply.text();
  await until(() => outcomes.length === 1);
  return { status: reply.status, text, events, outcome: outcomes[0]! };
}

describe('the start of a transformer in a chain', () => {
  it('settles before the handler is called', async () => {
    const { status, text, events, outcome } = await beginning(() => sleep(50));
    expect([status, text.endsWith('data: [DONE]\n\n')]).toEqual([200, true]);
    expect(events).toEqual(['started', 'handler called']);
    expect(outcome).toMatchObject({ end_reason: 'completed', attempts: { length: 1 } });
  });

  it('may take longer than the handler may be silent', async () => {
    // biome-ignore lint/plugin: longer than the silence that is allowed.
    const { status, events } = await beginning(() => sleep(400), { idle_timeout_ms: 200 });
    expect(status).toBe(200);
    expect(events).toEqual(['started', 'handler called']);
  });

  it('keeps the handler from being called if it refuses', async () => {
    const { status, events, outcome } = await beginning(async () => {
      await sleep(20);
      throw refusal('invalid_request', { message: 'not like this' });
    });
    expect([status, events]).toEqual([400, []]);
    expect(outcome).toMatchObject({ status: 400, end_reason: 'refused' });
  });
});

type Handler = (request: Request, response: ExpressResponse) => unknown;
const tooLong = {
  error: {
    type: 'timeout_error',
    message: expect.stringMatching(/^No complete answer within 0\.05 seconds/),
  },
};

/** An account that may do one thing at a time, in front of a handler. */
async function limited(options: ChainOptions, handler: Handler) {
  const { outcomes, stage } = settlements();
  const chain = chainOf([stage, ...allStages()], {
    accounts: { tester: { plan: 'one', keys: [{ value: clientKey }] } },
    plans: { one: { concurrent_requests: 1 } },
    ...options,
  });
  const app = await startApp(app => app.use(chain, handler as never));
  const chat = `${app.url}/v1/chat/completions`;
  return { outcomes, url: app.url, ask: (more: object = {}) => post(chat, ask('Hello?', more)) };
}

/** A handler that writes only when it is told to, and notes what it hears of its response. */
function waiting() {
  const heard: string[] = [];
  const responses: ExpressResponse[] = [];
  const handler: Handler = (_request, response) => {
    for (const event of ['finish', 'close']) response.on(event, () => heard.push(event));
    responses.push(response);
  };
  return { heard, handler, responses };
}

describe('a whole reply past non_stream_timeout_ms', () => {
  it('is answered 524 while the handler continues unaware, and is billed when it finishes', async () => {
    const { heard, handler, responses } = waiting();
    const { ask, outcomes } = await limited({ non_stream_timeout_ms: 50 }, handler);
    const reply = await ask();
    expect([reply.status, reply.statusText, reply.headers.get('x-should-retry')]).toEqual([
      524,
      'A Timeout Occurred',
      'false',
    ]);
    expect(await reply.json()).toEqual(tooLong);
    const [response] = responses as [ExpressResponse];
    // It still counts.
    expect((await ask()).status).toBe(429);
    expect([heard, response.destroyed, response.writableEnded, response.headersSent]).toEqual([
      [],
      false,
      false,
      false,
    ]);
    response.type('application/json').send(whole);
    await until(() => outcomes.some(({ status }) => status === 524));
    expect(outcomes.find(({ status }) => status === 524)).toMatchObject({
      end_reason: 'time_limit',
      error_type: 'timeout_error',
      usage: { prompt_tokens: 3, completion_tokens: 4, estimated: false },
    });
    await until(() => heard.length === 2);
    expect([heard, response.writableEnded]).toEqual([['finish', 'close'], true]);
    expect((await Promise.race([ask(), until(() => responses.length === 2)])) ?? 'asked').toBe('asked');
  });
});

describe('a silent handler', () => {
  it('is abandoned while its reply is read in the background', async () => {
    const { heard, handler } = waiting();
    const { ask, outcomes } = await limited({ non_stream_timeout_ms: 50, idle_timeout_ms: 150 }, handler);
    expect((await ask()).status).toBe(524);
    await until(() => outcomes.length === 1 && heard.includes('close'));
  });

  it('has its connection closed on a path that no stage transforms', async () => {
    const { outcomes, stage } = settlements();
    const app = await startApp(app => {
      const chain = chainOf([stage, auth(), rateLimit()], { idle_timeout_ms: 50 });
      app.use(chain, (_request: Request, response: ExpressResponse) => void response.write('begun'));
    });
    const reply = await post(`${app.url}/v1/embeddings`, { input: 'Hello' });
    await expect(reply.text()).rejects.toThrow();
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'upstream_failed', endpoint: 'unknown' }]);
  });
});

describe('a client that leaves another endpoint', () => {
  it('has its exchange settled', async () => {
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

describe('the metrics of a chain', () => {
  it('tell the time of each hook, and leave that of the handler out of the overhead', async () => {
    const simulator = alongside(await startSimulator());
    const registry = new Registry();
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use(chainOf([stage, ...allStages()], { registry }), proxyTo(simulator)),
    );
    for (const stream of [true, false])
      await (await post(app.url + chat, ask('[[sim:ttft=250 tokens=4]]', { stream }))).text();
    await until(() => outcomes.length === 2);
    for (const { timings } of outcomes) {
      expect(timings.upstream_wait_ms).toBeGreaterThan(200);
      expect(timings.duration_ms).toBeGreaterThan(200);
    }
    const metrics = await registry.metrics();
    expect(Number(/^sluice_overhead_seconds_sum\{.*\} (.*)$/m.exec(metrics)?.[1])).toBeLessThan(0.2);
    for (const [stage, hook, count] of [
      ['auth', 'onHeaders', 2],
      ['validation', 'onRequest', 2],
      ['rate-limit', 'onRequest', 2],
      ['request-rewrite', 'onRequest', 2],
      ['reasoning-split', 'onReply', 1],
      ['reasoning-split', 'onStream', 1],
      ['stream-rechunk', 'onStream', 1],
    ])
      expect(metrics).toContain(
        `sluice_stage_duration_seconds_count{stage="${stage}",hook="${hook}"} ${count}`,
      );
  });
});
