import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../../src/simulator/server.ts';
import { ask, type GatewayUnderTest, startGateway } from '../support/gateway-under-test.ts';

let simulator: Simulator;
let gateway: GatewayUnderTest;

beforeAll(async () => {
  simulator = await startSimulator({ recorded_requests: 1 });
  gateway = await startGateway({ upstream: simulator });
});

afterAll(async () => {
  await gateway?.close();
  await simulator?.close();
});

const rp = { model: 'aion-labs/aion-rp-llama-3.1-8b' };
const stream = { stream: true };
const roll = { type: 'function', function: { name: 'roll' } };

/** `null` stands for the field that is left out by JSON as well; a string is a body as it is. */
type Body = Readonly<Record<string, unknown>> | string;

/** A body whose text has `json` as the value of `field`, for values that JSON.stringify does not write. */
const raw = (field: string, json: string): string =>
  JSON.stringify(ask('Hello')).replace(/}$/, `,"${field}":${json}}`);

const sent = (body: Body): string => (typeof body === 'string' ? body : JSON.stringify(ask('Hello', body)));

const rules: {
  rule: string;
  accepted: readonly Body[];
  refused: readonly Body[];
  /** What the message must begin with, and say. */
  says: RegExp;
}[] = [
  {
    rule: 'temperature is a number from 0 to 2',
    accepted: [0, 0.7, 1, 2, null].map(temperature => ({ temperature })),
    refused: [
      ...[-0.1, 2.001, '1', '', true, [], {}].map(temperature => ({ temperature })),
      raw('temperature', '1e999'),
    ],
    says: /^temperature: .*0 to 2/,
  },
  {
    rule: 'stop is a string or an array of strings, none empty',
    accepted: ['\n', ['a'], ['a', 'b', 'c', 'd', 'e', 'f'], null].map(stop => ({ stop })),
    refused: ['', [''], ['a', ''], [1], [null], 5, {}, true].map(stop => ({ stop })),
    says: /^stop: .*array of non-empty strings/,
  },
  {
    rule: 'max_tokens is an integer of at least 1',
    accepted: [...[1, 32_768, null].map(max_tokens => ({ max_tokens })), raw('max_tokens', '1.0')],
    refused: [0, -1, 1.5, '5', true, []].map(max_tokens => ({ max_tokens })),
    says: /^max_tokens: .*integer of at least 1/,
  },
  {
    rule: 'max_completion_tokens likewise',
    accepted: [1, 32_768, null].map(max_completion_tokens => ({ max_completion_tokens })),
    refused: [0, -1, 1.5, '5', true, []].map(max_completion_tokens => ({ max_completion_tokens })),
    says: /^max_completion_tokens: .*integer of at least 1/,
  },
  {
    rule: "neither is above the model's cap",
    accepted: [{ max_tokens: 99_999, max_completion_tokens: 5 }],
    refused: [{ max_tokens: 32_769 }, { max_completion_tokens: 32_769 }, raw('max_tokens', '1e15')],
    says: /^max_(completion_)?tokens: .*32768/,
  },
  {
    rule: 'n is an integer from 1 to 8',
    accepted: [1, 8, null].map(n => ({ n })),
    refused: [0, -1, 1.5, '2', true].map(n => ({ n })),
    says: /^n: .*integer of at least 1/,
  },
  { rule: 'n is at most 8', accepted: [{ n: 8 }], refused: [{ n: 9 }], says: /^n: .*at most 8/ },
  {
    rule: 'seed is an integer that has all its digits',
    accepted: [0, -1, 9_007_199_254_740_991, null].map(seed => ({ seed })),
    refused: [{ seed: 1.5 }, { seed: '1' }, { seed: true }, raw('seed', '9007199254740993')],
    says: /^seed: .*integer from -9007199254740991 to 9007199254740991/,
  },
  {
    rule: 'stream is a boolean',
    accepted: [true, false, null].map(stream => ({ stream })),
    refused: ['true', 1, 0, {}].map(stream => ({ stream })),
    says: /^stream: .*true or false/,
  },
  {
    rule: 'reasoning_split is a boolean',
    accepted: [true, false, null].map(reasoning_split => ({ reasoning_split })),
    refused: ['true', 1, 0, {}].map(reasoning_split => ({ reasoning_split })),
    says: /^reasoning_split: .*true or false/,
  },
  {
    rule: 'stream_options is an object',
    accepted: [null, {}, { include_usage: null }].map(stream_options => ({ ...stream, stream_options })),
    refused: [[], 'usage', true].map(stream_options => ({ ...stream, stream_options })),
    says: /^stream_options: .*object/,
  },
  {
    rule: 'its members are booleans',
    accepted: [
      { ...stream, stream_options: { include_usage: true, continuous_usage_stats: true } },
      { ...stream, stream_options: { include_usage: false, continuous_usage_stats: false } },
    ],
    refused: [
      { ...stream, stream_options: { include_usage: 'yes' } },
      { ...stream, stream_options: { continuous_usage_stats: 1 } },
    ],
    says: /^stream_options\.(include_usage|continuous_usage_stats): .*true or false/,
  },
  {
    rule: 'stream_options needs a stream',
    accepted: [{ stream_options: null }, { stream_options: {} }, { ...stream, stream_options: {} }],
    refused: [
      { stream_options: { include_usage: true } },
      { stream_options: { include_usage: false } },
      { stream: false, stream_options: { continuous_usage_stats: true } },
      { stream: null, stream_options: { continuous_usage_stats: false } },
    ],
    says: /^stream_options: .*"stream": true/,
  },
  {
    rule: 'tools is an array of functions',
    accepted: [[], [roll], [{ ...roll, extra: 1 }], null].map(tools => ({ tools })),
    refused: [
      ...[[{}], [{ type: 'custom', custom: { name: 'x' } }], [{ type: 'function' }], ['roll'], [null]],
      ...[[{ type: 'function', function: {} }], [{ type: 'function', function: { name: '' } }]],
      ...[[roll, { type: 'function', function: { name: 5 } }], [{ function: { name: 'roll' } }]],
    ].map(tools => ({ tools })),
    says: /^tools\[[01]\]: .*type: "function"/,
  },
  {
    rule: 'tools is an array',
    accepted: [],
    refused: [{ tools: {} }, { tools: 'roll' }, { tools: 1 }],
    says: /^tools: .*array/,
  },
  {
    rule: 'tools are for models that accept them',
    accepted: [{ ...rp, tools: [] }, { ...rp, tools: null }, rp],
    refused: [{ ...rp, tools: [roll] }],
    says: /^tools: aion-labs\/aion-rp-llama-3\.1-8b does not accept tools/,
  },
  {
    rule: 'model is one of the catalog, exactly',
    accepted: [rp, { model: 'aion-labs/aion-2.0' }],
    refused: [
      'aion-3.5',
      'Aion-Labs/aion-3.5',
      'aion-labs/aion-3.5 ',
      'gpt-5',
      '__proto__',
      'x'.repeat(5000),
    ].map(model => ({ model })),
    says: /^model: unknown model .*GET \/v1\/models/,
  },
  {
    rule: 'model is required',
    accepted: [],
    refused: [undefined, null, '', 5, {}, []].map(model => ({ model })),
    says: /^model: .*model id/,
  },
  {
    rule: 'metadata is an object',
    accepted: [null, {}, { key: 'value' }].map(metadata => ({ metadata })),
    refused: [[], 'text', 5, true].map(metadata => ({ metadata })),
    says: /^metadata: .*object/,
  },
  {
    rule: 'a prompt is not clearly longer than the context window',
    // About 35,000 tokens by the estimate: over the 32,768, but not clearly.
    accepted: [{ ...rp, messages: [{ role: 'user', content: 'word '.repeat(36_000) }] }],
    refused: [{ ...rp, messages: [{ role: 'user', content: 'word '.repeat(52_000) }] }],
    says: /^messages: .*32768/,
  },
];

describe.each(rules)('$rule', ({ accepted, refused, says }) => {
  for (const body of accepted) {
    it(`accepts ${sent(body).slice(-80)}`, async () => {
      const reply = await gateway.post(sent(body));
      expect({ status: reply.status, text: reply.ok || (await reply.text()) }).toEqual({
        status: 200,
        text: true,
      });
      await reply.text();
    });
  }

  for (const body of refused) {
    it(`refuses ${sent(body).slice(-80)}`, async () => {
      const { requests } = simulator.stats;
      const reply = await gateway.post(sent(body));
      const { error } = (await reply.json()) as { error: { message: string; type: string } };
      expect(reply.status).toBe(400);
      expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
      expect(Object.keys(error)).toEqual(['message', 'type']);
      expect(error.type).toBe('invalid_request_error');
      expect(error.message).toMatch(says);
      expect(error.message.length).toBeLessThan(400);
      expect(simulator.stats.requests).toBe(requests);
    });
  }
});
