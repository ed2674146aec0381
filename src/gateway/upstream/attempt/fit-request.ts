import { forwardedParameters } from '../../dialects/chat-completions/chat-request.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import { type AcceptedMessages, withFitMessages } from './fit-messages.ts';

/** Parameters that the configuration may drop: a request makes sense without them. */
export const droppableParameters: readonly string[] = [
  'temperature',
  'stop',
  ...Object.keys(forwardedParameters),
];

/** Parameters that a server accepts, by its adapter and its configuration. */
export interface AcceptedParameters {
  /** Forwarded parameters that its adapter accepts; `undefined` for all. */
  readonly parameters: ReadonlySet<string> | undefined;
  readonly drop: readonly string[];
  /** Fields outside the interface that it may be sent. */
  readonly extra: readonly string[];
  /** What it takes of messages. */
  readonly messages: AcceptedMessages;
}

/** Droppable fields that are not among a request's `parameters`. */
const ownFields = ['temperature', 'stop'] as const;

/** A copy of `request` without fields that its upstream does not accept, and their names; the next attempt may need the original. */
export function fitted(given: ChatRequest, { parameters, drop, extra, messages }: AcceptedParameters) {
  const { request, ignored } = withFitMessages(given, messages);
  for (const name in request.unknown) if (!extra.includes(name)) ignored.push(name);
  const isLost = (name: string) =>
    drop.includes(name) ||
    // A parameter outside the interface was added by the operator.
    (parameters !== undefined && !parameters.has(name) && Object.hasOwn(forwardedParameters, name));
  let fit = request;
  const copy = () => (fit === request ? (fit = { ...request, parameters: { ...request.parameters } }) : fit);
  for (const name of ownFields)
    if (request[name] !== undefined && drop.includes(name)) {
      delete copy()[name];
      ignored.push(name);
    }
  for (const name in request.parameters)
    if (isLost(name)) {
      delete copy().parameters[name];
      ignored.push(name);
    }
  return { request: fit, ignored };
}
