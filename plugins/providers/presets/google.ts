import { isObject } from '../../../src/plugin.ts';

/** The error of a body that is a list with one error, as Google's servers send it. */
function errorIn(body: unknown): Readonly<Record<string, unknown>> | undefined {
  const first: unknown = Array.isArray(body) ? body[0] : body;
  return isObject(first) && isObject(first.error) ? first.error : undefined;
}

/** The message of an error. */
export function googleMessage(body: unknown): string | undefined {
  const message = errorIn(body)?.message;
  return typeof message === 'string' ? message : undefined;
}

/** 401 for a key that is wrong, which is a 400 here. */
export function googleStatus(status: number, body: unknown): number {
  return status === 400 && /api key (not valid|expired)/i.test(googleMessage(body) ?? '') ? 401 : status;
}
