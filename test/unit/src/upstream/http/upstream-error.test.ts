import { describe, expect, it } from '@jest/globals';
import {
  errorInBody,
  messageOfErrorBody,
  scrubbed,
} from '../../../../../src/upstream/http/upstream-error.ts';
import { errorBodies } from '../../../../fixtures/error-bodies.ts';

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

describe('the scrubber of upstream messages', () => {
  it.each([
    ['Cannot reach http://10.0.0.7:8000/v1/chat?key=a, retrying.', 'Cannot reach [address] retrying.'],
    ['see https://internal.example/help for more', 'see [address] for more'],
    ['redis://:pass@cache:6379/0 is down', '[address] is down'],
    ['postgresql://u:p@db/x is down', '[address] is down'],
    ['10.0.0.7:8000 refused', '[address] refused'],
    ['10.0.0.7 refused', '[address] refused'],
    ['[fd00::7]:8000 refused', '[address] refused'],
    ['worker-3.cluster.local:8000 refused', '[address] refused'],
    ['vllm.models.svc refused', '[address] refused'],
    ['localhost:8000 refused', '[address] refused'],
    ['Incorrect key sk-proj-abcdefgh1234 given', 'Incorrect key [secret] given'],
    ['token hf_abcdefghijkl is wrong', 'token [secret] is wrong'],
    [`key: AIza${'aB3-_'.repeat(7)}.`, 'key: [secret].'],
    ['gsk_abcdefghijkl, xai-abcdefghijkl', '[secret], [secret]'],
    [`ghp_${'a1'.repeat(18)} and AKIA${'A1'.repeat(8)}`, '[secret] and [secret]'],
    ['ya29.a0AfB_byC-12345 eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln', '[secret] [secret]'],
    ['sent Authorization: Bearer abc.def-ghi, sorry', 'sent Authorization: [secret], sorry'],
    ['in /usr/lib/python3/vllm/engine.py line 7', 'in [file] line 7'],
  ])('scrubs %s', (given, expected) => {
    expect(scrubbed(given)).toBe(expected);
  });

  it.each([
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages).",
    'max_tokens: 0 is not accepted; use 1 or more. Version 1.2.3, ratio 3:10, at 12:30, e.g. and/or.',
    'asia-northeast1, key points, an AIzaz and github.',
    'messages[0].content: Input should be a valid string, got type=int',
  ])('leaves unchanged: %s', words => {
    expect(scrubbed(words)).toBe(words);
  });

  it('drops a traceback', () => {
    expect(scrubbed('Failed.\nTraceback (most recent call last):\n  File "x.py"\nKeyError: 1')).toBe(
      'Failed.',
    );
  });

  it('cuts at 2,000 characters, however much was replaced', () => {
    const long = 'too long '.repeat(1000);
    expect(scrubbed(long)).toHaveLength(2000);
    expect(scrubbed(long)).toMatch(/…$/);
    expect(scrubbed('x'.repeat(2000))).toBe('x'.repeat(2000));
  });

  it('takes little time for adversarial text', () => {
    const start_ms = performance.now();
    for (const piece of ['a.', 'a-', '1.1.1.1', 'sk-', '/a', 'bearer ', 'http://', '@a.', 'a:'])
      scrubbed(piece.repeat(60_000));
    expect(performance.now() - start_ms).toBeLessThan(5000);
  });
});
