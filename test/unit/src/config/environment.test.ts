import { describe, expect, it } from '@jest/globals';
import { expandVariables } from '../../../../src/config/environment.ts';
import type { ConfigIssue } from '../../../../src/diagnostics/config-error.ts';

function expanded(value: unknown, environment: Record<string, string> = {}) {
  const issues: ConfigIssue[] = [];
  return { value: expandVariables(value, environment, issues), issues };
}

describe('the expansion of variables', () => {
  it.each([
    ['${A}', 'x'],
    ['a${A}b${_B1}c', 'axbyc'],
    ['${A}${A}', 'xx'],
    ['$A', '$A'],
    ['${EMPTY}', ''],
    ['${A:-other}', 'x'],
    ['${NONE:-other}', 'other'],
    ['${EMPTY:-other}', 'other'],
    ['${NONE:-}', ''],
    ['${NONE:-a:-b $A -$}', 'a:-b $A -$'],
    ['${NONE:-http://h:1/v1}/x', 'http://h:1/v1/x'],
    ['$${A}', '${A}'],
    ['$$${A}', '$${A}'],
    ['$${A:-x} ${A}', '${A:-x} x'],
    ['$${', '${'],
    ['{A} $ {A} }', '{A} $ {A} }'],
    ['${REPLACING}', '$& $1'],
  ])('expands %s to %j', (text, value) => {
    const environment = { A: 'x', _B1: 'y', EMPTY: '', REPLACING: '$& $1' };
    expect(expanded(text, environment)).toEqual({ value, issues: [] });
  });

  it.each([
    '${}',
    '${1}',
    '${A',
    '${a-b}',
    '${A-x}',
    '${A:=x}',
    '${A:?x}',
    '${A:}',
    '${ A }',
    '${A:-${B}}',
    '${A:-{}}',
    'a ${A} ${',
  ])('rejects %s, which only looks like an expansion', text => {
    expect(expanded({ a: [text] }, { A: 'x', B: 'y' }).issues).toEqual([
      {
        path: ['a', 0],
        message:
          'has a ${ that expands to nothing; accepted are: ${NAME}, ${NAME:-default} with no braces in the default, and $${ for a literal ${',
      },
    ]);
  });

  it('reaches into lists and objects, and changes nothing else', () => {
    const given = { a: ['${A}', 1, null, { b: '${A}' }], $A: true };
    expect(expanded(given, { A: 'x' }).value).toEqual({ a: ['x', 1, null, { b: 'x' }], $A: true });
    expect(given.a[0]).toBe('${A}');
  });

  it.each(['${A}', 'x-${A:-b}', '$${A}'])('rejects a name such as %s', name => {
    expect(expanded({ a: { [name]: 1 } }, { A: 'x' }).issues).toEqual([
      { path: ['a', name], message: 'variables are expanded in values, never in names' },
    ]);
  });

  it('reports each missing variable with its path', () => {
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
