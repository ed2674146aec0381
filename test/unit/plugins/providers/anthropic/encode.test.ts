import { describe, expect, it } from '@jest/globals';
import { adapterOf } from '../../../../support/provider-fixtures.ts';
import { adaptive, bodyOf, budgeted, encoded } from './encoded.ts';

const asked = { role: 'user', content: [{ type: 'text', text: 'Why do rivers bend?' }] };
const refusing = (param: string, message: RegExp) =>
  expect.objectContaining({ status: 400, param, message: expect.stringMatching(message) });

describe('a request for the Messages API', () => {
  it('holds only what was requested, with the token cap that the API requires', () => {
    expect(bodyOf({})).toEqual({ model: 'claude-sonnet-4-5', max_tokens: 32_768, messages: [asked] });
    expect(bodyOf({ max_tokens: 5 })).toMatchObject({ max_tokens: 5 });
    const { maxTokens: _, ...uncapped } = budgeted;
    expect(bodyOf({}, uncapped)).toMatchObject({ max_tokens: 4096 });
  });

  it('goes to /messages with the API version, and with the key in x-api-key', () => {
    expect(encoded({}).path).toBe('/messages');
    const { headers, credential } = adapterOf('anthropic');
    expect(headers).toEqual({ 'anthropic-version': '2023-06-01' });
    expect(credential?.('k')).toEqual({ 'x-api-key': 'k' });
    expect(adapterOf('anthropic', { version: '2024-01-01', beta: ['a-1', 'b-2'] }).headers).toEqual({
      'anthropic-version': '2024-01-01',
      'anthropic-beta': 'a-1,b-2',
    });
  });

  it('translates the parameters that the API supports', () => {
    const body = bodyOf(
      {
        stream: true,
        temperature: 0.5,
        stop: ['END', '\n'],
        parameters: { user: 'u-1', top_k: 7, metadata: { a: 'b' } },
        unknown: { service_tier: 'auto', priority: 1 },
      },
      { ...budgeted, extraParameters: ['service_tier'] },
    );
    expect(body).toEqual({
      model: 'claude-sonnet-4-5',
      max_tokens: 32_768,
      messages: [asked],
      stream: true,
      temperature: 0.5,
      stop_sequences: ['END'],
      metadata: { user_id: 'u-1' },
      // Put there by the operator, with `set` and `extra_parameters`.
      top_k: 7,
      service_tier: 'auto',
    });
  });

  it('takes only five of the forwarded parameters', () => {
    expect([...(adapterOf('anthropic').parameters ?? [])].sort()).toEqual([
      'parallel_tool_calls',
      'response_format',
      'tool_choice',
      'top_p',
      'user',
    ]);
  });

  it('is rejected when several choices are requested', () => {
    expect(() => bodyOf({ n: 2 })).toThrow(refusing('n', /must be 1/));
    expect(bodyOf({ n: 1 })).not.toHaveProperty('n');
  });

  it('enables prompt caching when configured', () => {
    expect(bodyOf({}, budgeted, { prompt_caching: '1h' })).toMatchObject({
      cache_control: { type: 'ephemeral', ttl: '1h' },
    });
  });
});

describe('sampling parameters', () => {
  const old = { ...budgeted };
  const thinking = { reasoning_effort: 'low' };

  const named = (model: string) => ({ ...old, model });
  const cool = { temperature: 0.2 };
  const topP = (top_p: number) => ({ parameters: { top_p } });
  it.each<[string, object, object, object, string[]]>([
    ['a temperature', old, cool, cool, []],
    ['top_p', old, topP(0.5), { top_p: 0.5 }, []],
    ['both a temperature and top_p', old, { ...cool, ...topP(0.5) }, cool, ['top_p']],
    ['a temperature while it thinks', old, { ...thinking, ...cool }, {}, ['temperature']],
    ['the only temperature while it thinks', old, { ...thinking, temperature: 1 }, { temperature: 1 }, []],
    ['a low top_p while it thinks', old, { ...thinking, ...topP(0.5) }, {}, ['top_p']],
    ['a high top_p while it thinks', old, { ...thinking, ...topP(0.95) }, { top_p: 0.95 }, []],
    ['a temperature of a newer model', adaptive, cool, {}, ['temperature']],
    ['the default temperature of a newer model', adaptive, { temperature: 1 }, { temperature: 1 }, []],
    ['a temperature of Claude 4.6', named('claude-opus-4-6'), cool, cool, []],
    ['a temperature of another vendor', named('glm-4.7'), cool, cool, []],
    ['a blank stop sequence', old, { stop: ['\n'] }, {}, ['stop']],
  ])('are sent or reported as ignored for %s', (_, target, request, fields, ignored) => {
    const { body, ignored: told } = encoded(request, target as typeof budgeted);
    const { temperature, top_p, stop_sequences } = body;
    expect(JSON.parse(JSON.stringify({ temperature, top_p, stop_sequences }))).toEqual(fields);
    expect(told).toEqual(ignored);
  });
});

describe('tools for the Messages API', () => {
  const roll = {
    type: 'function' as const,
    function: {
      name: 'roll',
      description: 'Rolls dice.',
      parameters: { type: 'object', properties: { sides: { type: 'integer' } } },
      strict: true,
    },
  };
  const bare = { type: 'function' as const, function: { name: 'toss' } };

  it('have an input schema', () => {
    const { tools, tool_choice } = bodyOf({ tools: [roll, bare] });
    expect(tools).toEqual([
      { name: 'roll', description: 'Rolls dice.', input_schema: roll.function.parameters },
      { name: 'toss', input_schema: { type: 'object', properties: {} } },
    ]);
    expect(tool_choice).toBeUndefined();
    expect(bodyOf({ tools: [roll] }, budgeted, { strict_tools: true }).tools).toMatchObject([
      { strict: true },
    ]);
  });

  it.each([
    ['auto', undefined, { type: 'auto' }],
    ['none', undefined, { type: 'none' }],
    ['required', undefined, { type: 'any' }],
    [{ type: 'function', function: { name: 'roll' } }, undefined, { type: 'tool', name: 'roll' }],
    [undefined, true, undefined],
    [undefined, false, { type: 'auto', disable_parallel_tool_use: true }],
    ['required', false, { type: 'any', disable_parallel_tool_use: true }],
    ['none', false, { type: 'none' }],
    [
      { type: 'function', function: { name: 'roll' } },
      false,
      { type: 'tool', name: 'roll', disable_parallel_tool_use: true },
    ],
  ])('map the choice %j with parallel calls %j', (tool_choice, parallel_tool_calls, expected) => {
    const parameters = JSON.parse(JSON.stringify({ tool_choice, parallel_tool_calls })) as Record<
      string,
      unknown
    >;
    expect(bodyOf({ tools: [roll], parameters }).tool_choice).toEqual(expected);
  });

  it.each(['any', { type: 'allowed_tools' }, { type: 'function' }, 7])(
    'reject %j as a choice',
    tool_choice => {
      expect(() => bodyOf({ tools: [roll], parameters: { tool_choice } })).toThrow(
        refusing('tool_choice', /must be/),
      );
    },
  );

  it('are declared when called earlier in the conversation, even if no longer offered', () => {
    const call = (id: string, name: string) => ({
      id,
      type: 'function' as const,
      function: { name, arguments: '{}' },
    });
    const { tools, tool_choice } = bodyOf({
      messages: [
        { role: 'user', content: 'Roll.' },
        {
          role: 'assistant',
          content: null,
          tool_calls: [call('a', 'roll'), call('b', 'roll'), call('c', 'toss')],
        },
        { role: 'tool', tool_call_id: 'a', content: '4' },
      ],
    });
    expect(tools).toEqual(['roll', 'toss'].map(name => ({ name, input_schema: { type: 'object' } })));
    expect(tool_choice).toEqual({ type: 'none' });
  });
});

describe('a response format for the Messages API', () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } };

  it('becomes structured output for a schema, beside an effort', () => {
    const parameters = {
      response_format: { type: 'json_schema', json_schema: { name: 'x', schema, strict: true } },
    };
    expect(bodyOf({ parameters })).toMatchObject({
      output_config: { format: { type: 'json_schema', schema } },
    });
    expect(bodyOf({ parameters, reasoning_effort: 'low' }, adaptive)).toMatchObject({
      output_config: { effort: 'low', format: { type: 'json_schema', schema } },
    });
  });

  it('is omitted for plain text', () => {
    expect(bodyOf({ parameters: { response_format: { type: 'text' } } })).not.toHaveProperty('output_config');
  });

  it.each([
    { type: 'json_object' },
    { type: 'json_schema' },
    { type: 'json_schema', json_schema: {} },
    'json',
  ])('is rejected as %j, since the API would answer in prose', response_format => {
    expect(() => bodyOf({ parameters: { response_format } })).toThrow(
      refusing('response_format', /json_schema/),
    );
  });
});
