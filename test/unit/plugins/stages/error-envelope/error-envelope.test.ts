import { describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { errorEnvelope } from '../../../../../plugins/stages/error-envelope/index.ts';
import { openAiError, openAiErrorBody } from '../../../../../src/dialects/openai-error.ts';
import { type ErrorCode, GatewayError, refusal } from '../../../../../src/errors.ts';
import { sampleExchange } from '../../../sample-exchange.ts';
import { sampleSetup } from '../../../sample-setup.ts';

interface Line {
  readonly level: number;
  readonly msg: string;
  readonly request_id: string;
  readonly err?: { readonly message: string };
}

/** What the stage shows a client of `error`, and what it logs. */
function shown(error: GatewayError, options = {}): { shown: GatewayError; lines: Line[] } {
  const lines: Line[] = [];
  const log = pino({ level: 'debug' }, { write: text => lines.push(JSON.parse(text) as Line) });
  const stage = errorEnvelope(options).plan.create(sampleSetup());
  return { shown: stage.onError!(sampleExchange({ start: { log, id: 'req_7' } }), error), lines };
}

describe('the log of errors', () => {
  it.each<[ErrorCode, number]>([
    ['server_error', 50],
    ['provider_misconfigured', 50],
    ['provider_error', 40],
    ['provider_unreachable', 40],
    ['time_limit', 40],
    ['invalid_request', 20],
    ['invalid_api_key', 20],
    ['rate_limited', 20],
  ])('records %s at level %d with its cause and the request id', (code, level) => {
    const { lines } = shown(refusal(code, { cause: new Error('inner words') }));
    expect(lines).toEqual([
      expect.objectContaining({
        level,
        code,
        request_id: 'req_7',
        err: expect.objectContaining({ message: 'inner words' }),
      }),
    ]);
  });
});

describe('the error envelope', () => {
  const error = refusal('invalid_request', {
    message: 'n: no.',
    param: 'n',
    cause: new Error('inner words'),
  });

  it('stays unchanged by default', () => {
    expect(shown(error).shown).toBe(error);
    expect(openAiErrorBody(shown(error).shown)).not.toContain('inner');
  });

  it('gains two fields when configured, without changing the error itself', () => {
    expect(openAiError(shown(error, { openai_fields: true }).shown)).toEqual({
      error: { message: 'n: no.', type: 'invalid_request_error', param: 'n', code: 'invalid_request' },
    });
    expect(openAiError(error)).toEqual({ error: { message: 'n: no.', type: 'invalid_request_error' } });
  });

  it('gains them for the errors of plugins too', () => {
    const own = new GatewayError('teapot_error', 418, 'I am one.');
    expect(openAiError(shown(own, { openai_fields: true }).shown)).toEqual({
      error: { message: 'I am one.', type: 'teapot_error', param: null, code: null },
    });
  });
});
