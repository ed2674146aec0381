import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { mayBeSecret } from '../../../../plugins/dashboard/secret-shape.ts';

describe('a text', () => {
  it.each([
    'sk-short',
    'Bearer sk-ant-api03-x',
    'postgres://user:pass@host/db',
    'OPENAI_KEY="sk-proj-abc"',
    'AKIAIOSFODNN7EXAMPLE',
    'ghp_16C7e42F292c6912E7710c838347Ae178B4a',
    '-----BEGIN PRIVATE KEY-----',
    'a text that goes on and on '.repeat(20),
  ])('may be a secret: %s', text => {
    expect(mayBeSecret(text)).toBe(true);
  });

  it.each([
    '',
    'acme',
    'a name with several words in it, and a comma',
    'olga.petersen@some-longer-company.example.com',
    'anthropic/claude-3-5-sonnet-20241022',
    'meta-llama/llama-3.3-70b-instruct',
    'key_01m7wd7tg044f93g3v',
    '0192f0a4-7d5e-7c3a-9b1e-2f6a8c4d0e11',
    '2026-11-20T12:00:00Z',
    'rate_limit_exceeded',
  ])('is no secret: %s', text => {
    expect(mayBeSecret(text)).toBe(false);
  });

  it('may be a secret if it is random, in whatever alphabet', () => {
    // Of hexadecimal ones about one in 70,000 changes too seldom.
    const missed = Array.from({ length: 200 }, () => randomBytes(32))
      .flatMap(bytes => (['hex', 'base64', 'base64url'] as const).map(form => bytes.toString(form)))
      .filter(text => !mayBeSecret(text));
    expect(missed.length).toBeLessThanOrEqual(1);
  });
});
