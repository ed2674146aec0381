import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { reasoningSplit } from '../../../../../plugins/stages/reasoning-split/index.ts';
import type { Chunk, Message } from '../../../../../src/gateway/exchange/canonical.ts';
import { assembled, chunkOf, cutAt, cuts } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';
import { type Asked, call, choiceOf, replied, stageOf, streamed } from './split-stage.ts';
import { thinkText } from './think-text.ts';

describe('the reasoning-split stage on any interleaved choices', () => {
  it('gives the same for streams as for whole replies, each choice for itself', async () => {
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

  it('releases all held text before it rethrows an error', async () => {
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

describe('the decision to split reasoning', () => {
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
    'for a reasoning model: $model and reasoning_split: $asked is $split',
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

  it('assumes reasoning from the start only for models that begin with it, and never with effort none', async () => {
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

  it('depends on the closing tag alone for auto: without one the text is the answer', () => {
    const chosen: Asked = { model: { starts_in_reasoning: 'auto' } };
    expect(replied(chosen, { content: 'Yes.' })).toMatchObject({ reasoning: '', content: 'Yes.' });
    expect(replied(chosen, { content: 'Yes, <think>no</think>.' })).toMatchObject({
      reasoning: 'Yes, <think>no',
      content: '.',
    });
  });

  it('adds the field even without reasoning, and keeps null beside tool calls', () => {
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

describe('signed reasoning in the reasoning-split stage', () => {
  const signed = { type: 'reasoning.text', text: 'Hm.', signature: 's' };
  const encrypted = { type: 'reasoning.encrypted', data: 'x' };
  const given = [{ reasoning: 'Hm.' }, { reasoning_details: [signed, encrypted] }, { content: 'Hi.' }];
  const message = { content: 'Hi.', reasoning: 'Hm.', reasoning_details: [signed, encrypted] };

  it('passes where reasoning is separated', async () => {
    const asked = { request: { reasoning_split: true } };
    expect(await streamed(asked, given)).toEqual(given);
    expect(replied(asked, message)).toMatchObject(message);
  });

  it('is left out where it is in the text as well, but for what is encrypted', async () => {
    const asked = { request: { reasoning_split: false } };
    expect(await streamed(asked, given)).toEqual([
      { content: '<think>Hm.' },
      { reasoning_details: [encrypted] },
      { content: '</think>Hi.' },
    ]);
    expect(replied(asked, message)).toEqual({
      role: 'assistant',
      content: '<think>Hm.</think>Hi.',
      reasoning_details: [encrypted],
    });
  });

  it('shows that the upstream separates reasoning, be it all encrypted', async () => {
    const asked = { request: { reasoning_split: true } };
    const text = { content: '<think> is a tag.' };
    const details = { reasoning_details: [encrypted] };
    expect(await streamed(asked, [details, text])).toEqual([details, text]);
    expect(replied(asked, { ...text, ...details })).toEqual({
      role: 'assistant',
      reasoning: '',
      ...text,
      ...details,
    });
  });
});

describe('joined reasoning that a client sends back', () => {
  const sent = (message: Partial<Message>, reasoning_split?: boolean) => {
    const messages: Message[] = [{ role: 'assistant', content: null, ...message }];
    const exchange = sampleExchange({
      request: { messages, ...(reasoning_split !== undefined && { reasoning_split }) },
    });
    reasoningSplit({}).plan.create(sampleSetup()).onRequest?.(exchange);
    return exchange.request.messages[0]!;
  };
  const tool_calls = [call];

  it('is separated again on turns that called tools', () => {
    const joined = { content: '<think>Hm.</think>Rolling.', tool_calls };
    expect(sent(joined, false)).toMatchObject({ content: 'Rolling.', reasoning: 'Hm.' });
    expect(sent({ content: '<think>Hm.</think>', tool_calls }, false)).toMatchObject({
      content: null,
      reasoning: 'Hm.',
    });
  });

  it('stays as it is without calls, without the end of it, beside reasoning, and where it is separated', () => {
    const content = '<think>Hm.</think>Rolling.';
    for (const [message, split] of [
      [{ content }, false],
      [{ content: '<think>Hm.', tool_calls }, false],
      [{ content, reasoning: 'Own.', tool_calls }, false],
      [{ content, tool_calls }, true],
      [{ content, tool_calls }, undefined],
    ] as const)
      expect(sent({ ...message } as Partial<Message>, split)).toEqual({ role: 'assistant', ...message });
  });
});
