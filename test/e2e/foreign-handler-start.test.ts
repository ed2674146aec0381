import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Request, Response } from 'express';
import { z } from 'zod';
import { defineStage, refusal, type StreamTransformer } from '../../src/plugin.ts';
import { chainOf, post, settlements } from '../support/chain-app.ts';
import { closeApps, startApp } from '../support/express-app.ts';
import { stream } from '../support/foreign-replies.ts';
import { ask } from '../support/gateway-under-test.ts';
import { until } from '../support/until.ts';

afterEach(closeApps);

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
    app.use(chainOf([stage, own()], options), (_: Request, response: Response) => {
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
