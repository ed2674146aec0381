import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { fillIn } from '../../../../../plugins/stages/validation/defaults.ts';
import { validation } from '../../../../../plugins/stages/validation/index.ts';
import { sampleExchange, sampleRequest } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

const defaults = {
  temperature: 0.7,
  max_tokens: 100,
  stop: ['END'],
  reasoning_effort: 'high',
  top_p: 0.9,
  seed: 7,
};

describe('the defaults of a model', () => {
  it('are filled in where the client has left something out, and nowhere else', () => {
    const fields = fc.record(
      {
        temperature: fc.constantFrom(0, 1),
        max_tokens: fc.constantFrom(1, 9),
        stop: fc.constant<string[]>(['x']),
      },
      { requiredKeys: [] },
    );
    const parameters = fc.record(
      { top_p: fc.constantFrom(0, 1), seed: fc.constant(0) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(fields, parameters, (given, asked) => {
        const request = sampleRequest({ ...given, parameters: { ...asked } });
        fillIn(request, defaults);
        const { top_p, seed, ...own } = defaults;
        expect(request).toMatchObject({ ...own, ...given });
        expect(request.parameters).toEqual({ top_p, seed, ...asked });
      }),
    );
  });

  it('are no matter of requests without a completion', () => {
    const embeddings = sampleRequest({ operation: { name: 'embeddings' } as never });
    fillIn(embeddings, defaults);
    expect(embeddings).not.toHaveProperty('temperature');
    const completions = sampleRequest({ operation: { name: 'text_completion' } as never, max_tokens: 16 });
    fillIn(completions, defaults);
    expect(completions).toMatchObject({ temperature: 0.7, max_tokens: 16 });
  });

  it('are there for the checks that follow', async () => {
    const exchange = sampleExchange({ request: {}, model: { defaults, max_completion_tokens: 50 } });
    const stage = validation({ max_tokens_above_cap: 'clamp' }).plan.create(sampleSetup());
    await stage.onRequest!(exchange);
    expect(exchange.request).toMatchObject({ temperature: 0.7, max_tokens: 50 });
  });
});
