import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { reasoningSplit } from '../../../../../plugins/stages/reasoning-split/index.ts';
import type {
  ChatRequest,
  Choice,
  Chunk,
  Completion,
  Delta,
  ReplyMessage,
} from '../../../../../src/canonical.ts';
import { usageOf } from '../../../../../src/canonical.ts';
import type { Model } from '../../../../../src/catalog/catalog.ts';
import { thinkTexts } from '../../../../fixtures/think-texts.ts';
import { assembled, choicesOf, chunkOf, collected, cutAt, cuts, streamOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';
import { thinkText } from './think-text.ts';

interface Asked {
  readonly request?: Partial<ChatRequest>;
  readonly model?: Partial<Model>;
  readonly trim?: boolean;
}

function stageOf({ request = {}, model = {}, trim = true }: Asked) {
  const stage = reasoningSplit({ trim }).plan.create(sampleSetup());
  const exchange = sampleExchange({ request, model });
  const reply = (whole: Completion) => stage.onReply?.(exchange, whole) as Completion;
  const stream = (chunks: readonly Chunk[], fault?: unknown) =>
    collected(stage.onStream!(exchange, streamOf(chunks, fault)));
  return { reply, stream };
}

const call = { id: 'call_1', type: 'function' as const, function: { name: 'roll', arguments: '{}' } };
const choiceOf = (message: Partial<ReplyMessage>, index = 0): Choice => ({
  index,
  message: { role: 'assistant', content: null, ...message },
  finish_reason: 'stop',
});
const deltas = (chunks: readonly Chunk[], index = 0): Delta[] =>
  choicesOf(chunks, index).map(({ delta }) => delta);

function replied(asked: Asked, message: Partial<ReplyMessage>): ReplyMessage {
  return stageOf(asked).reply({ choices: [choiceOf(message)] }).choices[0]!.message;
}

async function streamed(asked: Asked, given: readonly Delta[]): Promise<Delta[]> {
  const chunks = [...given.map(delta => chunkOf(delta)), chunkOf({}, 'stop')];
  return deltas(
    (await stageOf(asked).stream(chunks)).chunks.filter(({ choices }) => !choices[0]!.finish_reason),
  );
}

describe('the fixtures, as a whole reply and as a stream', () => {
  it.each(thinkTexts)('$name', async ({ text, implicit = false, reasoning, content }) => {
    const asked = { model: { starts_in_reasoning: implicit } };
    expect(replied(asked, { content: text })).toMatchObject({ reasoning, content });
    const { chunks } = await stageOf(asked).stream([chunkOf({ content: text }), chunkOf({}, 'stop')]);
    expect(assembled(chunks)).toEqual({ reasoning, content });
  });
});

describe('any texts of several choices, cut anywhere and mixed', () => {
  it('give the same as whole replies, each choice for itself (f1)', async () => {
    const choice = fc.record({ text: thinkText, places: cuts, calls: fc.boolean() });
    const choices = fc.array(choice, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(
        choices,
        fc.infiniteStream(fc.nat()),
        fc.constantFrom(true, false),
        fc.boolean(),
        async (all, order, starts_in_reasoning, trim) => {
          const { reply, stream } = stageOf({ model: { starts_in_reasoning }, trim });
          const whole = reply({
            choices: all.map(({ text, calls }, index) =>
              choiceOf({ content: text, ...(calls && { tool_calls: [call] }) }, index),
            ),
          });
          const queues = all.map(({ text, places, calls }, index) => [
            ...cutAt(text, places).map(content => chunkOf({ content }, null, index)),
            ...(calls ? [chunkOf({ tool_calls: [{ index: 0, ...call }] }, null, index)] : []),
            chunkOf({}, calls ? 'tool_calls' : 'stop', index),
          ]);
          const { chunks } = await stream(mixed(queues, order));
          for (const { index, message } of whole.choices) {
            const { reasoning = '', content } = message;
            expect(assembled(chunks, index)).toEqual({ reasoning, content: content ?? '' });
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('come out complete before a fault is rethrown', async () => {
    await fc.assert(
      fc.asyncProperty(thinkText, cuts, fc.boolean(), async (text, places, starts_in_reasoning) => {
        const { reply, stream } = stageOf({ model: { starts_in_reasoning } });
        const pieces = cutAt(text, places).map(content => chunkOf({ content }));
        const broken = new Error('reset');
        const { chunks, fault } = await stream(pieces, broken);
        expect(fault).toBe(broken);
        const { reasoning, content } = reply({ choices: [choiceOf({ content: text })] }).choices[0]!.message;
        expect(assembled(chunks)).toEqual({ reasoning, content });
      }),
    );
  });
});

/** One chunk after the other, from whichever queue `order` says. */
function mixed(queues: Chunk[][], order: Iterator<number>): Chunk[] {
  const chunks: Chunk[] = [];
  for (let open = queues.filter(queue => queue.length > 0); open.length > 0; ) {
    chunks.push(open[(order.next().value as number) % open.length]!.shift()!);
    open = open.filter(queue => queue.length > 0);
  }
  return chunks;
}

describe('when it splits', () => {
  const text = '<think>One.</think>Yes.';
  const apart = { reasoning: 'One.', content: 'Yes.' };

  it.each([
    { model: true, asked: undefined, split: true },
    { model: true, asked: true, split: true },
    { model: true, asked: false, split: false },
    { model: false, asked: undefined, split: false },
    { model: false, asked: true, split: true },
    { model: false, asked: false, split: false },
  ])(
    'reasoning model: $model, reasoning_split: $asked → $split (f11, f13)',
    async ({ model, asked, split }) => {
      const chosen = {
        model: { reasoning: model },
        request: asked === undefined ? {} : { reasoning_split: asked },
      };
      expect(replied(chosen, { content: text })).toEqual({
        role: 'assistant',
        ...(split ? apart : { content: text }),
      });
      expect(await streamed(chosen, [{ content: text }])).toEqual(
        split ? [{ reasoning: 'One.' }, { content: 'Yes.' }] : [{ content: text }],
      );
    },
  );

  it('takes a text to start inside only where the model does, and never with effort none (f3)', async () => {
    const lone = { content: 'One.</think>Yes.' };
    const none = { reasoning_effort: 'none' };
    for (const [starts_in_reasoning, request, whole, stream] of [
      [true, {}, true, true],
      [false, {}, false, false],
      ['auto', {}, true, false],
      [true, none, false, false],
      ['auto', none, false, false],
    ] as const) {
      const chosen = { model: { starts_in_reasoning }, request };
      expect(replied(chosen, lone)).toMatchObject(whole ? apart : lone);
      expect(await streamed(chosen, [lone])).toEqual(
        stream ? [{ reasoning: 'One.' }, { content: 'Yes.' }] : [lone],
      );
    }
  });

  it('decides auto by the closing tag alone: without one the text is the answer', () => {
    const chosen: Asked = { model: { starts_in_reasoning: 'auto' } };
    expect(replied(chosen, { content: 'Yes.' })).toMatchObject({ reasoning: '', content: 'Yes.' });
    expect(replied(chosen, { content: 'Yes, <think>no</think>.' })).toMatchObject({
      reasoning: 'Yes, <think>no',
      content: '.',
    });
  });

  it('adds the field even where there was no reasoning (f9), and keeps null beside tool calls (d11)', () => {
    expect(replied({}, { content: 'Yes.' })).toMatchObject({ reasoning: '', content: 'Yes.' });
    expect(replied({}, { content: null, tool_calls: [call] })).toEqual({
      role: 'assistant',
      content: null,
      reasoning: '',
      tool_calls: [call],
    });
    expect(replied({}, { content: '<think>One.', tool_calls: [call] })).toMatchObject({
      reasoning: 'One.',
      content: null,
    });
  });
});

describe('what the upstream has separated', () => {
  it('is not searched for tags (f10)', async () => {
    const apart = { reasoning: 'One.', content: '<think>Two.</think>Yes.' };
    expect(replied({}, apart)).toEqual({ role: 'assistant', ...apart });
    const given = [
      { role: 'assistant' as const, content: '' },
      { reasoning: 'One.' },
      { content: apart.content },
    ];
    const out = await streamed({}, given);
    expect(assembled(out.map(delta => chunkOf(delta)))).toEqual(apart);
  });

  it('may come with the answer in one delta, reasoning first', async () => {
    const both = { reasoning: 'One.', content: 'Yes.' };
    expect(await streamed({}, [both])).toEqual([both]);
    expect(await streamed({}, [{ role: 'assistant' }, both])).toEqual([{ role: 'assistant' }, both]);
  });

  it('may follow text that was held back, which comes out first', async () => {
    expect(await streamed({}, [{ content: '<thi' }, { reasoning: 'One.' }])).toEqual([
      { content: '<thi' },
      { reasoning: 'One.' },
    ]);
  });
});

describe('a stream with tool calls', () => {
  const first = { tool_calls: [{ index: 0, ...call }] };

  it('passes them on unchanged, after all the text before them (f8)', async () => {
    const more = { tool_calls: [{ index: 0, function: { arguments: '"<think>"' } }] };
    expect(await streamed({}, [{ content: '<think>One. </thi' }, first, more])).toEqual([
      { reasoning: 'One.' },
      { reasoning: ' </thi' },
      first,
      more,
    ]);
  });

  it('splits the text of the same delta before them', async () => {
    expect(await streamed({}, [{ content: '<think>One.</think>Yes.', ...first }])).toEqual([
      { reasoning: 'One.' },
      { ...first, content: 'Yes.' },
    ]);
  });
});

describe('chunks', () => {
  it('keep their usage, in every piece that is made of one', async () => {
    const usage = usageOf(3, 2);
    const { chunks } = await stageOf({}).stream([
      { ...chunkOf({ content: '<think>One.</think>Yes.' }), usage },
    ]);
    expect(chunks.map(chunk => chunk.usage)).toEqual([usage, usage]);
  });

  it('without choices pass: they carry usage', async () => {
    const chunk = { choices: [], usage: usageOf(3, 2) };
    expect((await stageOf({}).stream([chunk])).chunks).toEqual([chunk]);
  });

  it('keep log probabilities and the finish reason with the rest of the text', async () => {
    const logprobs = { content: [] };
    const given = {
      choices: [{ index: 0, delta: { content: '<think>One.' }, finish_reason: 'length', logprobs }],
    };
    expect((await stageOf({}).stream([given as Chunk])).chunks).toEqual([
      chunkOf({ reasoning: 'One.' }),
      { choices: [{ index: 0, delta: {}, finish_reason: 'length', logprobs }] },
    ]);
  });

  it('of an answer that has begun are handed on as they are, not copied', async () => {
    const answer = chunkOf({ content: ' and so on' });
    const { chunks } = await stageOf({}).stream([chunkOf({ reasoning: 'One.' }), answer]);
    expect(chunks[1]).toBe(answer);
  });
});
