import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Split,
  type SplitterOptions,
  ThinkSplitter,
} from '../../../../../plugins/stages/reasoning-split/think-splitter.ts';
import { thinkTexts } from '../../../../fixtures/think-texts.ts';
import { cutAt, cuts } from '../../../chunk-stream.ts';
import { thinkText } from './think-text.ts';

function split(pieces: readonly string[], options: SplitterOptions): { whole: Split; steps: Split[] } {
  const splitter = new ThinkSplitter(options);
  const steps = [...pieces.map(piece => splitter.push(piece)), splitter.end()];
  const whole = {
    reasoning: steps.map(({ reasoning }) => reasoning).join(''),
    content: steps.map(({ content }) => content).join(''),
  };
  return { whole, steps };
}

const options = fc.record({ implicit: fc.boolean(), trim: fc.boolean() });

describe('the think splitter on the fixtures', () => {
  const cases = thinkTexts.flatMap(({ name, text, implicit = false, reasoning, content, untrimmed }) => [
    { name, text, implicit, trim: true, expected: { reasoning, content } },
    { name, text, implicit, trim: false, expected: untrimmed ?? { reasoning, content } },
  ]);

  it.each(cases)('splits the whole text: $name, trim: $trim', ({ text, implicit, trim, expected }) => {
    expect(split([text], { implicit, trim }).whole).toEqual(expected);
  });
});

describe('the think splitter on any text, cut anywhere', () => {
  it('gives the same as for the whole text', () => {
    fc.assert(
      fc.property(thinkText, cuts, options, (text, places, chosen) => {
        expect(split(cutAt(text, places), chosen).whole).toEqual(split([text], chosen).whole);
      }),
      { numRuns: 2000 },
    );
  });

  it('goes from reasoning to content once and never back', () => {
    fc.assert(
      fc.property(thinkText, cuts, options, (text, places, chosen) => {
        const { steps } = split(cutAt(text, places), chosen);
        const first = steps.findIndex(({ content }) => content !== '');
        const after = first === -1 ? [] : steps.slice(first + 1);
        expect(after.map(({ reasoning }) => reasoning).join('')).toBe('');
      }),
    );
  });

  it('loses and doubles nothing except the tags and the whitespace around them', () => {
    fc.assert(
      fc.property(thinkText, cuts, options, (text, places, chosen) => {
        expect(split(cutAt(text, places), chosen).whole).toEqual(wholeSplit(text, chosen));
      }),
      { numRuns: 2000 },
    );
  });
});

/** The same rules written a second time, over a whole text: what the splitter is held against. */
function wholeSplit(text: string, { implicit, trim }: SplitterOptions): Split {
  const blocks: string[] = [];
  let rest = text;
  let opening = /^\s*<think>/.exec(rest)?.[0] ?? (implicit ? '' : undefined);
  while (opening !== undefined) {
    rest = rest.slice(opening.length);
    if (trim) rest = rest.trimStart();
    const close = rest.indexOf('</think>');
    if (close === -1) return { reasoning: joined([...blocks, rest]), content: '' };
    blocks.push(trim ? rest.slice(0, close).trimEnd() : rest.slice(0, close));
    rest = rest.slice(close + '</think>'.length);
    opening = /^\s*<think>/.exec(rest)?.[0];
    if (opening === undefined && trim) rest = rest.trimStart();
  }
  return { reasoning: joined(blocks), content: rest };
}

const joined = (blocks: readonly string[]) => blocks.filter(block => block !== '').join('\n');

describe('text that the think splitter holds back', () => {
  const { push } = ThinkSplitter.prototype;
  const begun = (text: string, trim = true) => {
    const splitter = new ThinkSplitter({ implicit: false, trim });
    splitter.push(text);
    return push.bind(splitter);
  };

  it('is the longest suffix that begins the awaited tag, at most seven characters', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 7 }), length => {
        const piece = `abc${'</think>'.slice(0, length)}`;
        expect(begun('<think>', false)(piece)).toEqual({ reasoning: 'abc', content: '' });
      }),
    );
  });

  it('is empty once the answer has begun', () => {
    expect(begun('<think>a</think>b')(' <think> </thi')).toEqual({
      reasoning: '',
      content: ' <think> </thi',
    });
  });

  it('is released as soon as it can no longer be a tag', () => {
    const next = begun('<thi');
    expect(next('s is it')).toEqual({ reasoning: '', content: '<this is it' });
  });

  it('includes the whitespace at the end of a piece of reasoning until more text comes', () => {
    const next = begun('<think>One.');
    expect(next(' \n')).toEqual({ reasoning: '', content: '' });
    expect(next('Two.')).toEqual({ reasoning: ' \nTwo.', content: '' });
  });
});
