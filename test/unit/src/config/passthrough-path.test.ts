import { describe, expect, it } from '@jest/globals';
import { isPlainPath, pathTest, queryOf } from '../../../../src/config/passthrough-path.ts';

describe('a path that means the same to every server', () => {
  it.each(['/v1/files', '/v1/files/a.b', '/v1/a:b@c,d', '/a%20b', '/%E4%BD%A0', '/...', '/.well-known'])(
    'may be %j',
    path => {
      expect(isPlainPath(path)).toBe(true);
    },
  );

  it.each(
    (
      'v1|/|/v1/|/v1//files|/v1/./files|/v1/../files|/v1/..;/files|/v1/%2e%2e/files|' +
      '/v1/%2ffiles|/v1/%00|/v1/%25|/v1/a b|/v1/a?b|/v1/a#b|/%C0%AE|/%EF%BC%8E|' +
      '/%E2%80%A4%E2%80%A4|/%E2%80%8B|/.%E2%80%8B.|/..%E2%80%8B|/%20|/.%20|/..%20|/%E2%88%95|' +
      '/%C2%85'
    ).split('|'),
  )('cannot be %j', path => {
    expect(isPlainPath(path)).toBe(false);
  });
});

describe('a path of the configuration', () => {
  it('matches that path alone, or all below it', () => {
    expect(['/v1/a', '/v1/a/', '/v1/a/b', '/v1/ab'].map(pathTest('/v1/a'))).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(['/v1/a', '/v1/a/', '/v1/a/b', '/v1/ab'].map(pathTest('/v1/a/*'))).toEqual([
      false,
      false,
      true,
      false,
    ]);
  });
});

describe('the query of a target', () => {
  it.each([
    ['/v1/a', ''],
    ['/v1/a?', '?'],
    ['/v1/a?b=c?d', '?b=c?d'],
    ['/v1/a#b', undefined],
  ])('of %j is %j', (url, expected) => {
    expect(queryOf(url)).toBe(expected);
  });
});
