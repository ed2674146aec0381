import { describe, expect, it } from '@jest/globals';
import { GatewayError } from '../../../../src/errors.ts';
import { UpstreamError } from '../../../../src/upstream/http/upstream-error.ts';
import { adapterOf, fixturesOf, providerNames } from '../../../support/provider-fixtures.ts';
import { readStream } from '../../read-stream.ts';

const nonsense = [null, -1, 'x', true, [null], {}];

/** `value` with each of its parts, at any depth, replaced by nonsense or left out. */
function* spoiled(value: unknown): Generator<unknown> {
  yield* nonsense;
  if (Array.isArray(value)) {
    for (const [at, part] of value.entries()) for (const bad of spoiled(part)) yield value.with(at, bad);
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, part] of Object.entries(value)) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      yield rest;
      for (const bad of spoiled(part)) yield { ...rest, [key]: bad };
    }
  }
}

const isTold = (thrown: unknown) => GatewayError.is(thrown) || UpstreamError.is(thrown);

describe.each(providerNames)('malformed values from %s', provider => {
  it.each(fixturesOf(provider).map(({ name, reply }) => ({ name, reply })))(
    'in the reply $name decode or fail with a known error',
    ({ reply }) => {
      const adapter = adapterOf(provider);
      for (const bad of reply ? spoiled(reply) : []) {
        try {
          const { choices } = adapter.decodeReply(bad);
          expect(choices.length).toBeGreaterThan(0);
        } catch (thrown) {
          if (!isTold(thrown)) throw new Error(`for ${JSON.stringify(bad)}`, { cause: thrown });
        }
      }
    },
  );

  it.each(fixturesOf(provider).map(({ name, stream }) => ({ name, stream })))(
    'in the stream $name decode or fail with a known error',
    ({ stream }) => {
      const adapter = adapterOf(provider);
      const blocks = stream.split('\n\n').filter(block => block.includes('data: {'));
      for (const [at, block] of blocks.entries()) {
        const data = block.slice(block.indexOf('data: ') + 6);
        for (const bad of spoiled(JSON.parse(data))) {
          const wire = blocks
            .with(
              at,
              block.replace(data, () => JSON.stringify(bad)),
            )
            .join('\n\n');
          const { chunks, fault } = readStream(adapter.openStream(), [Buffer.from(wire)]);
          expect(chunks.every(({ choices }) => Array.isArray(choices))).toBe(true);
          if (fault !== undefined && !isTold(fault))
            throw new Error(`for ${JSON.stringify(bad)}`, { cause: fault });
        }
      }
    },
  );
});
