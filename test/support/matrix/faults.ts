import { delta, used } from '../hostile-setting.ts';
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
} from '../scripted-upstream.ts';
import type { Row, Way } from './matrix.ts';
import { silence } from './parts.ts';
import { type DialectName, dialectNames } from './told.ts';

/** A fault of an upstream before the first word of an answer. */
export interface Fault {
  readonly fault: string;
  /** The kind that it is recorded as. */
  readonly kind:
    | 'unreachable'
    | 'broken'
    | 'status'
    | 'rate_limited'
    | 'misconfigured'
    | 'invalid'
    | 'timeout';
  readonly plays: Script;
  readonly ways: readonly Way[];
}

type Faults = Readonly<Record<string, Script>>;

const role = events(delta({ role: 'assistant', content: '' }));
const error = { error: { message: 'gpu-7', type: 'x' } };
const html = { 'content-type': 'text/html' };
const jsonHead = head(200, { 'content-type': 'application/json', 'content-length': 500 });
const opened = [streamHead(), chunk(role)] as const;
const switching = 'HTTP/1.1 101 Switching Protocols\r\n';
const words = (status: number, headers = {}) => whole(status, error, headers);

/** Says the head of a stream, and comments again and again. */
const comments =
  (comment: string): Script =>
  socket => {
    socket.write(streamHead());
    const timer = setInterval(() => socket.write(chunk(comment)), 20);
    socket.once('close', () => clearInterval(timer));
  };
/** Says this and nothing more. */
const stall =
  (...parts: readonly (string | Buffer)[]): Script =>
  socket => {
    for (const part of parts) socket.write(part);
  };

const unreachable: Faults = {
  'a reset before the head': thenReset(),
  'a close before the head': thenClose(),
  'half a status line': thenReset('HTTP/1.1 20'),
  'half a head': thenClose('HTTP/1.1 200 OK\r\ncontent-ty'),
  'no HTTP': thenClose('SSH-2.0-OpenSSH_9.2\r\n\r\n'),
  'TLS in place of HTTP': thenClose(Buffer.from([0x15, 3, 1, 0, 2, 2, 70])),
  'another protocol': `${switching}connection: upgrade\r\nupgrade: websocket\r\n\r\n`,
  'endless headers': thenClose(head(200, { 'x-endless': 'x'.repeat(100_000) })),
};
const brokenStreams: Faults = {
  'a reset after the head': thenReset(streamHead()),
  'a close after the head': thenClose(streamHead()),
  'a reset after a comment': thenReset(streamHead(), chunk(': wait\n\n')),
  'a reset within the first event': thenReset(streamHead(), chunk('data: {"choi')),
  'a reset after the role': thenReset(...opened),
  'a reset after the role and usage': thenReset(...opened, chunk(events(used(7, 0)))),
  'a broken chunk': thenClose(streamHead(), 'xyz\r\n'),
  'an end after the role': streamed(role),
  'an empty stream': streamed(''),
  'comments and nothing else': streamed(': one\n\n: two\n\n'),
  'events without data': streamed('event: message\n\nid: 7\n\ndata:\n\ndata\n\ndata: \n\n'),
  'objects that say nothing': streamed(events({}, { choices: [] }, { choices: null }, '[DONE]')),
  'JSON without a data field': streamed('{"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'),
  '[DONE] and nothing else': streamed(events('[DONE]')),
};
const brokenReplies: Faults = {
  'a reset after the head of a reply': thenReset(jsonHead),
  'a close after the head of a reply': thenClose(jsonHead),
};
const errorReplies: Faults = {
  '500': words(500),
  '503 without words': whole(503, ''),
  '529': words(529),
  '402': words(402),
  '408': words(408),
  '409': words(409),
  '500 as a page': whole(500, '<html><h1>nginx at gpu-7</h1></html>', html),
  'a redirect': whole(302, 'moved to gpu-7', { ...html, location: 'http://gpu-7:8000/' }),
  'a teapot': whole(418, 'gpu-7 is a teapot', { 'content-type': 'text/plain' }),
  'an error object in a 200': whole(200, error),
  'an error text in a 200': whole(200, { error: 'gpu-7' }),
  'a rate limit in a 200': whole(200, { error: { code: 429, message: 'gpu-7' } }),
};
const errorEvents: Faults = {
  'an error event first': streamed(events(error)),
  'an error event after the role': streamed(role + events(error)),
  'a named error event': streamed('event: error\ndata: gpu-7\n\n'),
};
const limits: Faults = { '429': words(429), '429 with Retry-After': words(429, { 'retry-after': '7' }) };
const misconfigured: Faults = { '401': words(401), '403': words(403), '404': words(404) };
const invalidReplies: Faults = {
  'a page in a 200': whole(200, '<p>gpu-7', html),
  'a reply without choices': whole(200, { choices: [] }),
  'another protocol, unnamed': `${switching}\r\n`,
  'another protocol, and no HTTP': `${switching}upgrade: h2c\r\n\r\n\x00\x01\x02`,
  'another protocol, with a length': `${switching}content-length: 5\r\n\r\nhello`,
};
const stalls: Faults = {
  silence,
  'silence within the head': stall('HTTP/1.1 200 OK\r\ncontent-type: text/ev'),
};
const stalledStreams: Faults = {
  'silence after the head': stall(streamHead()),
  'silence after the role': stall(...opened),
};

const both = ['streamed', 'whole'] as const;
const faultsOf = (kind: Fault['kind'], ways: Fault['ways'], all: Faults): Fault[] =>
  Object.entries(all).map(([fault, plays]) => ({ fault, kind, plays, ways }));

/** Every fault that another provider covers, but those of addresses and those below. */
export const coveredFaults: readonly Fault[] = [
  ...faultsOf('unreachable', both, unreachable),
  ...faultsOf('broken', ['streamed'], brokenStreams),
  ...faultsOf('broken', ['whole'], brokenReplies),
  ...faultsOf('status', both, errorReplies),
  ...faultsOf('status', ['streamed'], errorEvents),
  ...faultsOf('rate_limited', both, limits),
  ...faultsOf('misconfigured', both, misconfigured),
  ...faultsOf('invalid', both, invalidReplies),
  ...faultsOf('invalid', ['streamed'], { 'garbage events': streamed('data: gpu-7\n\n') }),
  ...faultsOf('invalid', ['whole'], { garbage: whole(200, '{"choices":[{]}') }),
];

const firstOfKinds = new Set(
  Object.values(Object.groupBy(coveredFaults, ({ kind, ways }) => `${kind} ${ways}`)).map(all => all?.[0]),
);
/** All for the first fault of each kind: how it is told depends on the kind alone. */
export const dialectsOf = (fault: Fault): readonly DialectName[] =>
  firstOfKinds.has(fault) ? dialectNames : ['chat.completions'];

/** Those that show after a time. */
export const coveredStalls: readonly Fault[] = [
  ...faultsOf('timeout', both, stalls),
  ...faultsOf('timeout', ['streamed'], stalledStreams),
];

/** What only a limit of the first token ends. */
export const endlessComments: readonly Fault[] = faultsOf('timeout', ['streamed'], {
  'comments for ever': comments(': wait\n\n'),
});

/** A breaker that never opens: what fails here must not keep others away. */
export const steady = { breaker: { consecutive_failures: 0, failure_ratio: 1 } } as const;

/** Errors that the gateway logs of a provider that it cannot use. */
export const misconfiguredLog = /misconfigured|configuration error/;

/** Rows for faults, in which `more` says what follows from each. */
export const rowsOf = (
  faults: readonly Fault[],
  more: (fault: Fault) => Omit<Row, 'when' | 'plays'> & { readonly plays?: Row['plays'] },
): Row[] =>
  faults.map(fault => ({
    when: fault.fault,
    plays: () => fault.plays,
    ways: fault.ways,
    log: misconfiguredLog,
    ...more(fault),
  }));
