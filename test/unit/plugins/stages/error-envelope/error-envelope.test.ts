import { describe, expect, it } from '@jest/globals';
import { errorEnvelope } from '../../../../../plugins/stages/error-envelope/index.ts';
import { openAiError, openAiErrorBody } from '../../../../../src/gateway/dialects/openai-error.ts';
import { GatewayError, refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

/** What the stage shows a client of `error`. */
function shown(error: GatewayError, options = {}): GatewayError {
  return errorEnvelope(options).plan.create(sampleSetup()).onError!(sampleExchange(), error);
}

describe('the error envelope', () => {
  const error = refusal('invalid_request', {
    message: 'n: no.',
    param: 'n',
    cause: new Error('inner words'),
  });

  it('stays unchanged by default', () => {
    expect(shown(error)).toBe(error);
    expect(openAiErrorBody(shown(error))).not.toContain('inner');
  });

  it('gains them for the errors of plugins too', () => {
    const own = new GatewayError('teapot_error', 418, 'I am one.');
    expect(openAiError(shown(own, { openai_fields: true }))).toEqual({
      error: { message: 'I am one.', type: 'teapot_error', param: null, code: null },
    });
  });
});
