import type { JsonSize } from '../../common/json-size.ts';

/** Bytes that a body is counted with while it arrives, for each of its own: itself, and its copy in one piece or its text. */
export const arriving_factor = 2;

/** Bytes that Node takes for a piece of a body beside its content; a chunk may be of one byte. */
export const piece_bytes = 512;

/**
 * Bytes that V8 takes for a value and for a key, beside the texts: `{}` takes 56 with its place in an array, an object with one number as
 * its key 250 in all. The canonical request takes no more than the parsed body.
 */
const value_bytes = 64;
const key_bytes = 128;

/**
 * Bytes that V8 takes for the texts of `characters` UTF-16 units. One outside of Latin-1 makes it take two for each; here one outside of
 * ASCII does, which needs no search.
 */
export const textMemory = (characters: number, isAscii: boolean): number => characters * (isAscii ? 1 : 2);

/** Whether all texts in JSON of so many bytes are ASCII, those included that are written with escapes. */
export const isAsciiJson = (text: string, bytes: number): boolean =>
  text.length === bytes && !text.includes('\\u');

/** Bytes that V8 takes for the objects, arrays and numbers of parsed JSON. */
export const structureMemory = ({ values, keys }: JsonSize): number =>
  values * value_bytes + keys * key_bytes;
