import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { historyTable, readHistory } from '../../../tools/bench/history.ts';
import { sections, withSection } from '../../../tools/bench/sections.ts';

const page = readFileSync(new URL('../../../../docs/performance.md', import.meta.url), 'utf8');

describe('the measured sections of docs/performance.md', () => {
  it.each([...Object.keys(sections), 'history'])('have a place for %s', name => {
    const written = withSection(page, name, 'a sentence that is nowhere else');
    expect(written).toContain(`<!-- bench: ${name} -->\n\na sentence that is nowhere else\n\n<!-- end -->`);
  });

  it('leave everything else as it is', () => {
    const text =
      'before\n<!-- bench: a -->\nold\n<!-- end -->\nbetween\n<!-- bench: b -->\nkept\n<!-- end -->\n';
    expect(withSection(text, 'a', 'new')).toBe(text.replace('\nold\n', '\n\nnew\n\n'));
    expect(() => withSection(text, 'c', 'new')).toThrow('the page has no section');
  });

  it('show the history as it is kept', () => {
    expect(withSection(page, 'history', historyTable(readHistory()))).toBe(page);
  });
});
