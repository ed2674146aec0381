import { isObject } from '../../../common/json-object.ts';
import { forwardedParameters } from '../../dialects/chat-completions/chat-request.ts';
import type { ChatRequest } from '../../exchange/canonical.ts';
import { invalidField } from '../../exchange/errors.ts';
import { type AcceptedMessages, withFitMessages } from './fit-messages.ts';

/** Parameters that the configuration may drop: a request makes sense without them. */
export const droppableParameters = [
  'temperature',
  'stop',
  ...(Object.keys(forwardedParameters) as (keyof typeof forwardedParameters)[]),
] as const;

/** Parameters that a server accepts, by its adapter and its configuration. */
export interface AcceptedParameters {
  /** Forwarded parameters that its adapter accepts. */
  readonly parameters: ReadonlySet<string>;
  readonly drop: readonly string[];
  /** Fields outside the interface that it may be sent. */
  readonly extra: readonly string[];
  /** What it takes of messages. */
  readonly messages: AcceptedMessages;
}

/** Droppable fields that are not among a request's `parameters`. */
const ownFields = ['temperature', 'stop'] as const;

/** `given`, or a copy without fields that its upstream does not accept, and their names; the next attempt may need the original. */
export function fitted(given: ChatRequest, accepted: AcceptedParameters) {
  const { request, ignored } = withFitMessages(given, accepted.messages);
  for (const name in request.unknown) if (!accepted.extra.includes(name)) ignored.push(name);
  const kept = ignored.length;
  if (accepted.drop.length > 0)
    for (const name of ownFields)
      if (request[name] !== undefined && accepted.drop.includes(name)) ignored.push(name);
  for (const name in request.parameters) if (isLost(name, accepted)) ignored.push(name);
  if (ignored.length === kept) return { request, ignored };
  const { tool_choice } = request.parameters;
  if (ignored.includes('web_search_options') && isObject(tool_choice) && tool_choice.type === 'web_search')
    throw invalidField(
      'tool_choice',
      'must not force web_search, which the upstream of this model does not have.',
    );
  const fit: ChatRequest = { ...request, parameters: { ...request.parameters } };
  for (const name of ignored.slice(kept)) {
    if (name === 'temperature' || name === 'stop') delete fit[name];
    delete fit.parameters[name];
  }
  return { request: fit, ignored };
}

/** Whether a parameter is not sent; one outside the interface was added by the operator. */
const isLost = (name: string, { drop, parameters, extra }: AcceptedParameters): boolean =>
  drop.includes(name) ||
  (!parameters.has(name) && !extra.includes(name) && Object.hasOwn(forwardedParameters, name));
