import { describe, expect, it } from '@jest/globals';
import { OpenAiStreamDecoder } from '../../../../../src/gateway/upstream/openai/openai-stream-decoder.ts';
import { decoded, event, wire } from './openai-events.ts';

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
    const decoder = new OpenAiStreamDecoder();
    let thrown: unknown;
    try {
      decoder.decode(one);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ name: 'UpstreamError', message: 'Overloaded', status: undefined });
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
