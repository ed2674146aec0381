import type { Dice } from '../../../../src/simulator/seed.ts';
import { isRefusal } from './checks.ts';
import {
  chat,
  type Kind,
  kind,
  limits,
  maybeStreaming,
  patient_model,
  plain,
  type Request,
  simulated,
  streaming,
} from './request.ts';

const gone = ['client_gone'] as const;
/** The client meant to leave first, and on a busy machine it may come too late. */
const maybeGone = ['client_gone', 'background_aborted', 'completed'] as const;

const refused = (name: string, weight: number, status: number, make: (dice: Dice) => Request): Kind =>
  kind(name, weight, ['refused'], dice => ({ check: isRefusal(status), ...make(dice) }));

/** Endless streams that the client does not read. */
export const stalledReader = kind('reads nothing', 0.3, ['slow_client'], (dice, id) => ({
  ...simulated(dice, id, 'tokens=endless chunk=2000', streaming),
  stall: true,
}));

/** Requests that must be refused, and clients that leave, send half, or do not read. */
export const misbehavingKinds: readonly Kind[] = [
  refused('bad key', 5, 401, badKey),
  refused('bad request', 8, 400, badBody),
  refused('unknown path', 2, 404, dice =>
    plain('GET', dice.pick(['/', '/v1', '/v1/embeddings', '/metrics'])),
  ),
  refused('wrong method', 2, 405, dice => plain(dice.pick(['GET', 'PUT', 'DELETE']), '/v1/chat/completions')),
  refused('body too large', 0.5, 413, () => chat('x'.repeat(limits.max_body_bytes))),
  kind('leaves before a stream', 5, maybeGone, (dice, id) => ({
    ...simulated(dice, id, 'ttft=500', streaming),
    leave_ms: dice.integer(0, 200),
  })),
  kind('leaves before a reply', 3, maybeGone, (dice, id) => ({
    ...simulated(dice, id, 'ttft={300-800}'),
    leave_ms: dice.integer(0, 200),
  })),
  kind('leaves in a stream', 8, gone, (dice, id) => ({
    ...simulated(dice, id, 'tokens=endless tps={0|100|500}', streaming),
    leave_events: dice.integer(1, 30),
  })),
  kind('leaves at [DONE]', 5, maybeGone, (dice, id) => ({
    ...simulated(dice, id, 'tokens={1-50}', streaming),
    leave_at_done: true,
  })),
  kind('leaves while sending', 3, gone, dice => ({
    ...chat('x'.repeat(20_000), maybeStreaming(dice, 0.5)),
    send_bytes: dice.integer(1_000, 19_000),
  })),
  kind('leaves within the headers', 1, [], dice => ({ ...chat('Hello'), send_bytes: dice.integer(1, 60) })),
  stalledReader,
  kind('time limit', 1, ['time_limit', 'background_aborted'], (dice, id) => ({
    ...simulated(dice, id, `ttft=${limits.non_stream_timeout_ms + 2000}`, { model: patient_model }),
    check: isRefusal(524, 'timeout_error'),
  })),
];

function badKey(dice: Dice): Request {
  const request = chat('Hello', maybeStreaming(dice, 0.5));
  const { authorization: _, ...headers } = request.headers;
  const authorization = dice.pick(['', 'Bearer', 'Bearer sk-unknown', 'Basic eDp5', 'Api-Key unknown']);
  return {
    ...request,
    headers: { ...headers, ...(authorization && { authorization }) },
    check: isRefusal(401, 'authentication_error'),
  };
}

function badBody(dice: Dice): Request {
  const request = chat('Hello');
  const withHeader = (name: string, value: string) => ({
    ...request,
    headers: { ...request.headers, [name]: value },
  });
  const withFields = (fields: object) => chat('Hello', fields);
  return dice.pick([
    ...['', '{"model":', '[1,2]', Buffer.from([0x7b, 0xff, 0xfe])].map(body => ({ ...request, body })),
    withHeader('content-type', 'text/plain'),
    withHeader('content-encoding', 'gzip'),
    withFields({ model: 'no-vendor/no-model' }),
    withFields({ messages: [] }),
    withFields({ temperature: 'hot' }),
    withFields({ max_tokens: 0 }),
    withFields({ reasoning_effort: 'medium' }),
    withFields({ stream_options: { include_usage: true } }),
    withFields({ metadata: { key: 1 } }),
    { ...request, body: `{"messages":${'['.repeat(500)}${']'.repeat(500)}}` },
  ]);
}
