import { afterEach, describe, expect, it } from '@jest/globals';
import type { Response as ExpressResponse, Request } from 'express';
import { auth, type ChainOptions, errorEnvelope, rateLimit } from '../../src/index.ts';
import { startSimulator } from '../../src/simulator/server.ts';
import { allStages, chainOf, post, proxyTo, settlements } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { brokenStream, stream, whole } from '../support/foreign-replies.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

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

  it('is read to its end through a proxy without aborting the upstream', async () => {
    const simulator = alongside(await startSimulator());
    const { outcomes, stage } = settlements();
    const app = await startApp(app =>
      app.use(chainOf([stage, ...allStages()], { non_stream_timeout_ms: 50 }), proxyTo(simulator)),
    );
    const content = 'Hello [[sim:ttft=300 tokens=30 reasoning_tokens=10]]';
    const reply = await post(`${app.url}/v1/chat/completions`, ask(content));
    expect([reply.status, await reply.json()]).toEqual([524, tooLong]);
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'time_limit', usage: { estimated: false } }]);
    expect(outcomes[0]!.usage.completion_tokens).toBeGreaterThanOrEqual(30);
    expect(simulator.stats).toMatchObject({ aborted: 0 });
  });

  it('is abandoned after max_background_ms, which ends the handler and releases its permit', async () => {
    const { heard, handler, responses } = waiting();
    const { ask, outcomes } = await limited({ non_stream_timeout_ms: 50, max_background_ms: 50 }, handler);
    expect((await ask()).status).toBe(524);
    await until(() => outcomes.length === 1);
    expect(outcomes).toMatchObject([{ end_reason: 'background_aborted', status: 524 }]);
    await until(() => heard.length === 1);
    expect([heard, responses[0]!.destroyed]).toEqual([['close'], true]);
    expect((await ask()).status).toBe(524);
  });

  it('is abandoned at once when max_background is reached', async () => {
    const { heard, handler } = waiting();
    const { ask, outcomes } = await limited({ non_stream_timeout_ms: 50, max_background: 0 }, handler);
    expect((await ask()).status).toBe(524);
    await until(() => outcomes.length === 1 && heard.length === 1);
  });

  it('is settled by an earlier chain only when it has been read', async () => {
    const { handler, responses } = waiting();
    const first = settlements();
    const app = await startApp(app => {
      app.use(chainOf([auth(), first.stage]));
      app.use(chainOf(allStages().slice(2), { non_stream_timeout_ms: 50 }), handler as never);
    });
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
    expect(reply.status).toBe(524);
    await reply.text();
    expect(first.outcomes).toEqual([]);
    responses[0]!.type('application/json').send(whole);
    await until(() => first.outcomes.length === 1);
    expect(first.outcomes).toMatchObject([{ end_reason: 'time_limit', usage: { completion_tokens: 4 } }]);
  });

  it('is timed once when several chains transform it', async () => {
    const { handler, responses } = waiting();
    const [first, second] = [settlements(), settlements()];
    const options = { non_stream_timeout_ms: 50 };
    const app = await startApp(app => {
      app.use(chainOf([first.stage, errorEnvelope(), auth()], options));
      app.use(chainOf([second.stage, errorEnvelope()], options), handler as never);
    });
    const reply = await post(`${app.url}/v1/chat/completions`, ask('Hello?'));
    expect([reply.status, await reply.json()]).toEqual([524, tooLong]);
    expect([first.outcomes, second.outcomes]).toEqual([[], []]);
    responses[0]!.type('application/json').send(whole);
    await until(() => first.outcomes.length === 1 && second.outcomes.length === 1);
    expect(first.outcomes).toMatchObject([{ status: 524, usage: { completion_tokens: 4 } }]);
  });
});

describe('a silent handler', () => {
  it('causes a 502 before its reply, is ended, and releases its permit', async () => {
    const { heard, handler } = waiting();
    const { ask, outcomes } = await limited({ idle_timeout_ms: 50 }, handler);
    for (const stream of [false, true]) {
      const reply = await ask({ stream });
      expect([reply.status, await reply.json()]).toEqual([
        502,
        { error: { type: 'provider_error', message: 'The upstream provider could not be reached.' } },
      ]);
      await until(() => heard.includes('close'));
      heard.length = 0;
    }
    await until(() => outcomes.length === 2);
    expect(outcomes).toMatchObject([{ end_reason: 'upstream_failed' }, { end_reason: 'upstream_failed' }]);
  });

  it('causes a 502 in the middle of a whole reply', async () => {
    const { ask } = await limited({ idle_timeout_ms: 50 }, (_request, response) => {
      response.type('application/json').write(whole.slice(0, 40));
    });
    expect((await ask()).status).toBe(502);
  });

  it('ends a stream with an error event', async () => {
    const { ask, outcomes } = await limited({ idle_timeout_ms: 50 }, (_request, response) => {
      response.type('text/event-stream').write(stream.slice(0, 3).join(''));
    });
    const { message } = await brokenStream(await ask({ stream: true }));
    expect(message).toBe('The upstream provider closed the stream unexpectedly.');
    await until(() => outcomes.length === 1);
    expect((await ask({ stream: true })).status).toBe(200);
  });

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

  it('is one without any write, so one that keeps writing is not ended', async () => {
    const { ask } = await limited({ idle_timeout_ms: 1000 }, async (_request, response) => {
      response.type('text/event-stream');
      for (let beat = 0; beat < 30; beat++) {
        response.write(': working\n\n');
        await new Promise(resolve => setTimeout(resolve, 40));
      }
      response.end(stream.join(''));
    });
    expect(await (await ask({ stream: true })).text()).toContain('"finish_reason":"stop"');
  });
});
