import { describe, expect, it } from '@jest/globals';
import { validation } from '../../../../../plugins/stages/validation/index.ts';
import type { Model } from '../../../../../src/gateway/catalog/catalog.ts';
import type { ChatRequest } from '../../../../../src/gateway/exchange/canonical.ts';
import { estimateTokens } from '../../../../../src/gateway/settlement/usage-meter.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

/** Validates a request to the first model of the example catalog with these changes, and gives the exchange. */
function validated(request: Partial<ChatRequest>, model: Partial<Model> | null = {}, options = {}) {
  const exchange = sampleExchange({ request, ...(model && { model }) });
  validation(options).plan.create(sampleSetup()).onRequest!(exchange);
  return exchange;
}
const refusing = (message: string | RegExp, param: string) =>
  expect.objectContaining({
    status: 400,
    type: 'invalid_request_error',
    param,
    message: expect.stringMatching(message),
  });

describe('validation of reasoning_effort', () => {
  const earlier = { supported: true, levels: ['none', 'low', 'medium', 'high', 'max'], default: 'medium' };
  const unsupported = { supported: false, levels: [], default: null };

  it.each([
    [
      'a model of the latest generation',
      {},
      ['low', 'high', 'max'],
      ['none', 'medium', 'High', ' low', '', 'xhigh'],
    ],
    ['an earlier model', { reasoning_effort: earlier }, earlier.levels, ['minimal', 'xhigh', 'MAX']],
    [
      'a model without effort',
      { reasoning_effort: unsupported },
      ['medium'],
      ['none', 'low', 'high', 'max', 'Medium'],
    ],
  ])('accepts the levels of the model and rejects others: %s', (_, model, accepted, refused) => {
    expect(() => validated({}, model)).not.toThrow();
    for (const reasoning_effort of accepted)
      expect(() => validated({ reasoning_effort }, model)).not.toThrow();
    for (const reasoning_effort of refused)
      expect(() => validated({ reasoning_effort }, model)).toThrow(
        refusing(/is not accepted/, 'reasoning_effort'),
      );
  });

  it('rejects a level with the message of the protocol (3.8)', () => {
    expect(() => validated({ reasoning_effort: 'medium' })).toThrow(
      "reasoning_effort: 'medium' is not accepted by aion-labs/aion-3.5; use one of: low, high, max.",
    );
  });
});

describe('validation of metadata', () => {
  const keys = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`key${at}`, 'v']));

  it.each([
    ['no entries', {}],
    ['16 keys', keys(16)],
    ['a key of 64 characters', { ['k'.repeat(64)]: 'v' }],
    ['a key of 64 characters outside the basic plane', { ['🔑'.repeat(64)]: 'v' }],
    ['a value of 512 characters', { a: 'v'.repeat(512) }],
    ['a value of 512 characters outside the basic plane', { a: '🎲'.repeat(512) }],
    ['an empty value', { a: '' }],
  ])('accepts %s', (_, metadata) => {
    expect(() => validated({ metadata })).not.toThrow();
  });

  it.each([
    ['k'.repeat(32), 'k'.repeat(32)],
    ['k'.repeat(33), `${'k'.repeat(32)}…`],
  ])('shows a key with a wrong value as far as 32 characters: %s', (key, shown) => {
    expect(() => validated({ metadata: { [key]: 'v'.repeat(513) } })).toThrow(`metadata.${shown}: must have`);
  });

  it.each<[string, object, string]>([
    ['17 keys', keys(17), 'metadata'],
    ['a key of 65 characters', { ['k'.repeat(65)]: 'v' }, 'metadata'],
    ['a value of 513 characters', { a: 'v'.repeat(513) }, 'metadata.a'],
    ['a value of 513 characters outside the basic plane', { a: '🎲'.repeat(513) }, 'metadata.a'],
    ['a number', { a: 1 }, 'metadata.a'],
    ['a flag', { a: true }, 'metadata.a'],
    ['null', { a: null }, 'metadata.a'],
    ['a list', { a: [] }, 'metadata.a'],
    ['an object', { a: {} }, 'metadata.a'],
  ])('rejects %s', (_, metadata, param) => {
    expect(() => validated({ metadata: metadata as Record<string, string> })).toThrow(
      refusing(`^${param}: `, param),
    );
  });
});

describe('validation of lengths', () => {
  it('accepts max_tokens up to the cap of the model', () => {
    expect(() => validated({ max_tokens: 32_768 })).not.toThrow();
    expect(() => validated({ max_tokens: 32_769 })).toThrow(
      refusing('^max_tokens: must be at most 32768 for aion-labs/aion-3.5, not 32769', 'max_tokens'),
    );
    const { request } = validated({ max_tokens: 40_000 }, {}, { max_tokens_above_cap: 'clamp' });
    expect(request.max_tokens).toBe(32_768);
  });

  it.each([
    ['English', 'word '],
    ['Chinese', '你好'],
    ['dense text', 'я1'],
  ])('rejects a prompt only when it clearly exceeds the context window: %s', (_, piece) => {
    const of = (content: string) => ({ messages: [{ role: 'user' as const, content }] });
    let longest = '';
    while (estimateTokens(longest + piece) <= 1250) longest += piece;
    const tokens = estimateTokens(longest + piece);
    expect(() => validated(of(longest), { context_length: 1000 })).not.toThrow();
    expect(() => validated(of(longest + piece), { context_length: 1000 })).toThrow(
      refusing(`^messages: about ${tokens} tokens`, 'messages'),
    );
  });

  it('limits the number of choices', () => {
    expect(() => validated({ n: 8 })).not.toThrow();
    expect(() => validated({ n: 9 })).toThrow(refusing('^n: must be at most 8', 'n'));
    expect(() => validated({ n: 3 }, {}, { max_choices: 2 })).toThrow(refusing('^n: must be at most 2', 'n'));
  });
});

describe('validation against the model', () => {
  const tools = [{ type: 'function' as const, function: { name: 'roll' } }];

  it('rejects an unknown model', () => {
    expect(() => validated({ model: 'gpt-5' }, null)).toThrow(
      refusing(/^model: unknown model 'gpt-5'; GET \/v1\/models/, 'model'),
    );
    expect(() => validated({ model: 'x'.repeat(5000) }, null)).toThrow(refusing(/^.{0,250}$/, 'model'));
  });

  it('rejects tools for a model without tool calls', () => {
    expect(() => validated({ tools })).not.toThrow();
    expect(() => validated({ tools: [] }, { tool_calls: false })).not.toThrow();
    expect(() => validated({ tools }, { tool_calls: false })).toThrow(
      refusing(/does not accept tools/, 'tools'),
    );
  });
});

describe('validation of unknown fields', () => {
  const unknown = { top_k: 5, chat_template: 'x' };

  it('names fields in a header when they are not forwarded', () => {
    const header = (fields: object, model = {}) =>
      validated({ unknown: fields as Record<string, unknown> }, model).replyHeaders['x-ignored-parameters'];
    expect(header({})).toBeUndefined();
    expect(header(unknown)).toBe('top_k, chat_template');
    expect(header(unknown, { extra_parameters: ['top_k'] })).toBe('chat_template');
    expect(header(unknown, { extra_parameters: ['top_k', 'chat_template'] })).toBeUndefined();
  });

  it('names a choice of tools that is dropped with the tools, and goes on', () => {
    const parameters = { tool_choice: 'auto', parallel_tool_calls: true, seed: 1 };
    const { replyHeaders, request } = validated({ parameters });
    expect(replyHeaders['x-ignored-parameters']).toBe('tool_choice, parallel_tool_calls');
    expect(request.parameters).toEqual({ seed: 1 });
  });

  it('keeps the header valid for any field name', () => {
    const odd = { 'a\r\nset-cookie: b': 1, 'a,b': 1, ключ: 1, ['x'.repeat(500)]: 1 };
    const many = Object.fromEntries(Array.from({ length: 500 }, (_, at) => [`p${at}`, 1]));
    for (const fields of [odd, many]) {
      const header = validated({ unknown: fields }).replyHeaders['x-ignored-parameters']!;
      expect(header).toMatch(/^[\x20-\x7e]+$/);
      expect(header.length).toBeLessThan(1500);
    }
  });

  it('rejects the fields when configured to', () => {
    const options = { unknown_parameters: 'reject' };
    expect(() => validated({ unknown }, {}, options)).toThrow(refusing('^top_k: unknown parameter', 'top_k'));
    expect(() =>
      validated({ unknown: { top_k: 5 } }, { extra_parameters: ['top_k'] }, options),
    ).not.toThrow();
  });
});

describe('validation of another operation than chat', () => {
  const operation = {
    name: 'embeddings',
    encode: () => ({ path: '/embeddings', body: {} }),
    decodeReply: () => ({ choices: [] }),
  };
  const embedding = { operations: ['embeddings'], context_length: 3 };
  const inputs = (...given: (string | number[])[]) =>
    given.map(one => ({
      role: 'user' as const,
      ...(typeof one === 'string' ? { content: one } : { tokens: one }),
    }));

  it('accepts what the model serves, which is chat unless it says so', () => {
    expect(() => validated({ operation }, { operations: ['chat', 'embeddings'] })).not.toThrow();
    expect(() => validated({}, { operations: ['chat', 'embeddings'] })).not.toThrow();
    expect(() => validated({ operation })).toThrow(refusing(/serves chat, not embeddings\.$/, 'model'));
    expect(() => validated({}, embedding)).toThrow(refusing(/serves embeddings, not chat\.$/, 'model'));
  });

  it('holds the window against each input, not against all', () => {
    const messages = inputs('One', 'Two', [1, 2, 3]);
    expect(() => validated({ operation, messages }, embedding)).not.toThrow();
    const long = inputs('One', 'Two, three, four, five and six of the words');
    expect(() => validated({ operation, messages: long }, embedding)).toThrow(
      refusing(/^messages: about/, 'messages'),
    );
    const ids = inputs([1, 2, 3, 4]);
    expect(() => validated({ operation, messages: ids }, embedding)).toThrow(
      refusing(/^messages: 4 tokens/, 'messages'),
    );
  });
});
