import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { clientKey } from '../support/gateway-under-test.ts';
import { delta, finished, used } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  lastChunk,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import { endServed, type SidecarHere, serveHere } from '../support/sidecar-here.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

const model = 'aion-labs/aion-3.5';
let upstream: ScriptedUpstream;
let sidecar: SidecarHere;
/** Lets the upstream end the streams that it has begun. */
const goOn: (() => void)[] = [];

beforeAll(async () => {
  upstream = await startScriptedUpstream(socket => {
    socket.write(streamHead() + chunk(events(delta({ content: 'first' }))).toString());
    goOn.push(() =>
      socket.write(chunk(events(delta({ content: ' last' }), finished(), used(5, 2), '[DONE]')) + lastChunk),
    );
  });
  sidecar = await serveHere(
    sidecarConfig(upstream.url, {
      responses: {
        store: { ttl_days: 1, keys: ['a secret of more than thirty-two characters'], max_background: 2 },
      },
    }),
  );
});
afterAll(async () => {
  await endServed();
  await upstream?.close();
});

const client = () => new OpenAI({ apiKey: clientKey, baseURL: `${sidecar.url}/v1`, maxRetries: 0 });
const begin = (more: object = {}) =>
  client().responses.create({ model, input: 'Hello', background: true, ...more });
const stateOf = async (id: string) => (await client().responses.retrieve(id)).status;
const release = async (count = 1) => {
  await until(() => goOn.length >= count);
  for (const one of goOn.splice(0)) one();
};

describe('a response in the background', () => {
  it('is queued, generated without its client, and read when it has ended', async () => {
    const queued = await begin();
    expect(queued).toMatchObject({ status: 'queued', background: true, store: true, output: [] });
    expect(await stateOf(queued.id)).toBe('in_progress');
    const early = client().responses.create({ model, input: 'More', previous_response_id: queued.id });
    await expect(early).rejects.toMatchObject({ status: 400 });
    await release();
    await until(async () => (await stateOf(queued.id)) === 'completed');
    const done = await client().responses.retrieve(queued.id);
    expect(done).toMatchObject({ background: true, output_text: 'first last', usage: { output_tokens: 2 } });
    const settled = sidecar.lines.filter(
      ({ endpoint, status }) => endpoint === 'responses' && status === 200,
    );
    expect(settled).toHaveLength(1);
    const counted = await client().responses.inputTokens.count({
      model,
      input: 'More',
      previous_response_id: queued.id,
    });
    const alone = await client().responses.inputTokens.count({ model, input: 'More' });
    expect(counted.input_tokens).toBeGreaterThan(alone.input_tokens);
  });

  it('is followed from any event on, by clients that come and go', async () => {
    const stream = await client().responses.create({ model, input: 'Hi', background: true, stream: true });
    let [id, last] = ['', -1];
    for await (const event of stream) {
      if (event.type === 'response.created') id = event.response.id;
      last = event.sequence_number;
      if (event.type === 'response.output_text.delta') break;
    }
    // biome-ignore lint/plugin: nothing shows that the gateway has seen the first client leave, as nothing must come of it.
    await sleep(100);
    const followed = client().responses.retrieve(id, { stream: true, starting_after: last });
    await release();
    const texts: string[] = [];
    for await (const event of await followed) {
      expect(event.sequence_number).toBe(++last);
      if (event.type === 'response.output_text.delta') texts.push(event.delta);
      if (event.type === 'response.completed')
        expect(event.response.output_text ?? 'first last').toBe('first last');
    }
    expect(texts).toEqual([' last']);
    const again = await client().responses.retrieve(id, { stream: true, starting_after: last - 1 });
    const left: string[] = [];
    for await (const event of again) left.push(event.type);
    expect(left).toEqual(['response.completed']);
  });

  it('is cancelled, and then stays so', async () => {
    const { id } = await begin();
    await until(() => goOn.length === 1);
    await expect(client().responses.delete(id)).rejects.toMatchObject({ status: 400 });
    expect((await client().responses.cancel(id)).status).toBe('cancelled');
    expect((await client().responses.cancel(id)).status).toBe('cancelled');
    expect(await upstream.last.closed).toBe('gateway');
    await release();
    expect(await stateOf(id)).toBe('cancelled');
    await client().responses.delete(id);
  });

  it('fails with its provider, and is refused above the number of an account and without a store', async () => {
    upstream.replyOnce(whole(400, { error: { message: 'No.' } }));
    const { id } = await begin();
    await until(async () => (await stateOf(id)) === 'failed');
    expect((await client().responses.retrieve(id)).error?.code).toBe('invalid_prompt');
    const [first, second] = [await begin(), await begin()];
    await expect(begin()).rejects.toMatchObject({ status: 429 });
    await expect(begin({ store: false })).rejects.toMatchObject({ status: 400 });
    await release(2);
    for (const one of [first, second]) await until(async () => (await stateOf(one.id)) === 'completed');
  });

  it('ends as failed when the gateway shuts down', async () => {
    const { id } = await begin();
    await until(() => goOn.length === 1);
    const headers = { authorization: `Bearer ${clientKey}` };
    const followed = await fetch(`${sidecar.url}/v1/responses/${id}?stream=true`, { headers });
    const closing = sidecar.close(0);
    const types = [...(await followed.text()).matchAll(/^event: (\S+)$/gm)].map(([, type]) => type);
    expect([types[0], types.at(-1)]).toEqual(['response.created', 'response.failed']);
    await closing;
  });
});
