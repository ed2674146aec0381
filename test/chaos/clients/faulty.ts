import { ERROR_SHAPES } from '../../../src/simulator/error-body.ts';
import { isBroken, isRefusal } from './checks.ts';
import type { Draw } from './draw.ts';
import { chat, type Errand, type Kind } from './errand.ts';

const endings = ['upstream_failed'] as const;
const invalid = isRefusal(502, 'provider_error');

const streamed = (draw: Draw): object => (draw.chance(0.6) ? { stream: true } : {});

/** A stream of 60 events in which something goes wrong somewhere. */
function inStream(fault: string): Kind['make'] {
  return (draw, id) => ({
    request: chat(`Stream ${id} [[sim:tokens=60 ${fault}=${draw.integer(2, 40)}]]`, { stream: true }),
    endings,
    check: isBroken,
  });
}

/** A plain reply in which something goes wrong. */
function inReply(fault: string): Kind['make'] {
  return (_, id) => ({ request: chat(`Reply ${id} [[sim:${fault}]]`), endings, check: invalid });
}

/** Upstreams that fail in every way that the simulator knows. */
export const faultyKinds: readonly Kind[] = [
  { name: 'upstream status', weight: 10, make: status },
  ...['reset', 'cut', 'truncate', 'error', 'garbage'].flatMap(fault => [
    { name: `${fault} in a stream`, weight: 2, make: inStream(fault) },
    { name: `${fault} in a reply`, weight: 1, make: inReply(`${fault}=3`) },
  ]),
  ...['reset', 'cut', 'html', 'error200'].map(fault => ({
    name: `${fault} before a reply`,
    weight: 1,
    make: (draw: Draw, id: string): Errand => ({
      request: chat(`Nothing ${id} [[sim:${fault}]]`, streamed(draw)),
      endings,
      check: invalid,
    }),
  })),
  { name: 'stall in a stream', weight: 0.4, make: inStream('stall') },
  {
    name: 'stall before a reply',
    weight: 0.4,
    make: (draw, id) => ({
      request: chat(`Silence ${id} [[sim:stall]]`, streamed(draw)),
      endings,
      check: isBroken,
    }),
  },
  {
    name: 'aborted by the upstream',
    weight: 1,
    make: (draw, id) => ({
      request: chat(`Abort ${id} [[sim:finish=${draw.one(['abort', 'error'])}]]`, streamed(draw)),
      endings,
      check: isBroken,
    }),
  },
];

/** Protocol b6 to b8. */
function status(draw: Draw, id: string): Errand {
  const code = draw.one([400, 401, 403, 404, 409, 413, 422, 429, 500, 502, 503, 529]);
  const request = chat(`Status ${id} [[sim:status=${code} body=${draw.one(ERROR_SHAPES)}]]`, streamed(draw));
  if ([400, 413, 422].includes(code))
    return { request, endings: ['refused'], check: isRefusal(400, 'invalid_request_error') };
  if ([401, 403, 404].includes(code))
    return { request, endings, check: isRefusal(400, 'configuration_error'), alarms: true };
  return { request, endings, check: invalid };
}
