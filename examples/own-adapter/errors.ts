import { isObject, UpstreamError } from 'sluice/plugin';

/** Google's APIs wrap some errors in an array of one. */
const unwrapped = (body: unknown): unknown => (Array.isArray(body) ? body[0] : body);

/** Standard status of an error reply: the API answers 400 also for a bad key, and for a country or an account that it does not serve. */
export function errorStatus(status: number, body: unknown): number {
  const outer = unwrapped(body);
  if (status !== 400 || !isObject(outer) || !isObject(outer.error)) return status;
  const { status: name, message } = outer.error;
  if (typeof message === 'string' && /API key (?:not valid|not found|expired)/i.test(message)) return 401;
  return name === 'FAILED_PRECONDITION' ? 403 : status;
}

/** The message of an error in an array; the gateway reads the others itself. */
export const errorMessage = (body: unknown): string | undefined =>
  Array.isArray(body) ? UpstreamError.in(body[0])?.message : undefined;

/** The error inside a reply or an event of status 200, if it is one. */
export function errorIn(body: unknown): UpstreamError | undefined {
  const told = UpstreamError.in(unwrapped(body));
  return told && new UpstreamError(told.message, told.status && errorStatus(told.status, body));
}
