import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { completion, finished, said, used } from '../support/hostile-setting.ts';
import {
  coveredFaults,
  coveredStalls,
  dialectsOf,
  endlessComments,
  type Fault,
  misconfiguredLog,
  rowsOf,
  steady,
} from '../support/matrix/faults.ts';
import { type Exchange, matrix, type Row } from '../support/matrix/matrix.ts';
import { mountNames } from '../support/matrix/mounts.ts';
import {
  broken,
  completed,
  failed,
  impatient,
  misconfigured,
  refused,
  silence,
  toldBroken,
  toldFailed,
} from '../support/matrix/parts.ts';
import {
  chunk,
  events,
  head,
  lastChunk,
  type Script,
  streamHead,
  whole,
} from '../support/scripted-upstream.ts';
import {
  halfSeen,
  middleOf,
  partsOf,
  textSeen,
  usageKinds,
  wholeReplyOf,
  wholeStreamOf,
} from '../support/settlement-answer.ts';

const brokeOff = 'The upstream provider closed the stream unexpectedly.';
const invalid = 'The upstream provider returned an invalid response.';
const messages: Readonly<Partial<Record<Fault['kind'], string>>> = {
  unreachable: 'The upstream provider could not be reached.',
  broken: brokeOff,
  status: 'The upstream provider returned an error.',
  invalid,
};
const final = usageKinds[1]!;
const gateways = ['sidecar', 'express'] as const;
const streams = { ways: ['streamed'] } as const;
const here = { mounts: ['sidecar'], dialects: ['chat.completions'] } as const;

/** What the client is told of a fault that no other provider covers. */
const told = ({ kind }: Fault): Pick<Row, 'told' | 'settled'> =>
  kind === 'misconfigured'
    ? {
        told: { status: 400, error: 'configuration_error', message: /^(?!.*(gpu-7|40\d))/ },
        settled: misconfigured,
      }
    : { told: { ...toldFailed, message: messages[kind] ?? /^(?!.*gpu-7)/ }, settled: failed };

/** The only provider's first event is the client's, even if it says only who speaks. */
const begins = ({ fault }: Fault) => fault.includes('after the role');
const alone = (fault: Fault): Omit<Row, 'when' | 'plays'> => {
  const { told: client, settled } = told(fault);
  const attempts = [{ provider: 'upstream', kind: fault.kind }];
  const dialects = dialectsOf(fault);
  if (begins(fault))
    return {
      told: { ...client, text: '', status: 200 },
      settled: { ...settled, status: 200, attempts },
      mounts: ['sidecar'],
      dialects,
    };
  return { told: client!, settled: { ...settled, attempts }, bill: 'nothing', mounts: ['sidecar'], dialects };
};

matrix('a fault of the only provider', rowsOf(coveredFaults, alone), { providers: [steady] });

matrix(
  'an upstream that stays silent',
  [
    ...rowsOf([...coveredStalls], fault => ({ ...alone(fault), mounts: gateways, connection: 'gateway' })),
    {
      when: 'it stops within a whole reply',
      plays: () => `${head(200, { 'content-type': 'application/json', 'content-length': 500 })}{"choices":[`,
      ways: ['whole'],
      mounts: gateways,
      told: toldFailed,
      settled: { ...failed, attempts: [{ kind: 'timeout' }] },
      bill: 'nothing',
      connection: 'gateway',
    },
    {
      when: 'it stops within the body of a 404',
      plays: () => `${head(404, { 'content-type': 'application/json', 'content-length': 500 })}{"error":`,
      mounts: gateways,
      told: { status: 400, error: 'configuration_error' },
      settled: misconfigured,
      bill: 'nothing',
      connection: 'gateway',
      log: misconfiguredLog,
    },
    {
      when: 'it stops within an event',
      plays: kind => Buffer.concat([middleOf(kind), chunk('data: {"cho')]),
      ...streams,
      told: { ...toldBroken, message: brokeOff },
      settled: broken,
      bill: 'half',
      connection: 'gateway',
    },
    {
      when: 'only [DONE] is missing',
      plays: kind => partsOf(kind, 'head', 'role', 'firstHalf', 'secondHalf', 'finish', 'usage'),
      ...streams,
      told: { finish: 'stop' },
      settled: completed,
      bill: 'all',
      connection: 'gateway',
    },
    {
      when: 'its pauses are shorter than idle_timeout_ms, and together longer',
      plays: () => dripping(events(said('.')), events(finished(), used(7, 3), '[DONE]')),
      ...streams,
      told: { finish: 'stop', text: '........' },
      settled: completed,
    },
  ],
  { ...impatient, providers: [{ ...steady, idle_timeout_ms: 1000 }] },
);

/** Says `part` eight times within two seconds, and then the rest. */
function dripping(part: string, rest: string): Script {
  return socket => {
    let said = 0;
    socket.write(streamHead());
    const timer = setInterval(() => {
      socket.write(chunk(said++ < 8 ? part : rest));
      if (said <= 8) return;
      socket.write(lastChunk);
      clearInterval(timer);
    }, 250);
  };
}

const beat = /: keep-alive\n\n|event: ping\n/;
/** A client that has the head and a heartbeat before its upstream says a byte. */
const afterBeat =
  (script: Script) =>
  async ({ client, play }: Exchange): Promise<void> => {
    await client.received(beat);
    expect(client.status).toBe(200);
    await play(script);
  };
/** The two first events of a stream say less than a heartbeat. */
const beats = (count: number, after = '') => new RegExp(`${after}(?:[^]*?(?:${beat.source})){${count}}`);

matrix(
  'a stream that is answered before its upstream says anything',
  [
    ...rowsOf(
      coveredFaults.filter(({ ways }) => ways.includes('streamed')),
      fault => {
        const { told: client, settled } = told(fault);
        return {
          ...{ plays: () => silence, client: afterBeat(fault.plays), ...streams },
          ...{ mounts: ['sidecar'], dialects: dialectsOf(fault) },
          settled: { ...settled, status: 200 },
          told: { ...client, ...{ status: 200, text: '', finish: undefined } },
          also: exchange => expect(exchange.client.headers).not.toHaveProperty('retry-after'),
        };
      },
    ),
    ...[
      { when: 'a stream follows', script: wholeStreamOf(final), mounts: mountNames },
      // A proxy behind a chain copies no status and no headers to a reply that has begun.
      { when: 'a whole reply follows', script: wholeReplyOf(final), mounts: gateways },
    ].map(
      ({ when, script, mounts }): Row => ({
        ...{ when, plays: () => silence, client: afterBeat(script), ...streams, mounts },
        told: { finish: 'stop', headers: { 'content-type': 'text/event-stream; charset=utf-8' } },
        settled: completed,
        bill: 'all',
      }),
    ),
    {
      when: 'a 400 follows',
      plays: () => silence,
      client: afterBeat(whole(400, { error: 'bad words' })),
      ...streams,
      mounts: gateways,
      told: { error: 'invalid_request_error', message: 'bad words', text: '', finish: undefined },
      settled: { ...refused, status: 200 },
      bill: 'nothing',
    },
    {
      when: 'it pauses before its stream and within it, through which the heartbeat goes on',
      plays: () => silence,
      client: async ({ client, play }) => {
        await client.received(beats(4));
        await play(middleOf(final));
        await client.received(beats(3, halfSeen.source));
        await play(partsOf(final, 'secondHalf', 'finish', 'usage', 'done', 'end'));
      },
      ...streams,
      told: { finish: 'stop' },
      settled: completed,
      bill: 'all',
    },
    {
      when: 'it sends comments of its own, which nobody sees',
      plays: () => socket => {
        socket.write(streamHead());
        const timer = setInterval(() => socket.write(chunk(': gpu-7 is working\n\n')), 20);
        socket.once('close', () => clearInterval(timer));
      },
      client: async ({ client, play }) => {
        await client.received(beats(4));
        await play(Buffer.concat([chunk(events(said('Hello'), finished(), used(7, 3), '[DONE]'))]));
      },
      ...streams,
      told: { finish: 'stop', text: 'Hello' },
      settled: completed,
      also: ({ client }) => expect(client.text).not.toContain('gpu-7'),
    },
  ],
  { server: { stream_commit_ms: 50, keepalive_ms: 100 }, providers: [steady] },
);

/** A client that has the first part of a stream before the upstream says the rest. */
const inParts = (pack: (text: string) => string | Buffer, headers = {}): Omit<Row, 'when'> => ({
  plays: () => Buffer.concat([Buffer.from(streamHead(headers)), chunk(pack(events(said('Hello'))))]),
  client: async ({ client, play }) => {
    await client.received(/Hello/);
    const rest = events(said(' there'), finished(), used(7, 3), '[DONE]');
    await play(Buffer.concat([chunk(pack(rest)), Buffer.from(lastChunk)]));
  },
  ...streams,
  told: { text: 'Hello there', finish: 'stop' },
  settled: completed,
});

matrix(
  'a slow stream without heartbeat',
  [
    { when: 'it is passed on part by part', ...inParts(text => text) },
    // Two members of one gzip file are one text.
    { when: 'it is compressed', ...inParts(gzipSync, { 'content-encoding': 'gzip' }) },
    {
      when: 'an error event follows a pause: the status waits for the first event, not for the head',
      plays: () => Buffer.concat([Buffer.from(streamHead()), chunk(': waiting\n\n')]),
      client: async ({ requests, play }) => {
        await play(chunk(''.padEnd(1, '\n')));
        // biome-ignore lint/plugin: no second request must come in this time.
        await new Promise(resolve => setTimeout(resolve, 200));
        expect(requests).toHaveLength(1);
        await play(chunk(events({ error: { message: 'x' } })));
      },
      ...streams,
      told: toldFailed,
      settled: failed,
      bill: 'nothing',
    },
    {
      when: 'the upstream waits, and nothing is written meanwhile',
      plays: middleOf,
      client: async ({ client, play }) => {
        await client.received(halfSeen);
        // A timer of no time would beat all the while.
        // biome-ignore lint/plugin: nothing must come in this time.
        await new Promise(resolve => setTimeout(resolve, 200));
        expect(client.text).not.toMatch(textSeen);
        await play(partsOf(final, 'secondHalf', 'finish', 'usage', 'done', 'end'));
      },
      ...streams,
      told: { finish: 'stop' },
      settled: completed,
      bill: 'all',
      also: ({ client }) => expect(client.text).not.toContain('keep-alive'),
    },
  ],
  { server: { keepalive_ms: 0 } },
);

const large = `data: {"x":"${'x'.repeat(90_000)}`;
const toldInvalid = { ...toldFailed, message: invalid };
const said_then =
  (...texts: readonly string[]): Script =>
  socket => {
    socket.write(streamHead());
    socket.write(chunk(events(said('Hello'))));
    // What arrives together with the fault is not promised to be seen.
    // biome-ignore lint/plugin: what comes with the fault is not promised to be seen.
    setTimeout(() => {
      for (const text of texts) socket.write(chunk(text));
    }, 100);
  };
const flood =
  (...parts: readonly string[]): Script =>
  socket => {
    const [first = '', again = first] = parts;
    socket.write(streamHead());
    socket.write(chunk(first));
    const timer = setInterval(() => socket.write(chunk(again)), 1);
    socket.once('close', () => clearInterval(timer));
  };
const bomb = gzipSync(JSON.stringify(completion('x'.repeat(20_000_000))));

matrix(
  'the size limits of replies',
  [
    {
      ...{ when: 'endless comments', plays: () => flood(': x\n\n'.repeat(2000)), ...streams, ...here },
      ...{ told: toldInvalid, settled: failed, bill: 'nothing', connection: 'gateway' },
    },
    {
      when: 'a line that does not end after some text',
      plays: () => said_then(...(large.match(/.{1,7000}/g) ?? [])),
      ...{ ...streams, ...here, settled: broken, connection: 'gateway' },
      told: { ...toldBroken, message: invalid, text: 'Hello' },
    },
    {
      when: 'events of more than a reply may have',
      plays: () => flood(events(said('x'.repeat(5000)))),
      ...streams,
      ...here,
      told: {
        ...toldBroken,
        message: invalid,
        text: expect.stringMatching(/^x{5000,100000}$/) as unknown as string,
      },
      settled: broken,
      connection: 'gateway',
    },
    ...[
      { when: 'a whole reply', script: whole(200, completion('x'.repeat(200_000))) },
      {
        when: 'a reply that grows as it is decompressed',
        script: whole(200, bomb, { 'content-encoding': 'gzip' }),
      },
    ].map(
      ({ when, script }): Row => ({
        ...{ when, plays: () => script, ...here, told: toldInvalid, settled: failed, bill: 'nothing' },
      }),
    ),
    {
      when: 'bytes without end after [DONE]',
      plays: () => flood(events(said('Hello'), finished(), used(7, 3), '[DONE]'), 'x'.repeat(100_000)),
      ...streams,
      ...here,
      told: { text: 'Hello', finish: 'stop' },
      settled: completed,
      connection: 'gateway',
    },
  ],
  { providers: [{ ...steady, max_event_bytes: 10_000, max_reply_bytes: 100_000 }] },
);

it('makes a bomb that is small while it is compressed', () => {
  expect(bomb.length).toBeLessThan(100_000);
});

matrix('an upstream that never comes to an end', rowsOf(endlessComments, alone), {
  providers: [{ ...steady, first_token_timeout_ms: 400 }],
});
