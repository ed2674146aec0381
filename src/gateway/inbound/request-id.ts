import type { IncomingHttpHeaders } from 'node:http';
import { randomId } from '../../common/ids.ts';

/** The caller's request id if it is valid, else a new one. */
export function requestIdOf(headers: IncomingHttpHeaders): string {
  const given = headers['x-request-id'];
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomId()}`;
}
