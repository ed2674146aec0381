import { describe, expect, it } from '@jest/globals';
import { passParameters } from '../../../../../plugins/dialects/responses/passed-parameters.ts';
import { sampleModel, sampleRequest } from '../../../sample-exchange.ts';

function passed(extra_parameters: string[] | undefined) {
  const request = sampleRequest({ unknown: { 'text.verbosity': 'low', other: 1 } });
  request.client = { echo: { service_tier: 'flex' } };
  passParameters(request, extra_parameters && sampleModel({ extra_parameters }));
  return request.unknown;
}

describe('passParameters', () => {
  const as_it_came = { 'text.verbosity': 'low', other: 1 };

  it.each([[undefined], [[]], [['top_k']]])('leaves a request as it is for a model that takes %j', taken => {
    expect(passed(taken)).toEqual(as_it_came);
  });

  it('names what the model takes as chat does', () => {
    expect(passed(['verbosity'])).toEqual({ verbosity: 'low', other: 1 });
    expect(passed(['service_tier'])).toEqual({ ...as_it_came, service_tier: 'flex' });
  });
});
