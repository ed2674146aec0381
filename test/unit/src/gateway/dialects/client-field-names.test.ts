import { describe, expect, it } from '@jest/globals';
import { withClientFieldName } from '../../../../../src/gateway/dialects/client-field-names.ts';
import { invalidField, refusal } from '../../../../../src/gateway/exchange/errors.ts';
import { sampleRequest } from '../../../sample-exchange.ts';

const names = { max_tokens: 'max_output_tokens', messages: 'input', reasoning_effort: 'reasoning.effort' };
const request = sampleRequest({ client: { field_names: names }, unknown: { max_tokens: 7 } });
const asked = sampleRequest({ client: { field_names: names } });

describe('an error about a field', () => {
  it.each([
    ['max_tokens', 'max_output_tokens'],
    ['messages', 'input'],
    ['messages[2].content', 'input'],
    ['messages.length', 'input.length'],
    ['reasoning_effort', 'reasoning.effort'],
    ['metadata.max_tokens', 'metadata.max_tokens'],
    ['temperature', 'temperature'],
    ['toString', 'toString'],
    ['', ''],
  ])('about the canonical %s names %s to the client', (param, told) => {
    const cause = new Error('inner');
    const given = refusal('invalid_request', { message: `${param}: No.`, param, cause, headers: { a: 'b' } });
    const error = withClientFieldName(given, asked);
    expect([error.message, error.param]).toEqual([`${told}: No.`, told]);
    const { type, status, code, headers } = given;
    expect(error).toMatchObject({ type, status, code, headers, cause });
  });

  it('has no position where the dialect names the field, though by the same name', () => {
    const own = sampleRequest({ client: { field_names: { messages: 'messages' } } });
    const error = withClientFieldName(invalidField('messages[2].content', 'No.'), own);
    expect([error.message, error.param]).toEqual(['messages: No.', 'messages']);
  });

  it('keeps its message where that does not start with the field', () => {
    const given = refusal('invalid_request', { message: 'Too long.', param: 'max_tokens' });
    expect(withClientFieldName(given, asked)).toMatchObject({
      message: 'Too long.',
      param: 'max_output_tokens',
    });
  });

  it('stays the same object where no name differs', () => {
    for (const error of [invalidField('max_tokens', 'No.'), refusal('server_error')])
      expect(withClientFieldName(error, sampleRequest())).toBe(error);
    expect(withClientFieldName(refusal('provider_error'), asked).param).toBeUndefined();
  });

  it('keeps the name that the client sent where the dialect does not know the field', () => {
    const error = invalidField('max_tokens', 'unknown parameter.');
    expect(withClientFieldName(error, request)).toBe(error);
  });
});
