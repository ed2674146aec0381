import { describe, expect, it } from '@jest/globals';
import {
  errorInBody,
  messageOfErrorBody,
} from '../../../../../../src/gateway/upstream/http/upstream-error.ts';
import { errorBodies } from '../../../../../fixtures/error-bodies.ts';

describe('the message of an error body', () => {
  it.each(errorBodies)('is found in $from', ({ body, message }) => {
    expect(messageOfErrorBody(body)).toBe(message);
  });
});

describe('the error of a body with status 200', () => {
  it.each([
    { choices: [], error: null },
    { choices: [], detail: 'of the reply' },
    { object: 'chat.completion', choices: [] },
    { type: 'message' },
    'error',
    null,
  ])('is absent in %j', body => {
    expect(errorInBody(body)).toBeUndefined();
  });
});
