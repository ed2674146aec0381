import { describe, expect, it } from '@jest/globals';
import type { Chunk, Delta, FinishReason } from '../../../../../src/canonical.ts';
import { usageOf } from '../../../../../src/canonical.ts';
import { refusal } from '../../../../../src/errors.ts';
import { ChunkFeed } from '../../../../../src/upstream/attempt/chunk-feed.ts';
import { CommitBuffer } from '../../../../../src/upstream/attempt/commit-buffer.ts';

const chunk = (delta: Delta, finish_reason: FinishReason | null = null): Chunk => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const role = chunk({ role: 'assistant', content: '' });
const usage: Chunk = { choices: [], usage: usageOf(7, 0) };
const word = chunk({ content: 'Hello' });

function gateOver(max_held: number, feed = feedOf()) {
  const told: string[] = [];
  const gate = new CommitBuffer(feed, max_held, {
    firstWord: () => told.push('first word'),
    released: () => told.push('released'),
  });
  // Some tests let it fail and do not ask.
  gate.begun.catch(() => {});
  return { gate, feed, told };
}

const feedOf = () => new ChunkFeed({ begin() {}, drained() {}, left() {} }, { chunk() {}, end() {} });

/** What has come through so far. */
async function taken(feed: ChunkFeed): Promise<Chunk[]> {
  const chunks: Chunk[] = [];
  while (feed.unread > 0) chunks.push((await feed.next()).value as Chunk);
  return chunks;
}

describe('a gate that holds back', () => {
  it('keeps roles and usage until the first word, and gives everything in order', async () => {
    const { gate, feed, told } = gateOver(16);
    gate.give([role]);
    gate.give([usage]);
    expect([feed.unread, told, gate.generated]).toEqual([0, [], false]);
    gate.give([word, word]);
    expect(told).toEqual(['first word', 'released']);
    await gate.begun;
    gate.give([word]);
    expect(await taken(feed)).toEqual([role, usage, word, word, word]);
  });

  it.each<[string, Chunk]>([
    ['text', word],
    ['reasoning', chunk({ reasoning: 'Hm' })],
    ['a tool call', chunk({ tool_calls: [{ index: 0 }] })],
    ['a refusal', chunk({ refusal: 'No' })],
    ['an end', chunk({}, 'stop')],
  ])('takes %s for a word', (_, first) => {
    const { gate } = gateOver(16);
    gate.give([first]);
    expect(gate.generated).toBe(true);
  });

  it.each<[string, Chunk]>([
    ['a role', role],
    ['usage', usage],
    ['an empty text', chunk({ content: '' })],
    ['nothing', chunk({ content: null })],
    ['no tool calls', chunk({ tool_calls: [] })],
  ])('does not take %s for one', (_, first) => {
    const { gate } = gateOver(16);
    gate.give([first]);
    expect(gate.generated).toBe(false);
  });

  it('keeps no more than it may', async () => {
    const { gate, feed, told } = gateOver(2);
    gate.give([role, usage]);
    expect(feed.unread).toBe(0);
    gate.give([usage]);
    expect([feed.unread, told]).toEqual([3, ['released']]);
    gate.give([usage]);
    gate.give([word]);
    expect(told).toEqual(['released', 'first word']);
    expect(await taken(feed)).toEqual([role, usage, usage, usage, word]);
  });

  it('tells who waits for its beginning of a fault before, and the reader nothing: another may fill the feed', async () => {
    const { gate, feed } = gateOver(16);
    const fault = refusal('provider_error');
    gate.give([role]);
    expect(gate.fail(fault)).toBe(false);
    await expect(gate.begun).rejects.toBe(fault);
    const { gate: next } = gateOver(16, feed);
    next.give([role, word]);
    next.end();
    const chunks: Chunk[] = [];
    for await (const each of feed) chunks.push(each);
    expect(chunks).toEqual([role, word]);
  });

  it('tells the reader of a fault after it', async () => {
    const { gate, feed } = gateOver(16);
    gate.give([word]);
    const fault = refusal('provider_broke_off');
    expect(gate.fail(fault)).toBe(true);
    expect(await taken(feed)).toEqual([word]);
    await expect(feed.next()).rejects.toBe(fault);
  });

  it('gives what it holds at the end', async () => {
    const { gate, feed } = gateOver(16);
    gate.give([role]);
    gate.end();
    await gate.begun;
    expect(await taken(feed)).toEqual([role]);
  });
});

it('a gate that holds nothing back is open from the first chunk on', async () => {
  const { gate, feed, told } = gateOver(0);
  gate.give([]);
  expect(told).toEqual([]);
  gate.give([role]);
  expect([feed.unread, told]).toEqual([1, ['released']]);
  await gate.begun;
});
