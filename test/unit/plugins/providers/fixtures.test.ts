import { describe, expect, it } from '@jest/globals';
import { failureOf } from '../../../../src/upstream/attempt/attempt-failure.ts';
import {
  adapterOf,
  assembledReply,
  fixturesOf,
  type ProviderName,
  providerNames,
  streamOf,
} from '../../../support/provider-fixtures.ts';
import { type ReadStream, readStream } from '../../read-stream.ts';

/** What a stream in these parts is to its reader. */
function read(provider: ProviderName, parts: readonly Buffer[]): ReadStream {
  return readStream(adapterOf(provider).openStream(), parts);
}

const all = providerNames.flatMap(provider =>
  fixturesOf(provider).map(fixture => ({ provider, name: fixture.name, fixture })),
);

describe.each(all)(
  'the fixture $name of $provider',
  ({ provider, fixture: { choices, usage, running, stream, reply } }) => {
    const bytes = Buffer.from(stream);
    const whole = read(provider, [bytes]);

    it('decodes as a stream into the expected reply', () => {
      expect(whole.fault).toBeUndefined();
      expect(assembledReply(whole.chunks)).toEqual({ choices, usage });
    });

    it('decodes as a whole reply into the same, if the server sends one', () => {
      if (reply) expect(adapterOf(provider).decodeReply(reply)).toEqual({ choices, usage });
    });

    it('reports running usage that never decreases', () => {
      const told = whole.chunks.flatMap(chunk => chunk.usage?.completion_tokens ?? []);
      if (running) expect(told).toEqual(running);
      expect(told).toEqual(told.toSorted((a, b) => a - b));
    });

    it('decodes the same when cut at any byte, and byte by byte', () => {
      const expected = JSON.stringify(whole);
      const wrong: number[] = [];
      for (let at = 1; at < bytes.length; at++) {
        if (JSON.stringify(read(provider, [bytes.subarray(0, at), bytes.subarray(at)])) !== expected)
          wrong.push(at);
      }
      expect(wrong).toEqual([]);
      expect(
        read(
          provider,
          [...bytes].map(byte => Buffer.from([byte])),
        ),
      ).toEqual(whole);
    });

    it('is an error when truncated before every choice has ended, and adds nothing to the text', () => {
      const ended = Buffer.byteLength(stream.slice(0, endOf(stream)));
      const { content, reasoning } = choices[0]!.message;
      const wrong: number[] = [];
      for (let length = 0; length < bytes.length; length += 7) {
        const { chunks, fault } = read(provider, [bytes.subarray(0, length)]);
        const said = assembledReply(chunks).choices[0]?.message;
        const isPart =
          (content ?? '').includes(said?.content ?? '') && (reasoning ?? '').includes(said?.reasoning ?? '');
        if (!isPart || (length < ended && fault === undefined)) wrong.push(length);
      }
      expect(wrong).toEqual([]);
    });
  },
);

/** Offset of the last finish reason. */
const endOf = (stream: string): number =>
  Math.max(...['"finish_reason":"', '"stop_reason":"'].map(key => stream.lastIndexOf(key)));

describe.each(providerNames)('a broken stream of %s', provider => {
  it('yields the content before the error, then the error', () => {
    const { chunks, fault } = read(provider, [Buffer.from(streamOf(provider, 'broken'))]);
    expect(assembledReply(chunks).choices[0]?.message.content).toBe('Water');
    expect(failureOf(fault, true).error).toMatchObject({ status: 502, type: 'provider_error' });
    expect(failureOf(fault, true).kind).toBe('status');
  });

  it.each([
    ['nothing', ''],
    ['a comment', ': hello\n\n'],
    ['no JSON', 'data: {"choices\n\n'],
    ['no object', 'data: 7\n\n'],
  ])('is an error when it holds %s', (_, text) => {
    expect(failureOf(read(provider, [Buffer.from(text)]).fault, true).error).toMatchObject({ status: 502 });
  });
});

describe.each(providerNames)('a whole reply of %s', provider => {
  it.each([
    [null],
    ['text'],
    [[]],
    [{}],
    [{ choices: [] }],
    [{ content: 'text' }],
    [{ type: 'message', content: null }],
  ])('is rejected as invalid when it is %j', body => {
    expect(() => adapterOf(provider).decodeReply(body)).toThrow(
      expect.objectContaining({ code: 'provider_invalid' }),
    );
  });

  it.each([
    [{ error: { message: 'Overloaded' } }],
    [{ type: 'error', error: { type: 'overloaded_error' } }],
    [{ error: 'x' }],
  ])('is reported as an upstream error when it is %j', body => {
    expect(() => adapterOf(provider).decodeReply(body)).toThrow(
      expect.objectContaining({ name: 'UpstreamError' }),
    );
  });
});
