import type { ChatRequest } from '../../canonical.ts';
import { forwardedParameters } from '../../dialects/chat-completions/chat-request.ts';

/** What may be kept from a server by configuration: parameters of the interface without which a request still makes sense. */
export const droppableParameters: readonly string[] = [
  'temperature',
  'stop',
  ...Object.keys(forwardedParameters),
];

/** What a server takes, by its adapter and its configuration. */
export interface Taken {
  /** The forwarded parameters that its adapter says it takes; `undefined` for all. */
  readonly parameters: ReadonlySet<string> | undefined;
  readonly drop: readonly string[];
  /** Fields outside the interface that it is sent. */
  readonly extra: readonly string[];
}

/** A request as one server takes it, and the names of what the client asked for in vain. */
export interface Fitted {
  readonly request: ChatRequest;
  readonly ignored: readonly string[];
}

/** Fields of a request that are not among its `parameters` and can be left out as well. */
const ownFields = ['temperature', 'stop'] as const;

/** Takes out of `request` what its upstream does not take. The request itself stays whole: another upstream may be asked next. */
export function fitted(request: ChatRequest, { parameters, drop, extra }: Taken): Fitted {
  const unknown = Object.keys(request.unknown).filter(name => !extra.includes(name));
  // Most servers take everything.
  if (!parameters && drop.length === 0) return { request, ignored: unknown };
  const isLost = (name: string) =>
    drop.includes(name) ||
    // What the interface does not know was put there by the operator.
    (parameters !== undefined && !parameters.has(name) && Object.hasOwn(forwardedParameters, name));
  const own = ownFields.filter(name => request[name] !== undefined && drop.includes(name));
  const lost = Object.keys(request.parameters).filter(isLost);
  if (own.length === 0 && lost.length === 0) return { request, ignored: unknown };
  const fit: ChatRequest = { ...request, parameters: { ...request.parameters } };
  for (const name of own) delete fit[name];
  for (const name of lost) delete fit.parameters[name];
  return { request: fit, ignored: [...unknown, ...own, ...lost] };
}
