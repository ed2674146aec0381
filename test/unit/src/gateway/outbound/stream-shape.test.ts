import { describe, expect, it } from '@jest/globals';
import type { Chunk, Delta } from '../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../src/gateway/exchange/canonical.ts';
import { StreamShape } from '../../../../../src/gateway/outbound/stream-shape.ts';
import { estimateTokens } from '../../../../../src/gateway/settlement/usage-meter.ts';
import { chunkOf } from '../../../chunk-stream.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { continuous, end, role, shaped, text, told } from './shaped-stream.ts';

describe('the role in a stream', () => {
  it('comes even where there is only a finish chunk', async () => {
    expect((await shaped([end(), told(3, 0)])).chunks).toEqual([role(), { ...end(), usage: usageOf(3, 0) }]);
  });
});

describe('the finish chunk', () => {
  const usage = usageOf(12, 9, 4);

  it.each<{ name: string; given: Chunk[] }>([
    { name: 'in a chunk of its own', given: [text('Hi'), end(), { choices: [], usage }] },
    { name: 'on the finish chunk', given: [text('Hi'), { ...end(), usage }] },
    {
      name: 'with the last text, beside the finish reason',
      given: [{ ...chunkOf({ content: 'Hi' }, 'stop'), usage }],
    },
    { name: 'beside the choice, repeated', given: [text('Hi'), end(), { ...role(), usage }] },
    { name: 'beside the choice, repeated with its reason', given: [text('Hi'), end(), { ...end(), usage }] },
    { name: 'before the end', given: [{ ...text('Hi'), usage }, end()] },
  ])('is last and has the usage that came $name', async ({ given }) => {
    expect((await shaped([role(), ...given])).chunks).toEqual([role(), text('Hi'), { ...end(), usage }]);
  });

  it('fails the stream if it cannot be written, as any other chunk does', () => {
    const seen: unknown[] = [];
    const fault = new Error('no room');
    const shape = new StreamShape(sampleExchange({ request: { stream: true } }), {
      chunk({ choices: [choice] }) {
        if (choice?.finish_reason) throw fault;
        return true;
      },
      flush: () => true,
      end: () => seen.push('end'),
      fail: thrown => seen.push(thrown),
    });
    for (const chunk of [text('Hi'), end()]) shape.chunk(chunk);
    shape.end();
    expect(seen).toEqual([fault]);
  });

  it('is released before a later choice, and only the last has usage', async () => {
    const given = [text('a'), end(), text('b', 1), end(1, 'length'), told(3, 2)];
    expect((await shaped(given)).chunks).toEqual([
      role(),
      text('a'),
      end(),
      role(1),
      text('b', 1),
      { ...end(1, 'length'), usage: usageOf(3, 2) },
    ]);
  });

  it('does not come out before an error, as what precedes it is no whole answer', async () => {
    const broken = new Error('reset');
    const { chunks, fault } = await shaped([text('a'), end(), text('b', 1), end(1)], {}, broken);
    expect(fault).toBe(broken);
    expect(chunks).toEqual([role(), text('a'), end(), role(1), text('b', 1)]);
  });

  it('is not invented where the upstream sent none', async () => {
    expect((await shaped([text('a'), told(3, 2)])).chunks).toEqual([role(), text('a')]);
  });

  it('has the estimate where the upstream reports no usage', async () => {
    const { chunks } = await shaped([text('Rivers bend.'), end()]);
    // Two words and a mark; four words and a mark in the question, and four for the frame of its message.
    expect(chunks.at(-1)!.usage).toEqual(usageOf(9, 3));
  });
});

describe('the usage in a stream', () => {
  it('is on no other chunk unless it was requested', async () => {
    const given = [{ ...text('a'), usage: usageOf(3, 1) }, { ...text('b'), usage: usageOf(3, 2) }, end()];
    for (const stream_options of [
      undefined,
      {},
      { include_usage: true },
      { continuous_usage_stats: false },
    ]) {
      const { chunks } = await shaped(given, { stream: true, ...(stream_options && { stream_options }) });
      expect(chunks.map(({ usage }) => usage)).toEqual([undefined, undefined, undefined, usageOf(3, 2)]);
    }
  });

  it('is on every chunk where it was requested, as in the example of the protocol', async () => {
    const given = [
      { ...role(), usage: usageOf(12, 0) },
      { ...chunkOf({ reasoning: 'The user greets me.' }), usage: usageOf(12, 5) },
      { ...text('Hello'), usage: usageOf(12, 6) },
      { ...text(' there.'), usage: usageOf(12, 8) },
      { ...end(), usage: usageOf(12, 9) },
      told(12, 9, 4),
    ];
    const { chunks } = await shaped(given, continuous);
    expect(chunks.map(({ usage }) => usage)).toEqual([
      usageOf(12, 0),
      usageOf(12, 5),
      usageOf(12, 6),
      usageOf(12, 8),
      usageOf(12, 9, 4),
    ]);
  });

  it('counts nothing generated on the role chunk, though text came with it', async () => {
    const { chunks } = await shaped([{ ...text('Hello'), usage: usageOf(12, 2) }, end()], continuous);
    expect(chunks[0]!.usage).toEqual(usageOf(12, 0));
  });

  it('never falls during the stream when the upstream reports less than was estimated, and is exact at the end', async () => {
    const answer = 'A long answer, of which the estimate is high.';
    const estimate = estimateTokens(answer);
    expect(estimate).toBeGreaterThan(answer.split(' ').length);
    const given = [text(answer), { ...text(' And'), usage: usageOf(5, 2) }, text(' on.'), end(), told(5, 3)];
    const { chunks } = await shaped(given, continuous);
    const running = chunks.slice(0, -1).map(({ usage }) => usage!);
    expect(running.map(usage => usage.prompt_tokens)).toEqual([9, 9, 9, 9]);
    expect(running.map(usage => usage.completion_tokens)).toEqual([0, estimate, estimate, estimate]);
    expect(chunks.at(-1)!.usage).toEqual(usageOf(5, 3));
  });

  it('has the breakdown of the upstream only at the end', async () => {
    const details = { reasoning_tokens: 5 };
    const given = [
      { ...text('a'), usage: usageOf(3, 1, 0, details) },
      { ...end(), usage: usageOf(3, 7, 0, details) },
    ];
    const { chunks } = await shaped(given, continuous);
    expect(chunks.map(({ usage }) => usage?.completion_tokens_details)).toEqual([
      undefined,
      undefined,
      details,
    ]);
  });
});

describe('the delta of a chunk', () => {
  it('keeps reasoning, tool calls, refusals and log probabilities, and drops empty fields', async () => {
    const call = {
      index: 0,
      id: 'call_1',
      type: 'function' as const,
      function: { name: 'roll', arguments: '' },
    };
    const deltas: Delta[] = [
      { role: 'assistant', content: '', reasoning: 'Hm.' },
      { content: '' },
      { content: null, tool_calls: [call] },
      { refusal: 'No.' },
    ];
    const logprobs = { content: [] };
    const bare = { choices: [{ index: 0, delta: { content: '' }, finish_reason: null, logprobs }] };
    const { chunks } = await shaped([...deltas.map(delta => chunkOf(delta)), bare, end()]);
    expect(chunks.slice(1, -1)).toEqual([
      chunkOf({ reasoning: 'Hm.' }),
      chunkOf({ tool_calls: [call] }),
      chunkOf({ refusal: 'No.' }),
      { choices: [{ index: 0, delta: {}, finish_reason: null, logprobs }] },
    ]);
  });
});
