import { describe, expect, it } from '@jest/globals';
import { inClientWords } from '../../../../src/chain/client-field-names.ts';
import { invalidField, refusal } from '../../../../src/errors.ts';
import { sampleRequest } from '../../sample-exchange.ts';

const names = { max_tokens: 'max_output_tokens', messages: 'input', reasoning_effort: 'reasoning.effort' };
const request = sampleRequest({ wording: { names }, unknown: { max_tokens: 7 } });
const asked = sampleRequest({ wording: { names } });

describe('an error of a stage', () => {
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
  ])('about %s is told as about %s', (param, told) => {
    const cause = new Error('inner');
    const given = refusal('invalid_request', { message: `${param}: No.`, param, cause, headers: { a: 'b' } });
    const error = inClientWords(given, asked);
    expect([error.message, error.param]).toEqual([`${told}: No.`, told]);
    const { type, status, code, headers } = given;
    expect(error).toMatchObject({ type, status, code, headers, cause });
  });

  it('keeps its words where they do not begin with the field', () => {
    const given = refusal('invalid_request', { message: 'Too long.', param: 'max_tokens' });
    expect(inClientWords(given, asked)).toMatchObject({ message: 'Too long.', param: 'max_output_tokens' });
  });

  it('is the same error where nothing has another name', () => {
    for (const error of [invalidField('max_tokens', 'No.'), refusal('server_error')])
      expect(inClientWords(error, sampleRequest())).toBe(error);
    expect(inClientWords(refusal('provider_error'), asked).param).toBeUndefined();
  });

  it('about a field that the interface does not know keeps the name that the client has given it', () => {
    const error = invalidField('max_tokens', 'unknown parameter.');
    expect(inClientWords(error, request)).toBe(error);
  });
});
