import { describe, expect, it } from '@jest/globals';
import type { Chunk, ToolCallDelta } from '../../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../../src/gateway/exchange/canonical.ts';
import { OpenAiStreamDecoder } from '../../../../../../src/gateway/upstream/openai/openai-stream-decoder.ts';
import { chunkOf } from '../../../../chunk-stream.ts';

/** An event with this body. */
const event = (body: unknown) => ({ data: JSON.stringify(body) });

/** A chunk with one choice, as a server sends it. */
const wire = (delta: object, finish_reason: string | null = null, rest: object = {}) =>
  event({ id: 'x', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }], ...rest });

/** What one decoder makes of these events. */
function decoded(
  events: readonly { data: string; event?: string }[],
  decoder = new OpenAiStreamDecoder(),
): Chunk[] {
  return events.flatMap(one => decoder.decode(one));
}

describe('the deltas of a stream', () => {
  it.each<[string, object, object]>([
    ['a role', { role: 'assistant', content: '' }, { role: 'assistant', content: '' }],
    ['content', { content: 'Yes.' }, { content: 'Yes.' }],
    ['nothing', {}, {}],
    ['nulls', { content: null, reasoning: null, tool_calls: null, refusal: null }, {}],
    ['reasoning', { reasoning: 'One.' }, { reasoning: 'One.' }],
    ['empty reasoning, which is dropped', { reasoning: '', content: 'Yes.' }, { content: 'Yes.' }],
    ['a refusal', { refusal: 'No.' }, { refusal: 'No.' }],
  ])('are decoded from %s', (_, given, expected) => {
    expect(decoded([wire(given)])).toEqual([chunkOf(expected)]);
  });

  it('keep their index and log probabilities', () => {
    const choices = [{ index: 2, delta: { content: 'a' }, finish_reason: null, logprobs: { content: [] } }];
    expect(decoded([event({ choices })])).toEqual([{ choices }]);
  });

  it('are absent in an event without choices or usage, such as a ping', () => {
    expect(
      decoded([event({ type: 'ping' }), { data: '' }, { data: ' [DONE] ' }, event({ choices: [] })]),
    ).toEqual([]);
  });
});

describe('the finish reasons of a stream', () => {
  it.each([
    ['stop', 'stop'],
    [null, null],
    ['', null],
  ])('turn %j into %j', (given, expected) => {
    expect(decoded([wire({}, given)])[0]!.choices[0]!.finish_reason).toBe(expected);
  });

  it('are tool_calls where there were some, even if the server says stop', () => {
    const [, end] = decoded([
      wire({ tool_calls: [{ index: 0, id: 'a', function: { name: 'roll' } }] }),
      wire({}, 'stop'),
    ]);
    expect(end!.choices[0]!.finish_reason).toBe('tool_calls');
  });

  it('are tool_calls of the choice that has them, and of no other', () => {
    const tool_calls = [{ index: 0, id: 'a', function: { name: 'roll' } }];
    const choices = [{ tool_calls }, { content: 'Hi' }].map((delta, index) => ({
      index,
      delta,
      finish_reason: 'stop',
    }));
    const [end] = decoded([event({ choices })]);
    expect(end!.choices.map(({ finish_reason }) => finish_reason)).toEqual(['tool_calls', 'stop']);
  });
});

describe('the tool calls of a stream', () => {
  const calls = (...deltas: readonly (readonly object[])[]): ToolCallDelta[] =>
    decoded(deltas.map(tool_calls => wire({ tool_calls }))).flatMap(
      ({ choices }) => choices[0]!.delta.tool_calls!,
    );
  const first = (index: number, id: string, name = 'roll', text = '') => ({
    index,
    id,
    type: 'function',
    function: { name, arguments: text },
  });
  const more = (index: number, text: string) => ({ index, function: { arguments: text } });

  it('get an index from their id where the server sends none', () => {
    const given = (id: string | undefined, text: string, name?: string) => ({
      id,
      function: { name, arguments: text },
    });
    expect(
      calls(
        [given('a', '', 'roll')],
        [given(undefined, '{"d":')],
        [given('b', '{}', 'roll')],
        [given('a', '20}')],
      ),
    ).toEqual([first(0, 'a'), more(0, '{"d":'), first(1, 'b', 'roll', '{}'), more(0, '20}')]);
  });

  it('get an index and an id where the server sends neither: each name begins another call', () => {
    const whole = { function: { name: 'roll', arguments: '{}' } };
    const made = calls([whole, whole], [whole]);
    const id = expect.stringMatching(/^call_[0-9a-f]{24}$/) as unknown as string;
    expect(made).toEqual([0, 1, 2].map(index => first(index, id, 'roll', '{}')));
    // Clients find a call by its id in a whole conversation.
    expect(new Set(made.map(call => call?.id)).size).toBe(3);
  });

  const d20 = { name: 'roll', arguments: '{"d":20}' };
  const d6 = { name: 'roll', arguments: '{"d":6}' };
  it.each<[string, readonly (readonly object[])[], ids: string[]]>([
    ['without index and id', [[{ function: d20 }], [{ function: d6 }]], []],
    ['without id', [[{ index: 0, function: d20 }], [{ index: 1, function: d6 }]], []],
    ['with an empty id', [[{ index: 0, id: '', function: d20 }], [{ index: 1, id: '', function: d6 }]], []],
    [
      'with null for what is not there',
      [
        [{ index: 0, id: 'a', type: 'function', function: { name: 'roll', arguments: null } }],
        [{ index: 0, id: null, type: null, function: { name: null, arguments: '{"d":20}' } }],
        [{ index: 1, id: 'b', function: d6 }],
      ],
      ['a', 'b'],
    ],
    [
      'with the id on every delta',
      [
        [{ index: 0, id: 'a', function: { name: 'roll', arguments: '{"d":' } }],
        [{ index: 0, id: 'a', type: 'function', function: { arguments: '20}' } }],
        [{ index: 1, id: 'b', function: d6 }],
      ],
      ['a', 'b'],
    ],
    [
      'with the name after the id',
      [
        [{ index: 0, id: 'a', type: 'function' }],
        [{ index: 0, function: { name: 'roll', arguments: '' } }],
        [{ index: 0, function: { arguments: '{"d":20}' } }],
        [{ index: 1, id: 'b', function: d6 }],
      ],
      ['a', 'b'],
    ],
  ])('are the same to a client that joins them by index: %s', (_, deltas, ids) => {
    const joined: { id: string | undefined; name: string; arguments: string }[] = [];
    for (const { index, id, type, function: part } of calls(...deltas)) {
      // Only the first delta of a call says what it is, and indexes have no gaps.
      expect([index <= joined.length, type]).toEqual([
        true,
        index === joined.length ? 'function' : undefined,
      ]);
      if (index < joined.length) expect(id).toBeUndefined();
      joined[index] ??= { id, name: '', arguments: '' };
      joined[index].name += part?.name ?? '';
      joined[index].arguments += part?.arguments ?? '';
    }
    expect(joined).toMatchObject([d20, d6]);
    const told = joined.map(({ id }) => id);
    for (const [at, id] of told.entries()) expect(id).toMatch(ids[at] ? `${ids[at]}` : /^call_/);
    expect(new Set(told).size).toBe(2);
  });

  it('are counted separately for each choice', () => {
    const call = { function: { name: 'roll', arguments: '{}' } };
    const both = [0, 1].map(index => ({ index, delta: { tool_calls: [call] }, finish_reason: null }));
    const [chunk] = decoded([event({ choices: both })]);
    expect(chunk!.choices.map(({ delta }) => delta.tool_calls![0]!.index)).toEqual([0, 0]);
  });
});

describe('the usage of a stream', () => {
  const usage = (completion_tokens: number) => ({
    usage: { prompt_tokens: 12, completion_tokens, total_tokens: 12 + completion_tokens },
  });
  const of = (index: number, completion_tokens: number) =>
    event({
      choices: [{ index, delta: { content: 'a' }, finish_reason: null }],
      ...usage(completion_tokens),
    });
  const final = event({ choices: [], ...usage(30) });

  it('is summed when it counts each choice separately, except the final figure', () => {
    const chunks = decoded(
      [of(0, 1), of(1, 1), of(0, 2), of(1, 5), final],
      new OpenAiStreamDecoder({ usagePerChoice: true }),
    );
    expect(chunks.map(chunk => chunk.usage!.completion_tokens)).toEqual([1, 2, 3, 7, 30]);
  });

  it('may stand within a choice, if that is the only one', () => {
    const ended = (index: number) =>
      event({ choices: [{ index, delta: {}, finish_reason: 'stop', ...usage(5) }] });
    expect(decoded([wire({ content: 'a' }), ended(0)]).at(-1)?.usage).toEqual(usageOf(12, 5));
    expect(decoded([wire({ content: 'a' }), ended(1)]).at(-1)?.usage).toBeUndefined();
  });

  it('is left unchanged when it counts all choices together', () => {
    expect(decoded([of(0, 1), of(1, 2), of(0, 3)]).map(chunk => chunk.usage!.completion_tokens)).toEqual([
      1, 2, 3,
    ]);
  });
});

describe('an error event in a stream', () => {
  it.each([
    event({ error: { message: 'Overloaded' } }),
    event({ error: 'Overloaded' }),
    { event: 'error', data: '{"message":"Overloaded"}' },
    { event: 'error', data: 'Overloaded' },
    event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    event({ object: 'error', message: 'Overloaded', code: 500 }),
    wire({ content: '' }, 'error', { error: { code: 502, message: 'Overloaded' } }),
  ])('is recognized in %j', one => {
    expect(() => decoded([one])).toThrow(
      expect.objectContaining({ name: 'UpstreamError', message: 'Overloaded', status: undefined }),
    );
  });

  it.each([
    [event({ error: { message: 'x', code: 429 } }), 429],
    [event({ error: { message: 'x', code: '400' } }), 400],
    [event({ error: { message: 'x', code: 'server_error', type: 'overloaded_error' } }), 529],
    [event({ object: 'error', message: 'x', code: 503 }), 503],
    [{ event: 'error', data: '{"code":500,"message":"x"}' }, 500],
    [event({ error: { message: 'x', code: -32000 } }), undefined],
    [event({ error: { message: 'x', code: 200 } }), undefined],
    [event({ error: { message: 'x', type: 'constructor' } }), undefined],
    [event({ error: 'x' }), undefined],
  ])('has, for %j, the status %s', (one, status) => {
    expect(() => decoded([one], new OpenAiStreamDecoder({ errorsHaveStatus: true }))).toThrow(
      expect.objectContaining({ name: 'UpstreamError', message: 'x', status }),
    );
  });

  it.each([
    wire({}, 'abort'),
    wire({}, 'error'),
    { data: '{"choices":[' },
    { data: 'null' },
    { data: '[]' },
    { data: 'Hi' },
  ])('is raised for the invalid event %j', one => {
    expect(() => decoded([one])).toThrow(expect.objectContaining({ status: 502, type: 'provider_error' }));
  });
});

describe('the completeness of a stream', () => {
  const step = (index: number, finish_reason: string | null) =>
    event({ choices: [{ index, delta: {}, finish_reason }] });

  it.each<[string, { data: string }[], boolean]>([
    ['before anything', [], false],
    ['after a ping', [event({ type: 'ping' })], false],
    ['after usage alone', [event({ choices: [], usage: { prompt_tokens: 1 } })], false],
    ['in the middle', [step(0, null)], false],
    ['at the end', [step(0, null), step(0, 'stop')], true],
    ['while another choice is open', [step(0, null), step(1, null), step(0, 'stop')], false],
    ['when all have ended', [step(0, null), step(1, null), step(0, 'stop'), step(1, 'length')], true],
    ['when an ended choice is repeated beside the usage', [step(0, 'stop'), step(0, null)], true],
  ])('is determined %s: %#', (_, events, expected) => {
    const decoder = new OpenAiStreamDecoder();
    decoded(events, decoder);
    expect(decoder.complete).toBe(expected);
  });
});
