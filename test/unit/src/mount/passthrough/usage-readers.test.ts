import { describe, expect, it } from '@jest/globals';
import { EventUsage, JsonUsage } from '../../../../../src/mount/passthrough/usage-readers.ts';

const said = (content: string, more: object = {}) => ({
  choices: [{ index: 0, delta: { content } }],
  ...more,
});
const counted = (completion_tokens: number) => ({ usage: { prompt_tokens: 7, completion_tokens } });
const words = 'one two three four ';

/** What is read of events as they arrive, cut into parts of `size` characters. */
function readOf(events: readonly object[], isLines: boolean, size = 10_000) {
  const reader = new EventUsage(true, isLines);
  const text = events
    .map(event => (isLines ? `${JSON.stringify(event)}\n` : `data: ${JSON.stringify(event)}\n\n`))
    .join('');
  for (let at = 0; at < text.length; at += size) reader.write(Buffer.from(text.slice(at, at + size)));
  reader.end();
  return reader;
}

describe.each([true, false])('the reader of a stream, of lines: %p', isLines => {
  it.each([1, 7, 10_000])('reads the same of parts of %d characters', size => {
    const reader = readOf([said(words, { id: 'a', model: 'm' }), counted(9)], isLines, size);
    expect(reader).toMatchObject({ id: 'a', model: 'm', usage: { prompt_tokens: 7, completion_tokens: 9 } });
    expect(reader.text_tokens).toBe(0);
  });

  it('counts the text that no usage covers: all without one, and what comes after the last', () => {
    const all = readOf([said(words), said(words)], isLines).text_tokens;
    expect(all).toBeGreaterThan(6);
    const rest = readOf([said(words), counted(4), said(words)], isLines).text_tokens;
    expect([rest > 0, rest < all]).toEqual([true, true]);
    expect(readOf([said(words), counted(0), said(words)], isLines).text_tokens).toBe(all);
    expect(readOf([{ a: 1 }, { a: 2 }], isLines).text_tokens).toBe(2);
    expect(readOf([counted(4), { a: 2 }], isLines).text_tokens).toBe(0);
    expect(new EventUsage(false, isLines).text_tokens).toBe(0);
  });

  it('keeps the first id and the last model, and takes what is no object for nothing', () => {
    const named = [{ id: 'a', model: 'm' }, { id: 'b' }, { model: 'n' }, { id: 7, model: 8 }];
    expect(readOf([...named, [], ['{']], isLines)).toMatchObject({ id: 'a', model: 'n' });
  });

  it('counts the bytes of an event that is too long to be read, and of all after it', () => {
    const reader = readOf([said('x'.repeat(1_100_000)), said(words)], isLines, 100_000);
    expect(reader.text_tokens).toBeGreaterThan(100_000 / 4 - 1);
    expect(reader.text_tokens).toBeLessThan(1_200_000 / 4);
  });
});

describe('the reader of a whole reply', () => {
  it('knows no usage of a reply that is cut, and the words of one without', () => {
    const read = (text: string, generates = true) => {
      const reader = new JsonUsage(generates);
      reader.write(Buffer.from(text));
      return reader;
    };
    const text = JSON.stringify({ id: 'a', model: 'm', ...said(words) });
    const whole = JSON.stringify({ ...JSON.parse(text), ...counted(3) });
    expect(read(whole)).toMatchObject({
      id: 'a',
      model: 'm',
      usage: { completion_tokens: 3 },
      text_tokens: 0,
    });
    expect(read(JSON.stringify({ ...counted(3), id: 'a' }).slice(0, -1)).usage).toBeUndefined();
    expect(read(text).text_tokens).toBeGreaterThan(3);
    expect(read(text, false).text_tokens).toBe(0);
    expect(read(JSON.stringify({ data: [0.5], ...counted(0) })).text_tokens).toBe(0);
  });
});
