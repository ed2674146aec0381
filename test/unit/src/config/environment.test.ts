import { describe, expect, it } from '@jest/globals';
import { expandVariables } from '../../../../src/config/environment.ts';
import type { ConfigIssue } from '../../../../src/config/issue.ts';

function expanded(value: unknown, environment: Record<string, string> = {}) {
  const issues: ConfigIssue[] = [];
  return { value: expandVariables(value, environment, issues), issues };
}

describe('variables', () => {
  it.each([
    ['${A}', 'x'],
    ['a${A}b${_B1}c', 'axbyc'],
    ['${A}${A}', 'xx'],
    ['$A', '$A'],
    ['${}', '${}'],
    ['${1}', '${1}'],
    ['${A', '${A'],
    ['${a-b}', '${a-b}'],
    ['${EMPTY}', ''],
    ['${REPLACING}', '$& $1'],
  ])('%s is %j', (text, value) => {
    const environment = { A: 'x', _B1: 'y', EMPTY: '', REPLACING: '$& $1' };
    expect(expanded(text, environment)).toEqual({ value, issues: [] });
  });

  it('are found in lists and objects, and nothing else is touched', () => {
    const given = { a: ['${A}', 1, null, { b: '${A}' }], '${A}': true };
    expect(expanded(given, { A: 'x' }).value).toEqual({ a: ['x', 1, null, { b: 'x' }], '${A}': true });
    expect(given.a[0]).toBe('${A}');
  });

  it('that are missing are told with their place', () => {
    expect(expanded({ a: [{ b: '${NONE} ${NOR}' }] }).issues).toEqual([
      { path: ['a', 0, 'b'], message: 'the environment variable NONE is not set' },
      { path: ['a', 0, 'b'], message: 'the environment variable NOR is not set' },
    ]);
  });

  it('cannot set a prototype', () => {
    const { value } = expanded(JSON.parse('{"__proto__":{"x":1}}'));
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
  });
});
