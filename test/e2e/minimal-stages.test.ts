import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { Usage } from '../../src/gateway/exchange/canonical.ts';
import { auth, errorEnvelope } from '../../src/index.ts';
import { defineStage } from '../../src/plugin.ts';
import { chainOf, post, proxyTo } from '../support/chain-app.ts';
import { alongside, closeApps, startApp } from '../support/express-app.ts';
import { ask, eventsOf, startGateway } from '../support/gateway-under-test.ts';
import { delta, finished, said } from '../support/hostile-setting.ts';
import { events, type Script, startScriptedUpstream, streamed, whole } from '../support/scripted-upstream.ts';

afterEach(closeApps);

const usage = { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 };
const shown = { ...usage, prompt_tokens_details: { cached_tokens: 0 } };

/** A stage that sees the reply, so that a chain reads it, and leaves it as it is. */
const looking = defineStage({
  name: 'looking',
  schema: z.strictObject({}),
  create: () => ({ onReply: (_, reply) => ({ choices: reply.choices }), onStream: () => undefined }),
});

/** Sends a request to an upstream that plays `script`, through these stages alone. */
const ways: Record<string, (script: Script) => Promise<(more: object) => Promise<Response>>> = {
  'a gateway without stages': script => gatewayWith(script, []),
  'a gateway with auth alone': script => gatewayWith(script, ['auth']),
  'a chain with error-envelope alone': script => chainWith(script, [errorEnvelope()]),
  'a chain with auth and a stage that changes nothing': script => chainWith(script, [auth(), looking()]),
};

async function gatewayWith(script: Script, stages: string[]) {
  const upstream = alongside(await startScriptedUpstream(script));
  const gateway = alongside(await startGateway({ upstream, stages, server: { open: stages.length === 0 } }));
  return (more: object) => gateway.post(ask('Hello?', more));
}

async function chainWith(script: Script, stages: Parameters<typeof chainOf>[0]) {
  const upstream = alongside(await startScriptedUpstream(script));
  const app = await startApp(app => app.use(chainOf(stages), proxyTo(upstream)));
  return (more: object) => post(`${app.url}/v1/chat/completions`, ask('Hello?', more));
}

/** As vLLM streams: usage on every chunk, ids of its own, roles anywhere, and usage in a chunk without choices. */
const running = (completion_tokens: number) => ({
  usage: { ...usage, completion_tokens, total_tokens: 7 + completion_tokens },
});
const wire = streamed(
  events(
    { ...said('Hello'), id: 'a', created: 1, model: 'gpu-7', ...running(1) },
    { ...delta({ role: 'assistant', content: ' there' }), id: 'b', ...running(2) },
    { ...finished(), id: 'c', ...running(3) },
    { choices: [], ...running(3) },
    '[DONE]',
  ),
);

/** A chunk as a client sees it. */
interface SeenChunk {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly choices: readonly unknown[];
  readonly usage: Usage;
}

const chunksOf = async (reply: Response) => {
  const parts = eventsOf(await reply.text());
  expect(parts.at(-1)?.data).toBe('[DONE]');
  return parts.slice(0, -1).map(({ json }) => json as SeenChunk);
};

describe.each(Object.keys(ways))('%s', way => {
  it('streams the role first and finish and usage last, in chunks with one identity', async () => {
    const send = await ways[way]!(wire);
    const chunks = await chunksOf(await send({ stream: true, stream_options: { include_usage: true } }));
    expect(chunks.map(({ choices }) => choices)).toEqual([
      [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
      [{ index: 0, delta: { content: 'Hello' }, finish_reason: null }],
      [{ index: 0, delta: { content: ' there' }, finish_reason: null }],
      [{ index: 0, delta: {}, finish_reason: 'stop' }],
    ]);
    expect(chunks.map(chunk => chunk.usage)).toEqual([undefined, undefined, undefined, shown]);
    expect(new Set(chunks.map(({ id, created, model }) => `${id} ${created} ${model}`)).size).toBe(1);
    expect(chunks[0]?.model).toBe('aion-labs/aion-3.5');
  });

  it('streams running usage that never decreases on every chunk when asked to', async () => {
    const send = await ways[way]!(wire);
    const reply = await send({ stream: true, stream_options: { continuous_usage_stats: true } });
    const told = (await chunksOf(reply)).map(chunk => chunk.usage);
    expect(told).toHaveLength(4);
    expect(told[0]?.completion_tokens).toBe(0);
    const completions = told.map(({ completion_tokens }) => completion_tokens);
    expect(completions).toEqual(completions.toSorted((a, b) => a - b));
    expect(told.at(-1)).toEqual(shown);
  });

  it('answers a whole reply with usage and content', async () => {
    const choices = [{ index: 0, message: { role: 'assistant', content: null }, finish_reason: 'length' }];
    const send = await ways[way]!(whole(200, { id: 'a', object: 'chat.completion', choices, usage }));
    const reply = (await (await send({})).json()) as Record<string, unknown>;
    expect(reply).toMatchObject({ model: 'aion-labs/aion-3.5', usage: shown });
    expect(reply.choices).toEqual([
      { index: 0, message: { role: 'assistant', content: '' }, finish_reason: 'length' },
    ]);
  });
});
