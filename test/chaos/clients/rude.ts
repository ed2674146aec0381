import { isRefusal } from './checks.ts';
import type { Draw } from './draw.ts';
import { chat, type Kind, plain, type Request } from './errand.ts';
import { max_body_bytes, patient_model, time_limit_ms } from './limits.ts';

const refused = ['refused'] as const;
const gone = ['client_gone'] as const;
/** The client meant to leave first, and on a busy machine it may come too late. */
const perhaps = ['client_gone', 'completed'] as const;
const unauthenticated = isRefusal(401, 'authentication_error');
const malformed = isRefusal(400, 'invalid_request_error');

const streamed = (draw: Draw): object => (draw.chance(0.5) ? { stream: true } : {});

/** Requests that must be refused, and clients that leave, send half, or do not read. */
export const rudeKinds: readonly Kind[] = [
  {
    name: 'bad key',
    weight: 5,
    make: draw => ({ request: badKey(draw), endings: refused, check: unauthenticated }),
  },
  {
    name: 'bad request',
    weight: 8,
    make: draw => ({ request: badBody(draw), endings: refused, check: malformed }),
  },
  {
    name: 'unknown path',
    weight: 2,
    make: draw => ({
      request: plain('GET', draw.one(['/', '/v1', '/v1/embeddings', '/metrics'])),
      endings: refused,
      check: isRefusal(404, 'invalid_request_error'),
    }),
  },
  {
    name: 'wrong method',
    weight: 2,
    make: draw => ({
      request: plain(draw.one(['GET', 'PUT', 'DELETE']), '/v1/chat/completions'),
      endings: refused,
      check: isRefusal(405, 'invalid_request_error'),
    }),
  },
  {
    name: 'body too large',
    weight: 0.5,
    make: () => ({
      request: chat('x'.repeat(max_body_bytes)),
      endings: refused,
      check: isRefusal(413, 'invalid_request_error'),
    }),
  },
  {
    name: 'leaves before a stream',
    weight: 5,
    make: (draw, id) => ({
      request: chat(`Late ${id} [[sim:ttft=500]]`, { stream: true }),
      manner: { leave_ms: draw.integer(0, 200) },
      endings: perhaps,
    }),
  },
  {
    name: 'leaves before a reply',
    weight: 3,
    make: (draw, id) => ({
      request: chat(`Late ${id} [[sim:ttft=${draw.integer(300, 800)}]]`),
      manner: { leave_ms: draw.integer(0, 200) },
      endings: perhaps,
    }),
  },
  {
    name: 'leaves in a stream',
    weight: 8,
    make: (draw, id) => ({
      request: chat(`Endless ${id} [[sim:tokens=endless tps=${draw.one([0, 100, 500])}]]`, { stream: true }),
      manner: { leave_events: draw.integer(1, 30) },
      endings: gone,
    }),
  },
  {
    name: 'leaves at [DONE]',
    weight: 5,
    make: (draw, id) => ({
      request: chat(`Short ${id} [[sim:tokens=${draw.integer(1, 50)}]]`, { stream: true }),
      manner: { leave_at_done: true },
      endings: perhaps,
    }),
  },
  {
    name: 'leaves while sending',
    weight: 3,
    make: draw => ({
      request: chat('x'.repeat(20_000), streamed(draw)),
      manner: { send_bytes: draw.integer(1_000, 19_000) },
      endings: gone,
    }),
  },
  {
    name: 'leaves within the headers',
    weight: 1,
    make: draw => ({ request: chat('Hello'), manner: { send_bytes: draw.integer(1, 60) }, endings: [] }),
  },
  {
    name: 'reads nothing',
    weight: 0.3,
    make: (_, id) => ({
      request: chat(`Stalled ${id} [[sim:tokens=endless chunk=2000]]`, { stream: true }),
      manner: { stall: true },
      endings: ['slow_client'],
    }),
  },
  {
    name: 'time limit',
    weight: 1,
    make: (_, id) => ({
      request: chat(`Too long ${id} [[sim:ttft=${time_limit_ms + 2000}]]`, { model: patient_model }),
      endings: ['time_limit'],
      check: isRefusal(524, 'timeout_error'),
    }),
  },
];

function badKey(draw: Draw): Request {
  const request = chat('Hello', streamed(draw));
  const { authorization: _, ...headers } = request.headers;
  const wrong = draw.one(['', 'Bearer', 'Bearer sk-unknown', 'Basic eDp5', 'Api-Key nobody']);
  return { ...request, headers: wrong === '' ? headers : { ...headers, authorization: wrong } };
}

function badBody(draw: Draw): Request {
  const request = chat('Hello');
  const other = (more: object) => chat('Hello', more);
  return draw.one<() => Request>([
    () => ({ ...request, body: '' }),
    () => ({ ...request, body: '{"model":' }),
    () => ({ ...request, body: '[1,2]' }),
    () => ({ ...request, body: Buffer.from([0x7b, 0xff, 0xfe]) }),
    () => ({ ...request, headers: { ...request.headers, 'content-type': 'text/plain' } }),
    () => ({ ...request, headers: { ...request.headers, 'content-encoding': 'gzip' } }),
    () => other({ model: 'nobody/nothing' }),
    () => other({ messages: [] }),
    () => other({ temperature: 'hot' }),
    () => other({ max_tokens: 0 }),
    () => other({ reasoning_effort: 'medium' }),
    () => other({ stream_options: { include_usage: true } }),
    () => other({ metadata: { key: 1 } }),
    () => ({ ...request, body: `{"messages":${'['.repeat(500)}${']'.repeat(500)}}` }),
  ])();
}
