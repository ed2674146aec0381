import { describe, expect, it } from '@jest/globals';
import { OpenAiStreamDecoder } from '../../../../src/upstream/openai-stream.ts';
import { decoded, event, wire } from './openai-events.ts';

describe('errors in a stream (c3, c4)', () => {
  it.each([
    event({ error: { message: 'Overloaded' } }),
    event({ error: 'Overloaded' }),
    { event: 'error', data: '{"message":"Overloaded"}' },
    { event: 'error', data: 'Overloaded' },
    event({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }),
    event({ object: 'error', message: 'Overloaded', code: 500 }),
    wire({ content: '' }, 'error', { error: { code: 502, message: 'Overloaded' } }),
  ])('%j', one => {
    const decoder = new OpenAiStreamDecoder();
    let thrown: unknown;
    try {
      decoder.decode(one);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ status: 502, type: 'provider_error' });
    expect((thrown as Error).message).not.toContain('Overloaded');
    expect(((thrown as Error).cause as Error).message).toContain('Overloaded');
  });

  it.each([
    wire({}, 'abort'),
    wire({}, 'error'),
    { data: '{"choices":[' },
    { data: 'null' },
    { data: '[]' },
    { data: 'Hi' },
  ])('%j is one too', one => {
    expect(() => decoded([one])).toThrow(expect.objectContaining({ status: 502, type: 'provider_error' }));
  });
});

describe('complete', () => {
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
  ])('%s: %#', (_, events, expected) => {
    const decoder = new OpenAiStreamDecoder();
    decoded(events, decoder);
    expect(decoder.complete).toBe(expected);
  });
});
