import { describe, expect, it } from '@jest/globals';
import type { Chunk, Delta, FinishReason } from '../../../../../../src/gateway/exchange/canonical.ts';
import { usageOf } from '../../../../../../src/gateway/exchange/canonical.ts';
import { refusal } from '../../../../../../src/gateway/exchange/errors.ts';
import { AttemptStream } from '../../../../../../src/gateway/upstream/attempt/attempt-stream.ts';

const chunk = (delta: Delta, finish_reason: FinishReason | null = null): Chunk => ({
  choices: [{ index: 0, delta, finish_reason }],
});
const role = chunk({ role: 'assistant', content: '' });
const usage: Chunk = { choices: [], usage: usageOf(7, 0) };
const word = chunk({ content: 'Hello' });

/** A stream that has begun, with its first attempt; `taken` is what came through. */
function streamOver(max_held: number) {
  const told: string[] = [];
  const tell = (what: string) => () => void told.push(what);
  const taken: Chunk[] = [];
  const ends: unknown[] = [];
  const client = { keepsUp: true };
  const stream = new AttemptStream(
    {
      chunk: chunk => taken.push(chunk) > 0,
      flush: () => client.keepsUp,
      end: () => void ends.push('end'),
      fail: fault => void ends.push(fault),
    },
    { begin: tell('begin'), drained: tell('drained'), cancel: tell('cancelled') },
    max_held,
  );
  stream.resume();
  const progress = () => ({ firstWord: tell('first word'), released: tell('released') });
  const attempt = progress();
  const begun = stream.attempt(attempt);
  // Some tests let it fail and do not ask.
  begun.catch(() => {});
  return { stream, attempt, begun, told, taken, ends, client, progress };
}

describe('the stream of an exchange over its attempts', () => {
  it('holds roles and usage until the first token, and then passes everything on in order', async () => {
    const { stream, begun, told, taken } = streamOver(16);
    stream.give([role]);
    stream.give([usage]);
    expect([taken.length, told, stream.generated]).toEqual([0, ['begin'], false]);
    stream.give([word, word]);
    expect(told).toEqual(['begin', 'first word', 'released']);
    await begun;
    stream.give([word]);
    expect(taken).toEqual([role, usage, word, word, word]);
  });

  it.each<[string, Chunk]>([
    ['text', word],
    ['reasoning', chunk({ reasoning: 'Hm' })],
    ['a tool call', chunk({ tool_calls: [{ index: 0 }] })],
    ['a refusal', chunk({ refusal: 'No' })],
    ['a finish reason', chunk({}, 'stop')],
  ])('counts %s as content', (_, first) => {
    const { stream } = streamOver(16);
    stream.give([first]);
    expect(stream.generated).toBe(true);
  });

  it.each<[string, Chunk]>([
    ['a role', role],
    ['usage', usage],
    ['empty text', chunk({ content: '' })],
    ['nothing', chunk({ content: null })],
    ['an empty list of tool calls', chunk({ tool_calls: [] })],
  ])('does not count %s as content', (_, first) => {
    const { stream } = streamOver(16);
    stream.give([first]);
    expect(stream.generated).toBe(false);
  });

  it('holds at most the configured number of chunks', () => {
    const { stream, told, taken } = streamOver(2);
    stream.give([role, usage]);
    expect(taken).toHaveLength(0);
    stream.give([usage]);
    expect([taken.length, told]).toEqual([3, ['begin', 'released']]);
    stream.give([usage]);
    stream.give([word]);
    expect(told).toEqual(['begin', 'released', 'first word']);
    expect(taken).toEqual([role, usage, usage, usage, word]);
  });

  it('reports an error before the first token to the attempt only, so that another may follow', async () => {
    const { stream, attempt, begun, taken, ends, progress } = streamOver(16);
    const fault = refusal('provider_error');
    stream.give([role]);
    expect(stream.fail(fault, attempt)).toBe(false);
    await expect(begun).rejects.toBe(fault);
    const next = stream.attempt(progress());
    // Late, of the attempt that has failed.
    expect(stream.fail(refusal('server_error'), attempt)).toBe(false);
    stream.give([role, word]);
    stream.end();
    await next;
    expect([taken, ends]).toEqual([[role, word], ['end']]);
  });

  it('tells an attempt the usage of what it had sent when another takes its place, or none follows', async () => {
    const { stream, attempt, progress } = streamOver(16);
    const used: unknown[] = [];
    const noted = (name: string) => ({
      ...progress(),
      unreleased: (of: unknown) => void used.push([name, of]),
    });
    stream.fail(refusal('provider_error'), attempt);
    const first = noted('first');
    stream.attempt(first).catch(() => {});
    stream.give([role, usage]);
    stream.fail(refusal('provider_error'), first);
    const second = noted('second');
    stream.attempt(second).catch(() => {});
    stream.give([role]);
    stream.fail(refusal('provider_error'), second);
    stream.attempt(noted('third')).catch(() => {});
    stream.give([usage]);
    stream.giveUp(refusal('provider_error'));
    expect(used).toEqual([
      ['first', usage.usage],
      ['third', usage.usage],
    ]);
  });

  it('reports an error after the first token to the client, once', () => {
    const { stream, attempt, taken, ends } = streamOver(16);
    stream.give([word]);
    const fault = refusal('provider_broke_off');
    expect(stream.fail(fault, attempt)).toBe(true);
    stream.fail(refusal('server_error'), attempt);
    stream.give([word]);
    expect([taken, ends]).toEqual([[word], [fault]]);
  });

  it('passes on what it holds at the end', async () => {
    const { stream, begun, taken, ends } = streamOver(16);
    stream.give([role]);
    stream.end();
    await begun;
    expect([taken, ends]).toEqual([[role], ['end']]);
  });

  it('is full while its sink takes nothing, and resumes its producer when the sink takes chunks again', () => {
    const { stream, told, client } = streamOver(0);
    client.keepsUp = false;
    stream.give([word]);
    expect([stream.isFull, told]).toEqual([true, ['begin', 'first word', 'released']]);
    client.keepsUp = true;
    stream.resume();
    expect([stream.isFull, told.at(-1)]).toEqual([false, 'drained']);
    stream.give([word]);
    expect(stream.isFull).toBe(false);
  });

  it('stops its producer when its sink stops it, and passes nothing on after that, not even an error', () => {
    const { stream, attempt, told, taken, ends } = streamOver(0);
    stream.give([word]);
    stream.stop();
    expect(told).toContain('cancelled');
    stream.give([word]);
    stream.fail(refusal('provider_broke_off'), attempt);
    expect([taken, ends]).toEqual([[word], []]);
  });
});
