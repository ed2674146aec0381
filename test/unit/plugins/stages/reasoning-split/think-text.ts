import * as fc from 'fast-check';
import { anyCharacter } from '../../../chunk-stream.ts';

const words = ['One', ' two', ' a<b', 'three.', ' 🤔', 'x'];
const tags = ['<think>', '</think>'];
const partialTags = '< </ <thi </thin <think </think think> > <think/> <thinking>'.split(' ');
const whitespace = [' ', '\n', '\n\n', '\t', ' \n '];

/** A model's text, much fuller of tags, halves of tags and whitespace than any model's. */
export const thinkText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...tags) },
      { weight: 3, arbitrary: fc.constantFrom(...whitespace) },
      { weight: 3, arbitrary: fc.constantFrom(...words) },
      { weight: 2, arbitrary: fc.constantFrom(...partialTags) },
      { weight: 1, arbitrary: fc.string({ unit: anyCharacter, maxLength: 4 }) },
    ),
    { maxLength: 14 },
  )
  .map(pieces => pieces.join(''));
