import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import { completion, delta, finished, said, used } from '../support/hostile-setting.ts';
import { steady } from '../support/matrix/faults.ts';
import { type Exchange, matrix, type Row } from '../support/matrix/matrix.ts';
import {
  broken,
  completed,
  failed,
  misconfigured,
  refused,
  toldBroken,
  toldFailed,
  toldRefused,
} from '../support/matrix/parts.ts';
import {
  chunk,
  events,
  head,
  lastChunk,
  pieces,
  type Script,
  streamed,
  streamHead,
  thenClose,
  whole,
} from '../support/scripted-upstream.ts';
import { until } from '../support/until.ts';

/** What matters here are bytes of the upstream, which are the same to every dialect and mount. */
const here = { mounts: ['sidecar'], dialects: ['chat.completions'] } as const;
const streams = { ways: ['streamed'], ...here } as const;
const replies = { ways: ['whole'], ...here } as const;
const counted = { prompt: 7, completion: 3 };
const invalid = 'The upstream provider returned an invalid response.';
const brokeOff = 'The upstream provider closed the stream unexpectedly.';
const ok = { settled: completed } as const;
const plain = (text: string) => (): Script => streamed(text);
const done = events(finished(), used(7, 3), '[DONE]');

/** A row for each entry, with what `rowOf` makes of its value. */
const rows = <T>(all: Readonly<Record<string, T>>, rowOf: (value: T) => Omit<Row, 'when'>): Row[] =>
  Object.entries(all).map(([when, value]) => ({ when, ...rowOf(value) }));

const content = 'Grüße, 世界 👋';
const greeting = events(said('Grüße'), said(', 世界 👋')) + done;
const byteByByte = (bytes: Buffer, headers = {}): Script =>
  pieces([streamHead(headers), ...Array.from(bytes, byte => chunk(Buffer.from([byte]))), lastChunk], 0);

const read = { ...streams, ...ok, told: { text: content, finish: 'stop', usage: counted } } as const;
const types = ['Text/Event-Stream;charset=UTF-8', 'text/plain', 'application/octet-stream'];
const chunked = Buffer.from(head(200, { 'transfer-encoding': 'chunked' }));

matrix('a stream as it is written', [
  {
    when: 'CRLF and a byte order mark, byte by byte',
    plays: () => byteByByte(Buffer.from(`\uFEFF${greeting.replaceAll('\n', '\r\n')}`)),
    ...read,
  },
  {
    when: 'gzip, byte by byte',
    plays: () => byteByByte(gzipSync(greeting), { 'content-encoding': 'gzip' }),
    ...read,
    also: ({ requests }) => expect(requests[0]!.headers['accept-encoding']).toBe('identity'),
  },
  {
    when: 'it ends with its connection',
    plays: () => thenClose(head(200, { 'content-type': 'text/event-stream' }), greeting),
    ...read,
  },
  ...types.map(type => ({
    ...{ when: `its type is ${type}`, plays: () => streamed(greeting, { 'content-type': type }), ...read },
  })),
  {
    when: 'it has no type',
    plays: () => Buffer.concat([chunked, chunk(greeting), Buffer.from(lastChunk)]),
    ...read,
  },
]);

const both = (one: object, other: object) => ({
  choices: [
    { index: 0, ...one },
    { index: 1, ...other },
  ],
});
const polluting =
  '{"choices":[{"index":0,"delta":{"content":"Hello","__proto__":{"polluted":1}},"__proto__":{"x":1}}]}';
const mention = 'event: error\ndata: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n';
/** Chunks that together say Hello, before what the upstream counts. */
const shapes: Readonly<Record<string, readonly (object | string)[]>> = {
  'without deltas': [said('Hello'), { choices: [{ index: 0, finish_reason: 'stop' }] }],
  'without index': [
    { choices: [{ delta: { content: 'Hello' } }] },
    { choices: [{ delta: {}, finish_reason: 'stop' }] },
  ],
  'with empty text after the finish': [said('Hello'), finished(), delta({ role: 'assistant', content: '' })],
  'with text after the finish': [said('Hel'), finished(), said('lo')],
  'with objects that are no chunks': [
    ...[{}, { object: 'ping' }, said('Hello'), { choices: [] }, { choices: ['x', null] }, finished()],
  ],
  'with unknown keys': [
    delta({ content: 'Hello', audio: null, function_call: null }, null, { nvext: { worker: 'gpu-7' } }),
    finished(),
  ],
  'with an error that is null': [delta({ content: 'Hello' }, null, { error: null }), finished()],
  'with keys of prototypes': [polluting, finished()],
  'with tool calls that are none': [
    ...[[null], ['x', 17], 'x', { index: 0 }, []].map(tool_calls => delta({ content: '', tool_calls })),
    ...[said('Hello'), finished()],
  ],
  'with usage before the finish': [said('Hello'), used(7, 3), finished()],
  'with usage twice': [said('Hello'), used(7, 1), finished()],
};
const ends: Readonly<Record<string, string>> = {
  'without its last line end': events(finished(), used(7, 3)).trimEnd(),
  'with spaces around its [DONE]': `${events(finished(), used(7, 3))}data:  [DONE] \n`,
};
const noGpu = ({ client }: Exchange) => expect(client.text).not.toContain('gpu-7');
const twoChoices = [
  both({ delta: { content: 'A' } }, { delta: { content: 'B' } }),
  both({ delta: {}, finish_reason: 'stop' }, { delta: { content: 'b' } }),
  delta({}, 'length', {}, 1),
];

matrix('what a stream says', [
  ...rows(shapes, parts => ({
    ...{ ...streams, ...ok, plays: plain(events(...parts, used(7, 3), '[DONE]')), also: noGpu },
    told: { text: 'Hello', finish: 'stop', usage: counted },
  })),
  ...rows(ends, end => ({
    ...{ ...streams, ...ok, plays: plain(events(said('Hello')) + end) },
    told: { text: 'Hello', finish: 'stop', usage: counted },
  })),
  {
    when: 'only its finish',
    ...{ ...streams, ...ok, plays: plain(done), told: { text: '', finish: 'stop' } },
  },
  {
    when: 'words that only mention an error and the end',
    ...{ ...streams, ...ok, plays: plain(events(said(mention)) + done), told: { text: mention } },
  },
  ...[[0xff], [0xf0, 0x9f, 0x91]].map((wrong): Row => {
    const [before = '', after = ''] = events(said('a|b')).split('|');
    const bytes = Buffer.concat([Buffer.from(before), Buffer.from(wrong), Buffer.from(after + done)]);
    const text = expect.stringMatching(/^a\uFFFD+b$/) as unknown as string;
    return {
      when: `bytes that are no UTF-8: ${wrong}`,
      plays: () => streamed(bytes),
      ...streams,
      ...ok,
      told: { text },
    };
  }),
  {
    when: 'half a character, escaped',
    plays: plain(
      events(String.raw`{"choices":[{"index":0,"delta":{"content":"\ud83d"}}]}`, said('x')) + done,
    ),
    ...{
      ...streams,
      ...ok,
      told: { finish: 'stop', text: expect.stringMatching(/^.x$/u) as unknown as string },
    },
  },
  {
    when: 'two choices, in the same chunks and in their own',
    plays: plain(events(...twoChoices, used(7, 3), '[DONE]')),
    more: { n: 2 },
    ...{ ...streams, ...ok, told: { text: 'A|Bb', finish: 'stop|length', usage: counted } },
  },
  {
    when: 'two choices of which one is open at the end',
    plays: plain(events(twoChoices[0]!, twoChoices[1]!)),
    more: { n: 2 },
    ...{ ...streams, settled: broken, told: { ...toldBroken, message: brokeOff, text: 'A|Bb' } },
  },
]);

const running = { stream_options: { continuous_usage_stats: true } };
const exact = { prompt_tokens: 7 };
const falling = [5, 3, 1, 6].map(completion_tokens =>
  delta({ content: 'a' }, null, { usage: { ...exact, completion_tokens } }),
);
const many = said('Some words. '.repeat(20));
const countsIn = ({ client }: Exchange) =>
  [...client.text.matchAll(/"completion_tokens":(\d+)/g)].map(([, count]) => Number(count));

matrix('what an upstream counts', [
  {
    when: 'a running total that never falls before the end',
    plays: plain(events(many, ...falling, finished(), '[DONE]')),
    more: running,
    ...{ ...streams, ...ok, told: { finish: 'stop' } },
    also: exchange => {
      const counts = countsIn(exchange).slice(0, -1);
      expect(counts[0]).toBe(0);
      expect(counts).toEqual(counts.toSorted((a, b) => a - b));
      expect(exchange.requests[0]!.body).toMatchObject({ stream_options: { include_usage: true } });
    },
  },
  {
    when: 'no more than max_tokens is estimated',
    plays: plain(events(many, finished('length'), '[DONE]')),
    more: { ...running, max_tokens: 10 },
    ...{ ...streams, ...ok, told: { finish: 'length' } },
    also: exchange => expect(Math.max(...countsIn(exchange))).toBeLessThanOrEqual(10),
  },
  {
    when: 'usage that its client does not want is asked for all the same',
    plays: plain(events(said('Hello')) + done),
    more: { stream_options: { include_usage: false, continuous_usage_stats: false } },
    ...{ ...streams, ...ok, told: { usage: counted } },
    also: exchange => {
      const stream_options = { include_usage: true, continuous_usage_stats: true };
      expect(exchange.requests[0]!.body).toMatchObject({ stream_options });
      expect(countsIn(exchange)).toEqual([3]);
    },
  },
]);

/** How servers say in a stream that they failed. */
const gpu = { error: { message: 'gpu-7 is on fire', type: 'x', code: 500 } };
const errorForms: Readonly<Record<string, string>> = {
  'an error object': events(gpu),
  'an event that is named after its data': 'data: {"choices":[]}\nevent: error\n\n',
  'a finish of network_error': events(delta({}, 'network_error')),
};
const garbage: Readonly<Record<string, string>> = {
  words: 'data: gpu-7 says hello\n\n',
  'two objects in two lines': 'data: {"choices":[]}\ndata: {"choices":[]}\n\n',
};
const failures = { ...errorForms, ...garbage };
const wordsOf = (text: string) => (Object.values(garbage).includes(text) ? invalid : /^(?!.*gpu-7)/);
const on = (text: string) => Buffer.concat([Buffer.from(streamHead()), chunk(text)]);

matrix(
  'an error in a stream',
  [
    ...rows(failures, text => ({
      ...{ ...streams, plays: plain(text), settled: failed, bill: 'nothing' },
      told: { ...toldFailed, message: wordsOf(text) },
    })).map(row => ({ ...row, when: `${row.when} comes first` })),
    ...rows(failures, text => ({
      ...{ ...streams, settled: broken, connection: 'gateway', also: noGpu },
      plays: () => on(events(said('Hello'), said(' there')) + text + events(said(' again')) + done),
      told: { ...toldBroken, message: wordsOf(text), text: 'Hello there' },
    })).map(row => ({
      ...row,
      when: `${row.when} comes after some text, and nothing after it is passed on`,
    })),
    ...rows(failures, text => ({
      ...{ ...streams, ...ok, dialects: ['chat.completions', 'responses', 'messages'], also: noGpu },
      plays: plain(events(said('Hello'), finished(), used(7, 3)) + text),
      told: { text: 'Hello', finish: 'stop', usage: counted },
    })).map(row => ({ ...row, when: `${row.when} comes after the answer, which is whole` })),
    {
      when: 'it comes after half a tag, which is not lost',
      plays: plain(events(said('<think>Greet'), said('</thi'), gpu)),
      ...{ ...streams, settled: broken, told: { ...toldBroken, text: '', reasoning: 'Greet</thi' } },
    },
    {
      when: 'it comes after chunks with usage, and has none',
      plays: plain(events(said('Hello'), gpu)),
      more: { stream_options: { continuous_usage_stats: true } },
      ...{ ...streams, settled: broken, told: { ...toldBroken, text: 'Hello' } },
      also: ({ client }) => expect(client.text.match(/"usage":/g)).toHaveLength(2),
    },
    ...(['repetition', 'sk-live-0123456789abcdef', 'x'.repeat(5000)] as const).flatMap((reason): Row[] => {
      const reply = completion('Hello');
      const told = { text: 'Hello', finish: 'stop' };
      const also = ({ client }: Exchange) => expect(client.text).not.toContain(reason);
      const when = `it ends with the reason ${reason.slice(0, 20)}, which is no failure`;
      const choices = [{ ...reply.choices[0], finish_reason: reason }];
      return [
        {
          ...{ when, ...streams, ...ok, told, also },
          plays: plain(events(said('Hello'), finished(reason), '[DONE]')),
        },
        { ...{ when, ...replies, ...ok, told, also }, plays: () => whole(200, { ...reply, choices }) },
      ];
    }),
    {
      when: 'its odd ends are counted without their words',
      plays: plain(events(said('Hello')) + done),
      ...{ ...streams, ...ok },
      also: async ({ mount: { registry } }) => {
        const valuesOf = async (name: string) => (await registry.getSingleMetric(name)!.get()).values;
        const late = 3 * Object.keys(failures).length;
        // The last rows may be on their way yet.
        await until(async () => (await valuesOf('sluice_late_upstream_errors_total'))[0]?.value === late);
        const labels = { sluice_provider: 'upstream', finish_reason: 'other' };
        expect(await valuesOf('sluice_unknown_finish_reasons_total')).toMatchObject([{ labels, value: 6 }]);
      },
    },
  ],
  { providers: [steady] },
);

const hello = completion('Hello.');
const ended = (fields: object) => ({ ...hello, choices: [{ ...hello.choices[0], ...fields }] });
const notReplies: Readonly<Record<string, string>> = {
  'a choice without finish_reason': JSON.stringify(ended({ finish_reason: null })),
  'JSON behind two byte order marks': `\uFEFF\uFEFF${JSON.stringify(hello)}`,
};
const encoded = (encoding: string, body: Buffer | object) =>
  whole(200, body, { 'content-encoding': encoding });
const packed = gzipSync(JSON.stringify(hello));
const notDecoded: Readonly<Record<string, Script>> = {
  'what is no gzip': encoded('gzip', hello),
  'an unknown encoding': encoded('gzip, rot13', hello),
  'a quarter of gzip': encoded('gzip', packed.subarray(0, packed.length / 4)),
  'an event stream that is no gzip': streamed(greeting, { 'content-encoding': 'gzip' }),
  'status 204': head(204),
  'a finish of abort': whole(200, ended({ finish_reason: 'abort' })),
};
const withHead = { server: 'uvicorn', 'x-served-by': 'gpu-7', 'set-cookie': 'a=b', via: '1.1 gpu-7' };
const inside = { prompt_logprobs: null, kv_transfer_params: { host: 'gpu-7' }, provider: 'gpu-7' };
const readable: Readonly<Record<string, Script>> = {
  JSON: whole(200, completion('Hello.', { annotations: ['gpu-7'] }, inside), withHead),
  'JSON of a type in capitals': whole(200, hello, { 'content-type': 'Application/JSON; charset=utf-8' }),
  'JSON behind a byte order mark': whole(200, `\uFEFF${JSON.stringify(hello)}`),
  gzip: encoded('gzip', packed),
  'JSON that ends with its connection': thenClose(
    head(200, { 'content-type': 'application/json' }),
    JSON.stringify(hello),
  ),
  'JSON behind two interim replies': `HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n\r\n${whole(200, hello)}`,
};
const failing = { ...here, settled: failed, bill: 'nothing' } as const;

matrix(
  'a whole reply',
  [
    ...rows(notReplies, body => ({
      ...failing,
      plays: () => whole(200, body),
      told: { ...toldFailed, message: invalid },
    })),
    ...rows(notDecoded, script => ({ ...failing, plays: () => script, told: toldFailed })),
    ...rows(readable, script => ({
      ...{ ...here, ...ok, plays: () => script },
      told: { text: 'Hello.', finish: 'stop', usage: counted },
      also: ({ client }) => {
        noGpu({ client } as Exchange);
        for (const name of ['server', 'x-served-by', 'set-cookie', 'via'])
          expect(client.headers).not.toHaveProperty(name);
      },
    })),
    {
      when: 'an event stream for a whole reply',
      ...{ ...failing, ...replies, plays: plain(greeting), told: { ...toldFailed, message: invalid } },
    },
  ],
  { providers: [steady] },
);

/** Messages with the same reasoning and answer. */
const reasonings: Readonly<Record<string, object>> = {
  details: {
    reasoning_details: [
      { type: 'reasoning.summary', summary: 'Gre' },
      { type: 'reasoning.encrypted', data: 'c2VjcmV0' },
      { type: 'reasoning.text', text: 'et.', signature: 'c2ln' },
    ],
    content: 'Hi.',
  },
  tags: { content: '<think>Greet.</think>Hi.' },
};
const others = /reasoning_content|reasoning_details|thinking|c2VjcmV0|c2ln/;
const call = { id: 'call_a', type: 'function', function: { name: 'roll', arguments: '{"d":20}' } };

matrix('the reasoning and the calls of a reply', [
  ...rows(reasonings, message => ({
    ...{ ...here, ...ok, told: { text: 'Hi.', reasoning: 'Greet.' } },
    plays: (_, way) =>
      way === 'streamed' ? streamed(events(delta(message)) + done) : whole(200, completion(null, message)),
    also: ({ client }) => expect(client.text).not.toMatch(others),
  })),
  ...rows(reasonings, message => ({
    ...{ ...here, ...ok, told: { text: '<think>Greet.</think>Hi.', reasoning: '' } },
    more: { reasoning_split: false },
    plays: (_, way) =>
      way === 'streamed' ? streamed(events(delta(message)) + done) : whole(200, completion(null, message)),
  })).map(row => ({ ...row, when: `${row.when}, for a client that wants tags` })),
  {
    when: 'calls of a whole reply, and text with a tag before them',
    plays: () =>
      whole(200, completion('<think>Dice.</think>Rolling.', { tool_calls: [call, { ...call, id: 'b' }] })),
    ...{ ...here, ...ok, told: { text: 'Rolling.', reasoning: 'Dice.', finish: 'tool_calls' } },
    also: ({ client, way }) => {
      const ids =
        way === 'streamed' ? '"index":0,"id":"call_a"[^]*"index":1,"id":"b"' : '"id":"call_a"[^]*"id":"b"';
      expect(client.text).toMatch(new RegExp(ids));
    },
  },
]);

const words = "temperature: 9 is above this server's 2";
const refusals: Readonly<Record<string, [body: object | string, message: string | RegExp]>> = {
  'a byte order mark': [`\uFEFF${JSON.stringify({ error: { message: words } })}`, words],
  'an echo of the prompt': [
    { detail: [{ input: 'prompt '.repeat(50_000), loc: ['body', 'messages'], msg: 'Long.' }] },
    'messages: Long.',
  ],
  'a body that is too large to read': [
    { detail: [{ input: 'prompt '.repeat(300_000), msg: 'Long.' }] },
    /provider refused/,
  ],
  'the key and a header of the configuration': [
    { error: { message: 'You sent Unmistakable.Key for very-internal-team and too many words' } },
    'You sent [secret] for [secret] and too many words',
  ],
};
const refusedSo = { ...here, settled: refused, bill: 'nothing' } as const;
const internal = { api_key: 'Unmistakable.Key', headers: { 'x-team': 'very-internal-team' } };

matrix(
  'an error status',
  [
    ...rows(refusals, ([body, message]) => ({
      ...refusedSo,
      plays: () =>
        whole(400, body, {
          'retry-after': '5',
          ...(typeof body === 'string' && { 'content-type': 'text/plain' }),
        }),
      told: {
        ...toldRefused,
        message: message instanceof RegExp ? message : new RegExp(`^${escaped(message)}$`),
      },
      also: ({ client, requests }) => {
        expect(client.headers).not.toHaveProperty('retry-after');
        expect(requests[0]!.headers).toMatchObject({
          authorization: 'Bearer Unmistakable.Key',
          'x-team': 'very-internal-team',
        });
      },
    })),
    {
      when: 'a 400 of an unknown encoding',
      ...{ ...refusedSo, plays: () => whole(400, 'xxxx', { 'content-encoding': 'zstd' }), told: toldRefused },
    },
    ...rows<Script>(
      {
        'a 404 whose body breaks off': thenClose(
          head(404, { 'transfer-encoding': 'chunked' }),
          chunk('{"error":'),
        ),
        'a 404 whose body comes too slowly': socket => {
          socket.write(head(404, { 'content-type': 'application/json', 'content-length': 5000 }));
          const drip = setInterval(() => socket.write(' '), 100);
          socket.once('close', () => clearInterval(drip));
        },
      },
      script => ({
        ...{
          ...here,
          plays: () => script,
          settled: misconfigured,
          bill: 'nothing',
          log: /configuration error/,
        },
        told: { status: 400, error: 'configuration_error' },
      }),
    ),
  ],
  { providers: [{ ...steady, ...internal }] },
);

matrix(
  'an error status that is passed on',
  [
    {
      when: 'a 429',
      plays: () => whole(429, { error: { message: words } }, { 'retry-after': '3' }),
      told: {
        status: 429,
        error: 'rate_limit_error',
        message: /^(?!.*temperature)/,
        headers: { 'retry-after': '3' },
      },
      settled: { end_reason: 'upstream_failed', status: 429 },
      bill: 'nothing',
      mounts: ['sidecar'],
    },
  ],
  { providers: [{ ...steady, pass_upstream_429: true }] },
);

matrix('many clients at a time', [
  {
    when: 'each gets the answer to its own request',
    plays:
      (_, way) =>
      (socket, { text }) => {
        const name = /\[(\w+-\d+)\]/.exec(text)![1]!;
        socket.write(
          way === 'streamed'
            ? streamed(events(said(`answer to ${name}`)) + done)
            : whole(200, completion(`answer to ${name}`)),
        );
      },
    told: { finish: 'stop' },
    ...ok,
    also: ({ client, id }) => expect(client.text.match(/answer to [\w-]+/g)).toContain(`answer to ${id}`),
  },
]);

function escaped(text: string): string {
  return text.replace(/[.[\]?]/g, '\\$&');
}
