import { describe, expect, it } from '@jest/globals';
import type { Chunk } from '../../../../../src/canonical.ts';
import { usageOf } from '../../../../../src/canonical.ts';
import { assembled, chunkOf } from '../../../chunk-stream.ts';
import { call, replied, stageOf, streamed } from './split-stage.ts';

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

  it('that are held back as a whole are nothing, unless they carry usage', async () => {
    const held = chunkOf({ content: '<thi' });
    const usage = usageOf(3, 1);
    const { chunks } = await stageOf({}).stream([held]);
    expect(chunks).toEqual([held]);
    const counted = await stageOf({}).stream([{ ...held, usage }]);
    expect(counted.chunks).toEqual([{ choices: [], usage }, held]);
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
