import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { responses } from '../../../../../plugins/dialects/responses/index.ts';
import { type ChatRequest, usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { readResponse } from '../../../src/gateway/dialects/response-reader.ts';

const dialect = responses.create({ reasoning_placement: 'auto' }, { models: [] });
const context = { path: '/v1/responses', headers: {}, account_id: undefined };
const parse = (fields: object): ChatRequest =>
  dialect.parse({ model: 'a/b', input: 'Hello', ...fields }, context);
const identityOf = (request: ChatRequest) => ({
  key: '5f2',
  created: 1_795_132_800,
  model: 'a/b',
  request,
  now_s: () => 1_795_132_801,
});

const parameters = { type: 'object', properties: {} };
const shell = { type: 'function', name: 'shell', description: 'Runs.', strict: false, parameters };
const patch = {
  type: 'custom',
  name: 'apply_patch',
  description: 'Edits files.',
  format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' },
};
const crm = {
  type: 'namespace',
  name: 'crm',
  description: 'Customers.',
  tools: [
    { type: 'function', name: 'lookup', description: 'Finds one.', parameters },
    { type: 'custom', name: 'note' },
  ],
};
/** A list as coding agents send it. */
const tools = [shell, patch, { type: 'web_search', external_web_access: true }, crm, { type: 'tool_search' }];
const namesIn = (request: ChatRequest) => request.tools?.map(tool => tool.function.name);

interface Output {
  readonly output: readonly Record<string, unknown>[];
  readonly tools: unknown;
  readonly tool_choice: unknown;
}

/** The reply with these calls, whole and at the end of a stream. */
function replies(request: ChatRequest, calls: readonly [name: string, text: string][]) {
  const tool_calls = calls.map(([name, text], at) => ({
    id: `call_${at}`,
    type: 'function' as const,
    function: { name, arguments: text },
  }));
  const message = { role: 'assistant' as const, content: null, tool_calls };
  const usage = usageOf(1, 1);
  const whole = dialect.renderReply(identityOf(request), {
    choices: [{ index: 0, message, finish_reason: 'tool_calls' }],
    usage,
  });
  const stream = dialect.renderStream(identityOf(request));
  const chunks = tool_calls.map(({ id, type, function: { name, arguments: text } }, index) =>
    chunkOf({ tool_calls: [{ index, id, type, function: { name, arguments: text } }] }),
  );
  const end = { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' as const }], usage };
  const text = [...chunks, end].map(chunk => stream.chunk(chunk)).join('') + stream.end();
  return { whole: JSON.parse(whole) as Output, text };
}

/** Expects of a stream the items and the response of the whole reply. */
function expectSame(stream: string, whole: Output): void {
  const { items, last } = readResponse(stream);
  expect(items).toEqual(whole.output);
  expect(last.response).toEqual(whole);
}

describe('the tools of a coding agent', () => {
  it('are functions upstream, with grammars and namespaces in their descriptions', () => {
    const request = parse({ tools });
    const input = { type: 'string', description: 'The whole input of the tool, as it is.' };
    const closed = { required: ['input'], additionalProperties: false };
    const custom = { type: 'object', properties: { input }, ...closed };
    const grammar = 'Edits files.\n\nThe input must match this lark grammar:\nstart: "a"';
    const ofCrm = 'Tools of crm: Customers.\n\nFinds one.';
    const functions = [
      { name: 'shell', description: 'Runs.', strict: false, parameters },
      { name: 'apply_patch', description: grammar, parameters: custom },
      { name: 'crm__lookup', description: ofCrm, parameters },
      { name: 'crm__note', parameters: custom },
    ];
    expect(request.tools).toEqual(functions.map(each => ({ type: 'function', function: each })));
    expect(Object.keys(request.unknown)).toEqual(['tools.tool_search']);
    expect(request.parameters.web_search_options).toEqual({});
  });

  it('are called by their own names, whole and streamed', () => {
    const { whole, text } = replies(parse({ tools }), [
      ['shell', '{"command":"ls"}'],
      ['apply_patch', '{"input":"*** Begin\\nEnd"}'],
      ['crm__lookup', '{"id":1}'],
      ['crm__note', '{"input":""}'],
    ]);
    const called = { type: 'function_call', status: 'completed' };
    const custom = { type: 'custom_tool_call', status: 'completed' };
    const lookup = { name: 'lookup', namespace: 'crm', arguments: '{"id":1}' };
    expect(whole.output).toEqual([
      { id: 'fc_5f2', ...called, call_id: 'call_0', name: 'shell', arguments: '{"command":"ls"}' },
      { id: 'ctc_5f2', ...custom, call_id: 'call_1', name: 'apply_patch', input: '*** Begin\nEnd' },
      { id: 'fc_5f2_2', ...called, call_id: 'call_2', ...lookup },
      { id: 'ctc_5f2_2', ...custom, call_id: 'call_3', name: 'note', namespace: 'crm', input: '' },
    ]);
    expectSame(text, whole);
    expect(whole.tools).toEqual([shell, patch, tools[2], crm]);
  });

  it('are left out by version and name if OpenAI runs them', () => {
    const types = ['file_search', 'mcp', 'shell', 'image_generation', 'code_interpreter'];
    const environment = { type: 'container_auto' };
    const request = parse({ tools: types.map(type => ({ type, environment })) });
    expect(request.tools).toEqual([]);
    expect(Object.keys(request.unknown)).toEqual(types.map(type => `tools.${type}`));
  });

  it('have names that are unique, accepted by servers, and the same in every turn', () => {
    const word = fc.string({ minLength: 1, maxLength: 70 });
    const owned = fc.record({ type: fc.constantFrom('function', 'custom'), name: word });
    const spaces = fc.uniqueArray(
      fc.record({
        type: fc.constant('namespace'),
        name: word,
        tools: fc.uniqueArray(owned, { selector: ({ type, name }) => `${type} ${name}`, maxLength: 4 }),
      }),
      { selector: ({ name }) => name, maxLength: 4 },
    );
    fc.assert(
      fc.property(spaces, spaced => {
        const request = parse({ tools: [...spaced, { type: 'function', name: 'a__b' }] });
        const names = namesIn(request) ?? [];
        expect(new Set(names).size).toBe(names.length);
        for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
        expect(names.at(-1)).toBe('a__b');
        const calls = names.map((name): [string, string] => [name, '{"input":"a"}']);
        const shown = replies(request, calls).whole.output.map(item => [
          item.type === 'function_call' ? 'function' : 'custom',
          item.namespace,
          item.name,
        ]);
        const declared = spaced.flatMap(({ name: space, tools: own }) =>
          own.map(({ type, name }) => [type, space, name]),
        );
        expect(calls.length === 1 ? shown.slice(-1) : shown).toEqual([
          ...declared,
          ['function', undefined, 'a__b'],
        ]);
        expect(namesIn(parse({ tools: [...spaced, { type: 'function', name: 'a__b' }] }))).toEqual(names);
      }),
      { numRuns: 60 },
    );
  });
});

describe('the tools that OpenAI defines and the client runs', () => {
  const defined = [
    { type: 'shell', environment: { type: 'local' } },
    { type: 'local_shell' },
    { type: 'apply_patch' },
  ];
  const operation = { type: 'create_file', path: 'a.txt', diff: '+a' };

  it('are functions upstream and repeated as they were declared', () => {
    const request = parse({ tools: defined });
    expect(namesIn(request)).toEqual(['shell', 'local_shell', 'apply_patch']);
    expect(request.unknown).toEqual({});
    expect(replies(request, []).whole.tools).toEqual(defined);
    // Beside a function of the same name each keeps its own.
    expect(new Set(namesIn(parse({ tools: [...defined, shell] }))).size).toBe(4);
    expect(() => parse({ tools: [...defined, { type: 'shell' }] })).toThrow(
      /^tools\[3\]\.type: must be unique/,
    );
  });

  it('are called in their own form, whole and streamed', () => {
    const { whole, text } = replies(parse({ tools: defined }), [
      ['shell', '{"commands":["ls"],"timeout_ms":5}'],
      ['local_shell', '{"command":["ls","-l"]}'],
      ['apply_patch', JSON.stringify(operation)],
      ['shell', 'no JSON'],
    ]);
    const status = 'completed';
    const inShell = (commands: string[], timeout_ms: number | null) => ({
      ...{ type: 'shell_call', status, environment: { type: 'local' } },
      action: { commands, timeout_ms, max_output_length: null },
    });
    const inLocal = { type: 'exec', command: ['ls', '-l'], env: {} };
    expect(whole.output).toEqual([
      { id: 'dtc_5f2', call_id: 'call_0', ...inShell(['ls'], 5) },
      { id: 'dtc_5f2_2', type: 'local_shell_call', status, call_id: 'call_1', action: inLocal },
      { id: 'dtc_5f2_3', type: 'apply_patch_call', status, call_id: 'call_2', operation },
      { id: 'dtc_5f2_4', call_id: 'call_3', ...inShell([], null) },
    ]);
    expectSame(text, whole);
  });

  it('do not grow after their end: only white space may follow', () => {
    const stream = dialect.renderStream(identityOf(parse({ tools: defined })));
    const piece = (index: number, name: string, text: string) => {
      const named = {
        index,
        id: `call_${index}`,
        type: 'function' as const,
        function: { name, arguments: text },
      };
      return stream.chunk(chunkOf({ tool_calls: [named] }));
    };
    piece(0, 'shell', '{"commands":["ls"]}');
    piece(1, 'local_shell', '{');
    const more = (text: string) =>
      stream.chunk(chunkOf({ tool_calls: [{ index: 0, function: { arguments: text } }] }));
    expect(more(' \n')).toBe('');
    expect(() => more('{}')).toThrow(expect.objectContaining({ code: 'provider_invalid' }));
  });

  it('are the same calls, with their results, when the client sends them back', () => {
    const results = [{ stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } }];
    const request = parse({
      tools: defined,
      input: [
        { role: 'user', content: 'Go.' },
        { type: 'shell_call', id: 'dtc_1', call_id: 'c1', action: { commands: ['ls'] }, status: 'completed' },
        { type: 'local_shell_call', call_id: 'c2', action: { type: 'exec', command: ['ls'], env: {} } },
        { type: 'apply_patch_call', call_id: 'c3', operation },
        { type: 'shell_call_output', call_id: 'c1', output: results, max_output_length: 5 },
        { type: 'local_shell_call_output', id: 'c2', output: 'a.txt' },
        { type: 'apply_patch_call_output', call_id: 'c3', status: 'failed', output: 'No.' },
      ],
    });
    const calls = request.messages[1]?.tool_calls?.map(call => call.function);
    expect(calls?.map(({ name, arguments: text }) => [name, JSON.parse(text)])).toEqual([
      ['shell', { commands: ['ls'] }],
      ['local_shell', { type: 'exec', command: ['ls'], env: {} }],
      ['apply_patch', operation],
    ]);
    expect(request.messages.slice(2).map(({ tool_call_id, content }) => [tool_call_id, content])).toEqual([
      ['c1', JSON.stringify({ output: results })],
      ['c2', 'a.txt'],
      ['c3', '{"status":"failed","output":"No."}'],
    ]);
    expect(request.unknown).toEqual({});
  });

  it('can be chosen, alone or among others', () => {
    const { parameters: chosen } = parse({ tools: defined, tool_choice: { type: 'apply_patch' } });
    expect(chosen.tool_choice).toEqual({ type: 'function', function: { name: 'apply_patch' } });
    const some = { type: 'allowed_tools', mode: 'auto', tools: [{ type: 'shell' }] };
    expect(namesIn(parse({ tools: defined, tool_choice: some }))).toEqual(['shell']);
    expect(() => parse({ tools: [shell], tool_choice: { type: 'local_shell' } })).toThrow(
      /^tool_choice\.name: /,
    );
  });
});

describe('the choice of tools', () => {
  const chosen = (name: string) => ({ type: 'function', function: { name } });
  const lookup = { type: 'function', name: 'lookup', namespace: 'crm' };

  it.each<[string, object | string, unknown]>([
    ['a function', { type: 'function', name: 'shell' }, chosen('shell')],
    ['a custom tool', { type: 'custom', name: 'apply_patch' }, chosen('apply_patch')],
    ['a function in a namespace', lookup, chosen('crm__lookup')],
  ])('is %s', (_, tool_choice, expected) => {
    const request = parse({ tools, tool_choice });
    expect(request.parameters.tool_choice).toEqual(expected);
    expect(namesIn(request)).toHaveLength(4);
    expect(replies(request, []).whole.tool_choice).toEqual(tool_choice);
  });

  it('is some of the tools, which then are all that the model knows', () => {
    const allowed = [{ type: 'function', name: 'shell' }, { type: 'web_search' }];
    const tool_choice = { type: 'allowed_tools', mode: 'required', tools: allowed };
    const request = parse({ tools, tool_choice });
    expect(namesIn(request)).toEqual(['shell']);
    expect(request.parameters.tool_choice).toBe('required');
    const { whole } = replies(request, []);
    expect([whole.tool_choice, whole.tools]).toEqual([tool_choice, [shell, patch, tools[2], crm]]);
  });
});
