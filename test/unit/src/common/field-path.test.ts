import { describe, expect, it } from '@jest/globals';
import { fieldPath, shown } from '../../../../src/common/field-path.ts';

describe('the format of messages', () => {
  it.each([
    [[], ''],
    [['model'], 'model'],
    [['messages', 2, 'content', 0, 'text'], 'messages[2].content[0].text'],
  ])('renders the path %j', (path, expected) => {
    expect(fieldPath(path)).toBe(expected);
  });

  it.each([
    [undefined, 'nothing'],
    [null, 'null'],
    ['', "''"],
    ['abc', "'abc'"],
    ['x'.repeat(64), `'${'x'.repeat(64)}'`],
    ['x'.repeat(65), 'a string of 65 characters'],
    [1.5, '1.5'],
    [false, 'false'],
    [[1], 'an array'],
    [[], 'an empty array'],
    [{ a: 1 }, 'an object'],
  ])('renders the value %j', (value, expected) => {
    expect(shown(value)).toBe(expected);
  });
});
