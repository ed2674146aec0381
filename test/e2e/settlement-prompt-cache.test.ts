import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { trace } from '@opentelemetry/api';
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace';
import type { Usage } from '../../src/gateway/exchange/canonical.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';
import { type RecordsPlace, recordsPlace } from '../support/records-place.ts';
import {
  type ScriptedUpstream,
  startScriptedUpstream,
  streamed,
  whole,
} from '../support/scripted-upstream.ts';

/** Tokens that a provider puts into its cache, which have a price of their own. */

const exporter = new InMemorySpanExporter();
const tracer = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
let upstream: ScriptedUpstream;
let place: RecordsPlace;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  trace.setGlobalTracerProvider(tracer);
  upstream = await startScriptedUpstream();
  place = await recordsPlace();
  gateway = await startGateway({
    upstream,
    adapter: 'anthropic',
    model: {
      pricing: {
        prompt: '0.000003',
        completion: '0.000006',
        input_cache_read: '0.00000075',
        input_cache_write: '0.00000375',
      },
    },
    config: { stores: place.stores },
  });
});

afterAll(async () => {
  await gateway?.close();
  await upstream?.close();
  await place?.remove();
  await tracer.shutdown();
});

const usage = {
  input_tokens: 5,
  cache_read_input_tokens: 16,
  cache_creation_input_tokens: 3,
  output_tokens: 7,
};
const message = { type: 'message', role: 'assistant', stop_reason: 'end_turn', usage };
const event = (type: string, more: object) =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...more })}\n\n`;
const replies = {
  whole: whole(200, { ...message, content: [{ type: 'text', text: 'Hi.' }] }),
  streamed: streamed(
    event('message_start', { message: { ...message, content: [] } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hi.' } }) +
      event('content_block_stop', { index: 0 }) +
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage }) +
      event('message_stop', {}),
  ),
};

it('are shown, counted, recorded and priced to the last digit, whole and streamed', async () => {
  const shown: (Usage | undefined)[] = [];
  upstream.reply(replies.whole);
  const reply = await gateway.post(ask('Hello'), { headers: { 'x-request-id': 'whole' } });
  shown.push(((await reply.json()) as { usage: Usage }).usage);
  upstream.reply(replies.streamed);
  const { events } = await gateway.stream(ask('Hello'), { headers: { 'x-request-id': 'streamed' } });
  shown.push(events.at(-2)!.json.usage);

  const prompt_tokens_details = { cached_tokens: 16, cache_creation_tokens: 3 };
  const expected = { prompt_tokens: 24, completion_tokens: 7, total_tokens: 31, prompt_tokens_details };
  expect(shown).toEqual([expected, expected]);
  expect(await gateway.metric('sluice_tokens_total', { kind: 'cache_creation' })).toBe(6);
  const spans = exporter.getFinishedSpans().filter(({ name }) => name === 'chat aion-3.5');
  const attribute = 'gen_ai.usage.cache_write.input_tokens';
  expect(spans.map(({ attributes }) => attributes[attribute])).toEqual([3, 3]);

  await gateway.close();
  const rows = await place.look(store => store.ledger.list({ limit: 10 }));
  // 5 plain, 16 read and 3 written tokens in, 7 out.
  const row = { cached_tokens: 16, cache_creation_tokens: 3, cost_usd: '0.00008025' };
  expect(rows.map(({ request_id }) => request_id).sort()).toEqual(['streamed', 'whole']);
  for (const one of rows) expect(one).toMatchObject(row);
});
