import type { ChatRequest } from '../canonical.ts';
import { GatewayError } from '../errors.ts';

/**
 * The error with the field at fault as its client calls it: stages refuse fields of the canonical form, and its dialect may have other
 * names. Within `messages` positions may differ as well, so the field alone is named there.
 */
export function inClientWords(error: GatewayError, { wording, unknown }: ChatRequest): GatewayError {
  const { param } = error;
  if (param === undefined || wording?.names === undefined || Object.hasOwn(unknown, param)) return error;
  const [, field = '', rest = ''] = /^([^.[]*)(.*)$/s.exec(param) ?? [];
  const name = Object.hasOwn(wording.names, field) ? wording.names[field] : undefined;
  if (name === undefined) return error;
  const renamed = rest.startsWith('[') ? name : name + rest;
  const message = error.message.startsWith(`${param}:`)
    ? renamed + error.message.slice(param.length)
    : error.message;
  const { type, status, code, headers, cause } = error;
  return new GatewayError(type, status, message, { code, param: renamed, headers, cause });
}
