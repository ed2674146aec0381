import { describe, expect, it } from '@jest/globals';
import { RequestMeter } from '../../../../../src/mount/passthrough/request-meter.ts';

const read = (headers: Record<string, string>, body: string): RequestMeter => {
  const meter = new RequestMeter(headers);
  for (const part of ['', body.slice(0, 9), body.slice(9)]) meter.write(Buffer.from(part));
  return meter;
};
const json = { 'content-type': 'application/json' };
const form = '--b\r\nContent-Disposition: form-data; name="model"\r\n\r\nwhisper\r\n--b--';

describe('the meter of a request that is passed on', () => {
  it.each<[string, Record<string, string>, string, object]>([
    ['JSON', json, '{"model":"m"}', { model: 'm', tokens: 4, most_tokens: 13 }],
    ['JSON of any type', { 'content-type': 'x/y' }, ' {"model":"m"}', { model: 'm', tokens: 4 }],
    ['a text without a type', {}, 'words and more', { model: undefined, tokens: 4 }],
    ['a form of a page', { 'content-type': 'application/x-www-form-urlencoded' }, 'a=b&c', { tokens: 2 }],
    [
      'a form with a file',
      { 'content-type': 'multipart/form-data; boundary=b' },
      form,
      { model: 'whisper', tokens: 1 },
    ],
    [
      'JSON that is called a form',
      { 'content-type': 'multipart/form-data; boundary=b' },
      '{"model":"m"}',
      { model: 'm' },
    ],
    ['a file', { 'content-type': 'audio/wav' }, 'x'.repeat(2001), { tokens: 3, most_tokens: 2001 }],
    [
      'a compressed body',
      { ...json, 'content-encoding': 'gzip' },
      '{"model":"m"}',
      { model: undefined, tokens: 7, most_tokens: 13 * 1032 },
    ],
    [
      'a body that is said to be plain',
      { ...json, 'content-encoding': 'Identity' },
      '{"model":"m"}',
      { model: 'm', tokens: 4 },
    ],
    ['a model that is no name', json, '{"model":7}', { model: undefined }],
    ['nothing', json, '', { model: undefined, tokens: 0, hasBegun: false }],
  ])('estimates the tokens of %s, and finds its model', (_, headers, body, expected) => {
    const { model, tokens, most_tokens, hasBegun } = read(headers, body);
    expect({ model, tokens, most_tokens, hasBegun }).toMatchObject({ hasBegun: true, ...expected });
  });

  it.each([
    ['{}', 1, Infinity],
    ['{"n":3,"best_of":5}', 5, Infinity],
    ['{"n":3,"max_tokens":7}', 3, 7],
    ['{"n":0,"max_tokens":0,"max_completion_tokens":8,"max_output_tokens":9}', 1, 8],
    ['{"n":"x","max_output_tokens":9}', 1, 9],
  ])('reads of %s how much may be generated', (body, choices, max_completion) => {
    const meter = read(json, body);
    expect([meter.choices, meter.max_completion]).toEqual([choices, max_completion]);
  });
});
