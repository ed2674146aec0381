/** Whether a text has what a terminal would obey or show in another order, or more lines than one. */
export const isPrintable = (text: string): boolean => text.search(unprintable) === -1;

const unprintable = /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/gu;

/** `text` for the record, at most `max` characters: no database takes half a character, and Postgres no NUL. */
export const storable = (text: string, max: number): string =>
  text.slice(0, max).toWellFormed().replaceAll('\0', '\ufffd');

const max_characters = 1000;

/** `text` of another machine for a terminal: on one line of at most 1000 characters. */
export const printable = (text: string): string => text.slice(0, max_characters).replace(unprintable, '?');
