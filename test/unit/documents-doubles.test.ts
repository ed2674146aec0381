import { describe, expect, it } from '@jest/globals';
import { documents, read } from '../support/documents/blocks.ts';
import { doublesAmong } from '../support/documents/doubles.ts';
import { passagesOf } from '../support/documents/passages.ts';

const passages = documents.flatMap(document => passagesOf(document, read(document)));
/** Pairs that are there; the number may only become smaller. */
const known_doubles = 0;

describe('the documents', () => {
  it('say nothing twice in the same words', () => {
    const doubles = doublesAmong(passages);
    expect(doubles.length > known_doubles ? doubles : []).toEqual([]);
  });

  it('are compared: a planted double is found in a paragraph, an item and a row, and likeness is none', () => {
    const said = 'Changes of an account reach every running instance of the gateway within a few seconds';
    const pages = [
      `# One\n\n${said}, and never\nlater than that.\n\n- An item that is about something else and has more than ten words in it.\n`,
      `Something else.\n\n- **Soon**: ${said}.\n\n| a | b |\n|---|---|\n| x | ${said.replace('an account', '[an account](x.md)')} |\n`,
      '```text\nChanges of an account reach every running instance of the gateway within a few seconds\n```\n',
      'Changes of a plan are for all of the accounts that have it, at every running instance of the gateway.\n',
    ].flatMap((text, at) => passagesOf(`${at}.md`, text));
    expect(doublesAmong(pages).map(double => double.match(/\d\.md:\d+/g))).toEqual([
      ['0.md:3', '1.md:3'],
      ['0.md:3', '1.md:7'],
      ['1.md:3', '1.md:7'],
    ]);
  });
});
