import { describe, expect, it } from '@jest/globals';
import { builtInProviders } from '../../plugins/providers.ts';
import { type AdapterContract, checkAdapter } from '../../src/testing/index.ts';
import { errorsOf, fixturesOf, providerNames, streamOf } from '../support/provider-fixtures.ts';

/** Those that read the format of OpenAI with its decoder: what `length` shows of it is shown once. */
const shared: ReadonlySet<string> = new Set(['vllm', 'sglang', 'llama-cpp']);

describe.each(providerNames)('the adapter %s', name => {
  const definition = builtInProviders.find(adapter => adapter.name === name)!;
  const errors = errorsOf(name).map(({ what, shown: [status, type, message], retry_after: _, ...error }) => ({
    ...error,
    name: what,
    shown: { status, type, ...(message !== undefined && { message }) },
  }));
  const broken = {
    name: 'an error in the stream',
    stream: streamOf(name, 'broken'),
    shown: { status: 502, type: 'provider_error' },
  };
  const fixtures = fixturesOf(name).flatMap(({ name, choices, usage, stream, reply }) =>
    shared.has(definition.name) && name === 'length' ? [] : { name, choices, usage, stream, reply },
  );
  const contract: AdapterContract = { fixtures, errors: [...errors, broken] };

  it('keeps the contract', async () => {
    await expect(checkAdapter(definition, contract)).resolves.toBeUndefined();
  });
});
