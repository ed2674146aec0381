import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import {
  type ClientStream,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
} from '../support/gateway-under-test.ts';
import { completion, delta, finished, said, used } from '../support/hostile-setting.ts';
import {
  chunk,
  events,
  lastChunk,
  pieces,
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';
import { readResponse, textsIn } from '../unit/response-events.ts';

const path = '/v1/responses';
let upstream: ScriptedUpstream;
let gateway: GatewayUnderTest;

async function start(overrides: Omit<GatewayOverrides, 'upstream'> = {}): Promise<void> {
  upstream = await startScriptedUpstream();
  gateway = await startGateway({ upstream, ...overrides });
}

afterEach(async () => {
  await gateway?.close();
  await upstream?.close();
});

const stream = (more: object = {}): Promise<ClientStream> =>
  gateway.stream({ model: 'aion-labs/aion-3.5', input: 'Hello?', ...more }, { path });
const deltasOf = (text: string) =>
  readResponse(text).events.flatMap(event => (event.type.endsWith('.delta') ? [event.delta] : []));
/** Type and text of each item. */
const itemsOf = (text: string) =>
  readResponse(text).items.map(item => [
    item.type,
    textsIn(item)
      .map(part => part.text)
      .join(''),
  ]);

describe('the stream of a response', () => {
  it('is committed with a comment and kept alive while the upstream is silent', async () => {
    await start({ server: { stream_commit_ms: 100, keepalive_ms: 100 } });
    upstream.reply(async socket => {
      socket.write(streamHead());
      await sleep(600);
      socket.write(chunk(events(said('Hello'))));
      await sleep(600);
      socket.write(Buffer.concat([chunk(events(finished(), used(7, 3), '[DONE]')), Buffer.from(lastChunk)]));
    });
    const { text } = await stream();
    const beats = (part: string) => part.split(': keep-alive\n\n').length - 1;
    const [before = '', after = ''] = text.split('"delta":"Hello"');
    expect(beats(before)).toBeGreaterThanOrEqual(2);
    expect(beats(after)).toBeGreaterThanOrEqual(2);
    expect(text.indexOf(': keep-alive')).toBe(0);
    expect(itemsOf(text)).toEqual([['message', 'Hello']]);
  });

  it('begins like every response when it fails after the commit', async () => {
    await start({ server: { stream_commit_ms: 50 } });
    upstream.reply(async socket => {
      await sleep(300);
      socket.write(whole(500, { error: { message: 'x' } }));
    });
    const { status, events: told } = await stream();
    expect(status).toBe(200);
    expect(told.map(({ event, data }) => event ?? data)).toEqual([
      'response.created',
      'response.in_progress',
      'error',
      'response.failed',
      '[DONE]',
    ]);
    expect(told.slice(0, -1).map(({ json }) => json.sequence_number)).toEqual([0, 1, 2, 3]);
  });

  it('separates reasoning between tags, wherever they are cut', async () => {
    await start();
    const text = '<think>Hm, a greeting.</think>\n\nHello there.';
    const parts = [...text].map(said);
    upstream.reply(streamed(events(...parts, finished(), used(7, 3), '[DONE]')));
    expect(itemsOf((await stream()).text)).toEqual([
      ['reasoning', 'Hm, a greeting.'],
      ['message', 'Hello there.'],
    ]);
    upstream.reply(streamed(events(...parts, finished(), used(7, 3), '[DONE]')));
    expect(itemsOf((await stream({ reasoning_split: false })).text)).toEqual([['message', text]]);
  });

  it('has pieces of the configured size', async () => {
    const rechunk = { coalesce_characters: 6, coalesce_ms: 2000, split_characters: 8 };
    await start({
      stages: ['error-envelope', 'auth', 'validation', { 'stream-rechunk': rechunk }, 'reasoning-split'],
    });
    const parts = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'abcdefghijkl'].map(said);
    upstream.reply(streamed(events(...parts, finished(), used(7, 3), '[DONE]')));
    const { text } = await stream();
    expect(deltasOf(text)).toEqual(['a', 'bcdefg', 'abcdefgh', 'ijkl']);
  });

  it('can be built from a whole reply of the upstream', async () => {
    await start();
    upstream.reply(whole(200, completion('Hello.', { reasoning: 'Hm.' })));
    expect(itemsOf((await stream()).text)).toEqual([
      ['reasoning', 'Hm.'],
      ['message', 'Hello.'],
    ]);
  });

  it('contains one choice, whatever the upstream sends', async () => {
    await start();
    const other = delta({ content: 'other' }, 'stop', {}, 1);
    upstream.reply(streamed(events(said('one'), other, finished(), used(7, 3), '[DONE]')));
    expect(itemsOf((await stream()).text)).toEqual([['message', 'one']]);
  });

  it('has estimated running usage when the upstream sends none, and the true usage at its end', async () => {
    await start({ adapter: 'openai' });
    const words = ['The', ' rivers', ' bend', ' where', ' the', ' bank', ' gives', ' way', '.'].map(said);
    upstream.reply(streamed(events(...words, finished(), used(7, 9, 2), '[DONE]')));
    const { text } = await stream({ stream_options: { continuous_usage_stats: true } });
    const { events: told, last } = readResponse(text);
    const tokens = told.map(({ usage }) => (usage as { output_tokens: number }).output_tokens);
    expect(tokens[0]).toBe(0);
    expect(new Set(tokens).size).toBeGreaterThan(5);
    expect(tokens.slice(0, -1)).toEqual(tokens.slice(0, -1).toSorted((a, b) => a - b));
    expect(last.usage).toMatchObject({
      input_tokens: 7,
      output_tokens: 9,
      total_tokens: 16,
      input_tokens_details: { cached_tokens: 2 },
    });
  });

  it('reports the usage until it broke off', async () => {
    await start();
    upstream.reply(
      thenClose(
        streamHead(),
        chunk(
          events(delta({ content: 'Hello' }, null, { usage: { prompt_tokens: 7, completion_tokens: 1 } })),
        ),
      ),
    );
    const { events: told } = await stream({ stream_options: { continuous_usage_stats: true } });
    for (const { json } of told.slice(-3, -1))
      expect(json.usage).toMatchObject({ input_tokens: 7, output_tokens: 1 });
  });

  it('fails when a server adds to arguments of a call that were complete', async () => {
    await start();
    const call = (index: number, text: string, name?: string) =>
      delta({
        tool_calls: [{ index, ...(name && { id: `call_${name}` }), function: { name, arguments: text } }],
      });
    const deltas = [call(0, '{}', 'roll'), call(1, '{', 'toss'), call(0, ' '), call(0, '{"again":1}')];
    upstream.reply(pieces([streamHead(), chunk(events(...deltas))]));
    const { events: told } = await stream();
    expect(told.slice(-3).map(({ event, data }) => event ?? data)).toEqual([
      'error',
      'response.failed',
      '[DONE]',
    ]);
    expect(told.at(-3)?.json).toMatchObject({ code: 'provider_error' });
    expect(await upstream.last.closed).toBe('gateway');
    const settled = { endpoint: 'responses', end_reason: 'upstream_failed', error_type: 'provider_error' };
    await until(async () => (await gateway.metric('sluice_requests_total', settled)) === 1);
  });
});
