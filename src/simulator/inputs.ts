import { Refusal } from './error-body.ts';

/** The texts of a field that has one or several; token ids as the text that lists them. Throws a Refusal for anything else. */
export function inputsIn(given: unknown, field: string): string[] {
  const areTokens = Array.isArray(given) && given.every(one => typeof one === 'number');
  const list: unknown[] = Array.isArray(given) && !areTokens ? given : [given];
  return list.map(one => {
    if (typeof one === 'string') return one;
    if (Array.isArray(one) && one.length > 0 && one.every(id => Number.isInteger(id))) return one.join(' ');
    throw new Refusal(400, `${field} must be a text, token ids, or a list of either.`, field);
  });
}
