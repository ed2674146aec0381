import type { ChatRequest } from '../canonical.ts';
import { GatewayError } from '../errors.ts';

/** The client's name of a top-level field of the canonical request; the same if the client sent it as an unknown field. */
export function clientFieldName({ client, unknown }: ChatRequest, field: string): string {
  const names = client?.field_names ?? {};
  return Object.hasOwn(names, field) && !Object.hasOwn(unknown, field) ? names[field]! : field;
}

/** The error with the client's name of the field at fault. Leaves out positions, which may differ between the two forms. */
export function withClientFieldName(error: GatewayError, request: ChatRequest): GatewayError {
  const { param } = error;
  if (param === undefined || Object.hasOwn(request.unknown, param)) return error;
  const [, field = '', rest = ''] = /^([^.[]*)(.*)$/s.exec(param) ?? [];
  const name = clientFieldName(request, field);
  if (name === field) return error;
  const renamed = rest.startsWith('[') ? name : name + rest;
  const message = error.message.startsWith(`${param}:`)
    ? renamed + error.message.slice(param.length)
    : error.message;
  const { type, status, code, headers, cause } = error;
  return new GatewayError(type, status, message, { code, param: renamed, headers, cause });
}
