/** A paragraph, an item of a list or a row of a table that was written by hand. */
export interface Passage {
  readonly document: string;
  /** Its first line, from 1. */
  readonly line: number;
  readonly text: string;
}

const blank = (text: string): string => text.replace(/[^\n]/g, '');

/** `markdown` without the tables that are generated, which stay as empty lines. */
export const writtenByHand = (markdown: string): string =>
  markdown.replace(/<!-- table: .+? -->[\s\S]*?<!-- end -->/g, blank);

/** The passages of a document: without generated tables, blocks of code, comments and headings. */
export function passagesOf(document: string, markdown: string): Passage[] {
  const lines = writtenByHand(markdown)
    .replace(/^([ \t]*)```[\s\S]*?^\1```[ \t]*$/gm, blank)
    .replace(/<!--[\s\S]*?-->/g, blank)
    .split('\n');
  const passages: { document: string; line: number; text: string }[] = [];
  let isOpen = false;
  for (const [at, text] of lines.entries()) {
    const isRow = /^\s*\|/.test(text);
    if (/^\s*$|^#|^\s*\|[\s|:-]*$/.test(text)) {
      isOpen = false;
      continue;
    }
    if (!isOpen || isRow || /^\s*(?:[-*]|\d+\.) /.test(text))
      passages.push({ document, line: at + 1, text: text.trim() });
    else passages.at(-1)!.text += ` ${text.trim()}`;
    isOpen = !isRow;
  }
  return passages;
}

/** The same with the generated tables, whose sentences are written by hand in the code; without the one called `left_out`. */
export const passagesWithTables = (document: string, markdown: string, left_out: string): Passage[] =>
  passagesOf(
    document,
    markdown
      .replace(new RegExp(`<!-- table: ${left_out} -->[\\s\\S]*?<!-- end -->`, 'g'), blank)
      .replace(/<!-- (?:table: .+?|end) -->/g, ''),
  );

/** `text` in Markdown, where `<` outside of code would begin a tag. */
export const escaped = (text: string): string =>
  text.replace(/`[^`]*`|</g, part => (part === '<' ? '&lt;' : part));

/** A value of a schema, such as a default, as code; nothing if there is none. */
export const shownValue = (value: unknown): string =>
  value === undefined ? '' : `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``;

/** `text` for a regular expression that matches exactly it. */
export const patternOf = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

/** `text` as it is read: links as their words. */
export const withoutLinks = (text: string): string =>
  text.replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1').replace(/<[^>]+>/g, ' ');
