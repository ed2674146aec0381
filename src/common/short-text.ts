/** Characters that are kept of a value. */
const max_characters = 2000;

/** `value` as a text of at most 2,000 characters: a text as it is, anything else as JSON, and nothing as an empty text. */
export function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value);
  return text.length > max_characters ? `${text.slice(0, max_characters)}…` : text;
}
