import type { IncomingHttpHeaders } from 'node:http';

/** Headers of the request that switched protocols which say something about its connection or its body, or have another value for each reply. */
const own =
  /^(connection|upgrade|keep-alive|te|trailer|transfer-encoding|expect|content-.*|accept|accept-encoding|sec-websocket-.*|x-request-id)$/;

/** Characters of a request id, as the gateway takes it. */
const max_id_characters = 128;

/** Headers of the request for one reply: those with which the connection was opened, with an id that tells both. */
export function callHeaders(
  opened: IncomingHttpHeaders,
  id: string,
  reply: number,
  body_bytes: number,
): object {
  const kept = Object.entries(opened).filter(([name]) => !own.test(name));
  const request_id = `${id}.${reply}`;
  return {
    ...Object.fromEntries(kept),
    'content-type': 'application/json',
    'content-length': body_bytes,
    ...(request_id.length <= max_id_characters && { 'x-request-id': request_id }),
  };
}
