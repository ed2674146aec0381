import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { type Expansion, expandVariables } from '../../../../src/config/environment.ts';

const directory = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
afterAll(() => rmSync(directory, { recursive: true }));

function found(value: unknown, environment: Record<string, string> = {}) {
  const expansion: Expansion = { issues: [], values: [] };
  return { value: expandVariables(value, { environment, directory }, expansion), ...expansion };
}
function expanded(value: unknown, environment: Record<string, string> = {}) {
  const { values: _, ...rest } = found(value, environment);
  return rest;
}
/** Writes a file for `${file:NAME}`. */
const secret = (name: string, content: string | Buffer) => writeFileSync(join(directory, name), content);

describe('the expansion of variables', () => {
  it.each([
    ['${A}', 'x'],
    ['a${A}b${_B1}c', 'axbyc'],
    ['${A}${A}', 'xx'],
    ['a $A', 'a $A'],
    ['$ecret', '$ecret'],
    ['50%', '50%'],
    ['environment.A', 'environment.A'],
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

  it.each(
    (
      '${}|${1}|${A|${a-b}|${A-x}|${A:=x}|${A:?x}|${A:}|${ A }|${A:-${B}}|${A:-{}}|${file:{a}}|' +
      '${file:${A}}|a ${A} ${'
    ).split('|'),
  )('rejects %s, which only looks like an expansion', text => {
    expect(expanded({ a: [text] }, { A: 'x', B: 'y' }).issues).toEqual([
      {
        path: ['a', 0],
        message:
          'has a ${ that expands to nothing; accepted are: ${NAME}, ${NAME:-default} with no braces in the default, ${file:PATH}, and $${ for a literal ${',
      },
    ]);
  });

  it.each([
    ['$NOPE', 'NOPE'],
    ['$nope_key', 'nope_key'],
    ['$(NOPE)', 'NOPE'],
    ['$env:NOPE', 'NOPE'],
    ['%NOPE%', 'NOPE'],
    ['{{NOPE}}', 'NOPE'],
    ['{{ NOPE }}', 'NOPE'],
    ['{{ .Values.key | quote }}', 'NAME'],
    ['os.environ/NOPE', 'NOPE'],
    ['os.environ["NOPE"]', 'NOPE'],
    ["os.getenv('NOPE')", 'NOPE'],
    ['process.env.NOPE', 'NOPE'],
    ["ENV['NOPE']", 'NOPE'],
    ['env.NOPE', 'NOPE'],
    ['env:NOPE', 'NOPE'],
  ])('rejects %s, which another program would expand, with the form that is meant', (text, name) => {
    const message = `is not expanded in this form: write \${${name}} for the variable; a value that really has this text comes from one`;
    expect(expanded({ value: text }, { NOPE: 'x' }).issues).toEqual([{ path: ['value'], message }]);
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

describe('a file in a value', () => {
  it.each([
    ['sk-1234', 'sk-1234'],
    ['sk-1234\n', 'sk-1234'],
    ['sk-1234\r\n', 'sk-1234'],
    ['two\nlines\n\n', 'two\nlines\n'],
    [' spaced ', ' spaced '],
    ['${A}$& ${file:key}', '${A}$& ${file:key}'],
  ])('with the content %j is put in as %j', (content, value) => {
    secret('key', content);
    expect(expanded({ a: '${file:key}' }, { A: 'x' })).toEqual({ value: { a: value }, issues: [] });
    expect(expanded('${file:./key}').value).toBe(value);
    expect(expanded(`<\${file:${join(directory, 'key')}}>`).value).toBe(`<${value}>`);
  });

  it('is told apart from a variable that is called file', () => {
    expect(expanded('${file} ${file:-x}', { file: 'y' })).toEqual({ value: 'y y', issues: [] });
  });

  it('tells which values came from files and which from the environment', () => {
    secret('key', 'sk-1234\n');
    expect(found({ a: ['${A} ${file:key}'], b: '${B:-c}', d: '$${' }, { A: 'x' }).values).toEqual([
      { path: ['a', 0], from: 'environment', content: 'x' },
      { path: ['a', 0], from: 'file', content: 'sk-1234' },
      { path: ['b'], from: 'environment', content: 'c' },
    ]);
  });

  const large = 64 * 1024;
  it('may have 64 KiB, and no byte more', () => {
    secret('large', 'a'.repeat(large));
    expect(expanded('${file:large}').value).toHaveLength(large);
    secret('large', 'a'.repeat(large + 1));
    expect(expanded({ a: '${file:large}' }).issues).toEqual([
      { path: ['a'], message: `the file ${join(directory, 'large')} is larger than 65536 bytes` },
    ]);
  });

  it.each([
    ['none', 'the file DIRECTORY/none does not exist'],
    ['/dev/zero', 'the file /dev/zero is not a regular file'],
    ['empty', 'the file DIRECTORY/empty is empty'],
    [
      'none:-sk-default',
      'has a ${file:…} with a default; a file has none, so that a secret which was not mounted is noticed: write ${file:PATH}',
    ],
  ])('is refused at the path %j', (path, message) => {
    secret('empty', '\n');
    expect(expanded({ a: `\${file:${path}}` }).issues).toEqual([
      { path: ['a'], message: message.replace('DIRECTORY', directory) },
    ]);
  });
});
