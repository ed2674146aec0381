import { delta, used } from './hostile-setting.ts';
import {
  chunk,
  events,
  head,
  type Script,
  streamed,
  streamHead,
  thenClose,
  thenReset,
  whole,
} from './scripted-upstream.ts';

/** A fault of an upstream before the first word of an answer. */
export interface Fault {
  readonly fault: string;
  /** The kind that it is recorded as. */
  readonly kind: string;
  readonly plays: Script;
  /** Fields of the provider that show it soon enough. */
  readonly provider?: Readonly<Record<string, unknown>>;
  /** Only streams, or only whole replies, can have it. */
  readonly only?: 'streams' | 'whole replies';
}

const role = events(delta({ role: 'assistant', content: '' }));
const error = { error: { message: 'no', type: 'x' } };
const impatient = { first_token_timeout_ms: 400, total_timeout_ms: 800 };

/** Says nothing more. */
const stall: Script = () => {};

/** Every fault that another provider covers; `hang in connect` and `refused` need addresses of their own. */
export const coveredFaults: readonly Fault[] = [
  { fault: 'a reset before the head', kind: 'unreachable', plays: thenReset() },
  { fault: 'a close before the head', kind: 'unreachable', plays: thenClose() },
  { fault: 'half a head', kind: 'unreachable', plays: thenClose(head(200).slice(0, 20)) },
  { fault: 'no HTTP', kind: 'unreachable', plays: thenClose('SSH-2.0-OpenSSH_9.2\r\n\r\n') },
  { fault: 'a reset after the head', kind: 'broken', plays: thenReset(streamHead()), only: 'streams' },
  {
    fault: 'a reset after a comment',
    kind: 'broken',
    plays: thenReset(streamHead(), chunk(': wait\n\n')),
    only: 'streams',
  },
  {
    fault: 'a reset after the role',
    kind: 'broken',
    plays: thenReset(streamHead(), chunk(role)),
    only: 'streams',
  },
  {
    fault: 'a reset after the role and usage',
    kind: 'broken',
    plays: thenReset(streamHead(), chunk(role), chunk(events(used(7, 0)))),
    only: 'streams',
  },
  { fault: 'an end after the role', kind: 'broken', plays: streamed(role), only: 'streams' },
  { fault: 'an empty stream', kind: 'broken', plays: streamed(''), only: 'streams' },
  { fault: '[DONE] and nothing else', kind: 'broken', plays: streamed(events('[DONE]')), only: 'streams' },
  {
    fault: 'a reset after the head of a reply',
    kind: 'broken',
    plays: thenReset(head(200, { 'content-length': 500 })),
    only: 'whole replies',
  },
  { fault: '500', kind: 'status', plays: whole(500, error) },
  { fault: '503 without words', kind: 'status', plays: whole(503, '') },
  { fault: '503 with Retry-After', kind: 'status', plays: whole(503, error, { 'retry-after': '7' }) },
  { fault: '429 with Retry-After', kind: 'rate_limited', plays: whole(429, error, { 'retry-after': '7' }) },
  { fault: '429', kind: 'rate_limited', plays: whole(429, error) },
  { fault: '529', kind: 'status', plays: whole(529, error) },
  { fault: '402', kind: 'status', plays: whole(402, error) },
  { fault: '408', kind: 'status', plays: whole(408, error) },
  { fault: '401', kind: 'misconfigured', plays: whole(401, error) },
  { fault: '403', kind: 'misconfigured', plays: whole(403, error) },
  { fault: '404', kind: 'misconfigured', plays: whole(404, error) },
  { fault: 'an error event first', kind: 'status', plays: streamed(events(error)), only: 'streams' },
  {
    fault: 'an error event after the role',
    kind: 'status',
    plays: streamed(role + events(error)),
    only: 'streams',
  },
  {
    fault: 'a named error event',
    kind: 'status',
    plays: streamed('event: error\ndata: overloaded\n\n'),
    only: 'streams',
  },
  { fault: 'an error object in a 200', kind: 'status', plays: whole(200, error) },
  {
    fault: 'a rate limit in a 200',
    kind: 'status',
    plays: whole(200, { error: { code: 429, message: 'no' } }),
  },
  {
    fault: 'a page in a 200',
    kind: 'invalid',
    plays: whole(200, '<p>gpu-7', { 'content-type': 'text/html' }),
  },
  { fault: 'garbage events', kind: 'invalid', plays: streamed('data: gpu-7\n\n'), only: 'streams' },
  { fault: 'garbage', kind: 'invalid', plays: whole(200, '{"choices":[{]}'), only: 'whole replies' },
  { fault: 'a reply without choices', kind: 'invalid', plays: whole(200, { choices: [] }) },
  { fault: 'silence', kind: 'timeout', plays: stall, provider: impatient },
  {
    fault: 'silence after the head',
    kind: 'timeout',
    plays: streamHead(),
    provider: impatient,
    only: 'streams',
  },
  {
    fault: 'silence after the role',
    kind: 'timeout',
    plays: thenStall(streamHead(), chunk(role)),
    provider: impatient,
    only: 'streams',
  },
  {
    fault: 'comments for ever',
    kind: 'timeout',
    plays: socket => {
      socket.write(streamHead());
      const timer = setInterval(() => socket.write(chunk(': wait\n\n')), 20);
      socket.once('close', () => clearInterval(timer));
    },
    provider: impatient,
    only: 'streams',
  },
];

function thenStall(...parts: (string | Buffer)[]): Script {
  return socket => {
    for (const part of parts) socket.write(part);
  };
}
