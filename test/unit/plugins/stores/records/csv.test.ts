import { describe, expect, it } from '@jest/globals';
import { csvOf } from '../../../../../src/records/csv.ts';

describe('csvOf', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "so"', '"say ""so"""'],
    ['two\nlines', '"two\nlines"'],
    ['a\rb', '"a\rb"'],
    ['', ''],
    ['=SUM(A1)', "'=SUM(A1)"],
    ['@cmd', "'@cmd"],
    ['-5', '-5'],
    ['-5+cmd', "'-5+cmd"],
  ])('writes %j as %j: quoted where needed, and never as a formula', (cell, written) => {
    expect(
      csvOf([
        ['name', 'value'],
        ['x', cell],
      ]),
    ).toBe(`name,value\r\nx,${written}`);
  });
});
