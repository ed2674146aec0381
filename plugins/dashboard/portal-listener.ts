import type { IncomingMessage, ServerResponse } from 'node:http';
import type { RequestHandler } from '../../src/gateway/exchange/stage-plan.ts';
import { discardBody } from '../../src/gateway/inbound/discard-body.ts';
import { mountAt } from './mount.ts';
import { PageError, writeResponse } from './page-response.ts';

/** Bounds for the rest of a body that no page reads. */
const linger = { max_body_bytes: 1024 * 1024, body_idle_ms: 1000, body_timeout_ms: 5000 };

/**
 * Serves the portal on a listener of the gateway: false for requests that are not for it, which stay as they are. While the gateway closes,
 * every page is answered 503.
 */
export function portalListener(
  portal: RequestHandler,
  { enabled, path }: { readonly enabled: boolean; readonly path: string },
  isClosing: () => boolean,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    if (!enabled || !mountAt(path, request)) return false;
    response.once('finish', () => discardBody(request, linger));
    if (isClosing()) writeResponse(response, closing.response);
    // Every path below is one of the portal's.
    else portal(request, response, () => {});
    return true;
  };
}

const closing = new PageError(
  503,
  'This service is shutting down.',
  'Load the page again in a few seconds.',
  {
    connection: 'close',
    'retry-after': '5',
  },
);
