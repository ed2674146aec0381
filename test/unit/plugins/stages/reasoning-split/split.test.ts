import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { assembled, chunkOf } from '../../../chunk-stream.ts';
import { call, replied, stageOf, streamed } from './split-stage.ts';

describe('reasoning that the upstream has already separated', () => {
  it('is not searched for tags', async () => {
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

  it('may follow text that was held back, which is released first', async () => {
    expect(await streamed({}, [{ content: '<thi' }, { reasoning: 'One.' }])).toEqual([
      { content: '<thi' },
      { reasoning: 'One.' },
    ]);
  });
});

describe('splitting a stream with tool calls', () => {
  const first = { tool_calls: [{ index: 0, ...call }] };

  it('passes the calls on unchanged, after all the text before them', async () => {
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

describe('chunks of a split stream', () => {
  it('keep their usage on every piece', async () => {
    const usage = usageOf(3, 2);
    const { chunks } = await stageOf({}).stream([
      { ...chunkOf({ content: '<think>One.</think>Yes.' }), usage },
    ]);
    expect(chunks.map(chunk => chunk.usage)).toEqual([usage, usage]);
  });

  it('are dropped while all their text is held back, unless they carry usage', async () => {
    const held = chunkOf({ content: '<thi' });
    const usage = usageOf(3, 1);
    const { chunks } = await stageOf({}).stream([held]);
    expect(chunks).toEqual([held]);
    const counted = await stageOf({}).stream([{ ...held, usage }]);
    expect(counted.chunks).toEqual([{ choices: [], usage }, held]);
  });

  it('pass without choices, since they carry usage', async () => {
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

  it('are passed on uncopied once the answer has begun', async () => {
    const answer = chunkOf({ content: ' and so on' });
    const { chunks } = await stageOf({}).stream([chunkOf({ reasoning: 'One.' }), answer]);
    expect(chunks[1]).toBe(answer);
  });
});
