import type { ChatRequest } from '../exchange/canonical.ts';
import { GatewayError } from '../exchange/errors.ts';

/** The client's name of a field of the canonical request, or of a member of one; the same if the client sent it as an unknown field. */
export function clientFieldName({ client, unknown }: ChatRequest, field: string): string {
  const names = client?.field_names ?? {};
  if (Object.hasOwn(unknown, field)) return field;
  const end = field.indexOf('.');
  const top = end === -1 ? field : field.slice(0, end);
  return Object.hasOwn(names, top) ? names[top] + field.slice(top.length) : field;
}

/** The error with the client's name of the field at fault. Leaves out positions, which may differ between the two forms. */
export function withClientFieldName(error: GatewayError, request: ChatRequest): GatewayError {
  const { param } = error;
  if (param === undefined || Object.hasOwn(request.unknown, param)) return error;
  const [, field = '', rest = ''] = /^([^.[]*)(.*)$/s.exec(param) ?? [];
  // Also where both forms have the same name for it, since the dialect says so.
  if (!Object.hasOwn(request.client?.field_names ?? {}, field)) return error;
  const name = clientFieldName(request, field);
  const renamed = rest.startsWith('[') ? name : name + rest;
  const message = error.message.startsWith(`${param}:`)
    ? renamed + error.message.slice(param.length)
    : error.message;
  const { type, status, code, headers, cause } = error;
  return new GatewayError(type, status, message, { code, param: renamed, headers, cause });
}
