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
  ignored.push(...Object.keys(request.unknown).filter(name => !extra.includes(name)));
  // Fast path: most servers accept every parameter.
  if (!parameters && drop.length === 0) return { request, ignored };
  const isLost = (name: string) =>
    drop.includes(name) ||
    // A parameter outside the interface was added by the operator.
    (parameters !== undefined && !parameters.has(name) && Object.hasOwn(forwardedParameters, name));
  const own = ownFields.filter(name => request[name] !== undefined && drop.includes(name));
  const lost = Object.keys(request.parameters).filter(isLost);
  if (own.length === 0 && lost.length === 0) return { request, ignored };
  const fit: ChatRequest = { ...request, parameters: { ...request.parameters } };
  for (const name of own) delete fit[name];
  for (const name of lost) delete fit.parameters[name];
  return { request: fit, ignored: [...ignored, ...own, ...lost] };
}
