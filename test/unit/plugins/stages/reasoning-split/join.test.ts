import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { joinReply, StreamJoiner } from '../../../../../plugins/stages/reasoning-split/join.ts';
import { StreamSplitter, splitReply } from '../../../../../plugins/stages/reasoning-split/split.ts';
import type { Chunk, Delta, ReplyMessage } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import {
  assembled,
  choicesOf,
  chunkOf,
  collected,
  cutAt,
  cuts,
  streamOf,
  transformed,
} from '../../../chunk-stream.ts';
import { replied, stageOf, streamed } from './split-stage.ts';

const call = { id: 'call_1', type: 'function' as const, function: { name: 'roll', arguments: '{}' } };
const calls = { tool_calls: [{ index: 0, ...call }] };

async function joined(chunks: readonly Chunk[]): Promise<Chunk[]> {
  return (await collected(transformed(streamOf(chunks), new StreamJoiner()))).chunks;
}

const deltas = (chunks: readonly Chunk[], index = 0): Delta[] =>
  choicesOf(chunks, index).map(({ delta }) => delta);

describe('joining reasoning into the text of a stream', () => {
  it.each<{ name: string; given: Delta[]; expected: Delta[] }>([
    {
      name: 'both in one delta',
      given: [{ reasoning: 'One.', content: 'Yes.' }, { content: ' More.' }],
      expected: [{ content: '<think>One.</think>Yes.' }, { content: ' More.' }],
    },
    {
      name: 'reasoning, then a tool call',
      given: [{ reasoning: 'One.' }, calls],
      expected: [{ content: '<think>One.' }, { content: '</think>' }, calls],
    },
    {
      name: 'reasoning and a tool call in one delta',
      given: [{ reasoning: 'One.', ...calls }],
      expected: [{ content: '<think>One.</think>' }, calls],
    },
    {
      name: 'reasoning, then an answer and a tool call in one delta',
      given: [{ reasoning: 'One.' }, { content: 'Yes.', ...calls }],
      expected: [{ content: '<think>One.' }, { content: '</think>Yes.', ...calls }],
    },
    { name: 'nothing but reasoning', given: [{ reasoning: 'One.' }], expected: [{ content: '<think>One.' }] },
    {
      name: 'empty pieces, which close nothing',
      given: [{ reasoning: 'One.', content: '' }, { reasoning: '', content: '' }, { reasoning: ' Two.' }],
      expected: [{ content: '<think>One.' }, { content: '' }, { content: ' Two.' }],
    },
    { name: 'no reasoning', given: [{ content: 'Yes.' }, calls], expected: [{ content: 'Yes.' }, calls] },
  ])('handles $name', async ({ given, expected }) => {
    const chunks = await joined([...given.map(delta => chunkOf(delta)), chunkOf({}, 'stop')]);
    expect(deltas(chunks)).toEqual([...expected, {}]);
    expect(choicesOf(chunks).at(-1)!.finish_reason).toBe('stop');
  });

  it('keeps choices apart and usage on every chunk', async () => {
    const usage = usageOf(3, 2);
    const both = (zero: Delta, one: Delta): Chunk => ({
      choices: [chunkOf(zero).choices[0]!, chunkOf(one, null, 1).choices[0]!],
      usage,
    });
    const chunks = await joined([
      both({ reasoning: 'One.' }, { content: 'Yes.' }),
      both(calls, { reasoning: 'Late.' }),
    ]);
    expect(assembled(chunks).content).toBe('<think>One.</think>');
    expect(assembled(chunks, 1).content).toBe('Yes.<think>Late.');
    expect(chunks.map(chunk => chunk.usage)).toEqual([usage, usage, usage]);
  });
});

describe('joining reasoning into the text of a whole reply', () => {
  const join = (message: Partial<ReplyMessage>) =>
    joinReply({
      choices: [
        { index: 0, message: { role: 'assistant', content: null, ...message }, finish_reason: 'stop' },
      ],
    }).choices[0]!.message;

  it.each([
    [{ reasoning: 'One.', content: 'Yes.' }, { content: '<think>One.</think>Yes.' }],
    [{ reasoning: 'One.', content: '' }, { content: '<think>One.' }],
    [
      { reasoning: 'One.', content: null, tool_calls: [call] },
      { content: '<think>One.</think>', tool_calls: [call] },
    ],
    [{ reasoning: '', content: 'Yes.' }, { content: 'Yes.' }],
    [{ content: '<think>One.</think>Yes.' }, { content: '<think>One.</think>Yes.' }],
  ])('turns %j into one text', (given, expected) => {
    expect(join(given)).toEqual({ role: 'assistant', ...expected });
  });
});

describe('a text that starts in reasoning and is to stay joined', () => {
  const asked = (starts_in_reasoning: boolean | 'auto', request: object = {}) => ({
    request: { reasoning_split: false, ...request },
    model: { reasoning: true, starts_in_reasoning },
  });
  const texts = [
    ['One.</think>Yes.', '<think>One.</think>Yes.'],
    ['\n One.', '<think>\n One.'],
    ['<thi', '<think><thi'],
    ['<b>', '<think><b>'],
    [' <think>One.</think>Yes.', ' <think>One.</think>Yes.'],
    [' \n', ' \n'],
    ['', ''],
  ] as const;

  it.each(texts)('gets its opening tag once, whole and streamed: %j', async (given, expected) => {
    expect(replied(asked(true), { content: given }).content).toBe(expected);
    for (const pieces of [[given], [...given], ['', given, '']]) {
      const chunks = [...pieces.map(content => chunkOf({ content })), chunkOf({}, 'stop')];
      for (const sent of [chunks, chunks.slice(0, -1)])
        expect(assembled((await stageOf(asked(true)).stream(sent)).chunks).content).toBe(expected);
    }
  });

  it('gets it before a tool call that follows', async () => {
    const found = await streamed(asked(true), [{ content: '<' }, calls]);
    expect(found.map(({ content }) => content ?? '').join('')).toBe('<think><');
    expect(found.at(-1)!.tool_calls).toEqual(calls.tool_calls);
  });

  it('gets it with text that was held at the latest on the chunk that ends its choice', async () => {
    const sent = [
      chunkOf({ content: ' <thi' }),
      chunkOf({}, 'length'),
      { choices: [], usage: usageOf(3, 2) },
    ];
    const { chunks } = await stageOf(asked(true)).stream(sent);
    const last = choicesOf(chunks).findIndex(({ finish_reason }) => finish_reason !== null);
    expect(assembled(chunks.slice(0, last + 1)).content).toBe('<think> <thi');
    expect(choicesOf(chunks)).toHaveLength(last + 1);
  });

  it('gets none when the upstream separates, without effort, or where it cannot be known', async () => {
    const separated = { reasoning: 'One.', content: 'Yes.' };
    expect(replied(asked(true), separated).content).toBe('<think>One.</think>Yes.');
    expect(await streamed(asked(true), [separated])).toEqual([{ content: '<think>One.</think>Yes.' }]);
    expect(await streamed(asked(true), [{ content: ' ' }, separated])).toEqual([
      { content: '' },
      { content: ' <think>One.</think>Yes.' },
    ]);
    const content = 'Yes.';
    expect(replied(asked(true, { reasoning_effort: 'none' }), { content }).content).toBe('Yes.');
    expect(replied(asked('auto'), { content }).content).toBe('Yes.');
    expect(replied(asked('auto'), { content: 'One.</think>Yes.' }).content).toBe('<think>One.</think>Yes.');
    expect(await streamed(asked('auto'), [{ content: 'One.</think>Yes.' }])).toEqual([
      { content: 'One.</think>Yes.' },
    ]);
  });
});

describe('joining and splitting reasoning again', () => {
  /** What a splitter can give: no tags, and no whitespace where it drops it. */
  const part = fc
    .string({ unit: fc.constantFrom('a', 'b', '<', ' ', '\n', '🤔') })
    .filter(text => text === text.trim() && !text.includes('think'));

  it('restores the original reply, whole and streamed', async () => {
    await fc.assert(
      fc.asyncProperty(part, part, cuts, cuts, async (reasoning, content, someCuts, otherCuts) => {
        fc.pre(reasoning !== '');
        const message: ReplyMessage = { role: 'assistant', reasoning, content };
        const whole = { choices: [{ index: 0, message, finish_reason: 'stop' as const }] };
        expect(splitReply(joinReply(whole), false, true)).toEqual(whole);

        const chunks = [
          ...cutAt(reasoning, someCuts).map(text => chunkOf({ reasoning: text })),
          ...cutAt(content, otherCuts).map(text => chunkOf({ content: text })),
        ];
        const splitter = new StreamSplitter({ implicit: false, trim: true });
        const { chunks: again } = await collected(
          transformed(transformed(streamOf(chunks), new StreamJoiner()), splitter),
        );
        expect(assembled(again)).toEqual({ reasoning, content });
      }),
      { numRuns: 300 },
    );
  });
});
