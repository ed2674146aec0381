import { describe, expect, it } from '@jest/globals';
import { failureOf } from '../../../../src/gateway/upstream/attempt/attempt-failure.ts';
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

describe.each(['vllm', 'sglang', 'llama-cpp'] as const)('a stream of %s', provider => {
  it('has the running usage that the server reports', () => {
    const reporting = fixturesOf(provider).filter(({ running }) => running);
    expect(reporting).not.toEqual([]);
    for (const { stream, running } of reporting) {
      const { chunks } = read(provider, [Buffer.from(stream)]);
      expect(chunks.flatMap(chunk => chunk.usage?.completion_tokens ?? [])).toEqual(running);
    }
  });
});

describe.each(providerNames)('a broken stream of %s', provider => {
  it('yields the content before the error, then the error', () => {
    const { chunks, fault } = read(provider, [Buffer.from(streamOf(provider, 'broken'))]);
    expect(assembledReply(chunks).choices[0]?.message.content).toBe('Water');
    expect(failureOf(fault, true).error).toMatchObject({ status: 502, type: 'provider_error' });
    expect(failureOf(fault, true).kind).toBe('status');
  });
});

describe.each(providerNames)('a whole reply of %s', provider => {
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
