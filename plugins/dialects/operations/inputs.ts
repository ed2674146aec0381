import { z } from 'zod';
import {
  type ChatRequest,
  requestFields as fields,
  type Message,
  type Operation,
  textOf,
} from '../../../src/plugin.ts';

const aText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const areTokens = (value: unknown): value is number[] =>
  Array.isArray(value) && value.length > 0 && value.every(id => Number.isSafeInteger(id) && id >= 0);

/** A text, token ids, or a list of at most `most` of either, as messages of the name `field`. */
export const textsOrTokens = (field: string, most: number) =>
  z.unknown().transform((given, issues): Message[] => {
    const list = Array.isArray(given) && !areTokens(given) ? given : [given];
    if (given === undefined || list.length === 0 || list.length > most)
      return fields.fault(issues, `is required: a text, token ids, or a list of 1 to ${most} of either`);
    const messages: Message[] = [];
    for (const [at, one] of list.entries()) {
      if (aText(one)) messages.push(messageOf(field, one));
      else if (areTokens(one)) messages.push({ role: 'user', name: field, tokens: one });
      else
        return fields.fault(
          issues,
          'must be a text or token ids, not empty',
          ...(list === given ? [at] : []),
        );
    }
    return messages;
  });

/** The message of a text that a request has in `field`. */
export const messageOf = (field: string, content: string): Message => ({
  role: 'user',
  name: field,
  content,
});

/** What stages have left of the messages of `field`, in order; token ids where there is no text. */
export const inputsIn = ({ messages }: Pick<ChatRequest, 'messages'>, field: string): (string | number[])[] =>
  messages.filter(({ name }) => name === field).map(({ content, tokens }) => tokens ?? textOf(content));

/** One input as itself, others as their list. */
export const oneOrAll = <T>(inputs: readonly T[]): T | readonly T[] =>
  inputs.length === 1 ? inputs[0]! : inputs;

/** The fields of `from` that are given, of those named. */
export function givenOf(
  from: Readonly<Record<string, unknown>>,
  names: readonly string[],
): Record<string, unknown> {
  return Object.fromEntries(names.flatMap(name => (from[name] == null ? [] : [[name, from[name]]])));
}

/** Encodes a request for `path`: its parameters of `names`, what `own` makes of its texts, and the unknown fields that its provider takes. */
export const encoderOf =
  (path: string, names: readonly string[], own: (request: ChatRequest) => object): Operation['encode'] =>
  (request, { model, extraParameters }) => ({
    path,
    body: {
      model,
      ...givenOf(request.unknown, extraParameters),
      ...givenOf(request.parameters, names),
      ...own(request),
    },
  });
