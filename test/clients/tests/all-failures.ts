import { expect } from 'expect';
import { clientFacts } from '../facts.ts';
import type { Wish } from '../libraries/client.ts';
import { gatewayWith, simulator } from '../place.ts';
import { names, type Tried, tried, triedOf } from '../tried.ts';

type Refusal = { question?: string; key?: string; wish?: Wish; status: number; says: RegExp };
const refusals: Readonly<Record<string, Refusal>> = {
  'an unknown model': {
    wish: { model: 'aion-labs/aion-9' },
    status: 400,
    says: /model: unknown model 'aion-labs\/aion-9'/,
  },
  'an unknown key': { key: 'sk-unknown', status: 401, says: /Invalid API key\./ },
  'a failure of the upstream': {
    question: 'Hello [[sim:status=503]]',
    status: 502,
    says: /The upstream provider returned an error\./,
  },
  'an upstream that hangs up': {
    question: 'Hello [[sim:reset]]',
    status: 502,
    says: /The upstream provider could not be reached\./,
  },
};

tried('refusals', refusals, async ({ connect }, { question = 'Hello', wish, status, says, ...other }) => {
  for (const way of ['reply', 'stream'] as const) {
    const error = await thrownBy(connect(other)[way](question, wish));
    expect(error.message).toMatch(says);
    expect(error.status ?? error.statusCode).toBe(status);
  }
});

const breaks = {
  'an error event': ['error=4', /The upstream provider returned an error\./],
  'a reset': ['reset=4', /The upstream provider closed the stream unexpectedly\./],
  'an end without finish_reason': ['truncate=4', /The upstream provider closed the stream unexpectedly\./],
  'an event that is not JSON': ['garbage=4', /The upstream provider returned an invalid response\./],
  // Here the answer has begun, so that a client could take it for all there is.
  'a reset in the answer': ['reset=40 reasoning_tokens=4 tokens=80', /closed the stream unexpectedly\./],
} as const;

tried('broken streams', breaks, async ({ client }, [fault, says]) => {
  expect((await thrownBy(client.stream(`Hello [[sim:${fault}]]`))).message).toMatch(says);
});

const slow = { stream_commit_ms: 50, keepalive_ms: 50 };
const beginnings = {
  'reads a stream that begins with comments': async ({ client }: Tried) => {
    const { text, final } = await client.stream('Hello [[sim:ttft=300 say=Good day.]]');
    expect({ text, final }).toEqual({ text: 'Good day.', final: 'Good day.' });
  },
  'raises an error that is the first event': async ({ client }: Tried) => {
    await expect(client.stream('Hello [[sim:ttft=300 reset=0]]')).rejects.toThrow(/The upstream provider/);
  },
};

const wires = {
  openAiChat: ['/chat/completions', { messages: [{ role: 'user', content: 'Hello [[sim:ttft=400]]' }] }],
  openAiResponses: ['/responses', { input: 'Hello [[sim:ttft=400]]' }],
} as const;
for (const library of ['openAiChat', 'openAiResponses'] as const)
  triedOf('heartbeat', library, {
    'is comments before the first event': async () => {
      const [path, asked] = wires[library];
      const { stream } = await gatewayWith({ server: slow });
      const { text } = await stream({ model: 'aion-labs/aion-3.5', ...asked }, { path: `/v1${path}` });
      expect(text).toMatch(/^(: keep-alive\n\n){3,}/);
    },
  });
tried('heartbeat', beginnings, (one, test) => test(one), { at_a_time: 8, server: slow });

const repeated = { at_a_time: names.length, server: { non_stream_timeout_ms: 700 } };

/** How often a request that fails has reached the upstream, when it may be repeated once. */
async function requestsOf({ name, connect }: Tried, way: 'reply' | 'stream', directive: string) {
  const question = `Hello from ${name}. ${directive}`;
  const error = await thrownBy(connect({ retries: 1 })[way](question));
  expect(error.message).not.toBe('');
  return simulator.requests.filter(({ text }) => text.includes(question)).length;
}

tried(
  'retries after 502',
  { 'are made, when nothing has been generated': '[[sim:status=503]]' },
  async (one, directive) => expect(await requestsOf(one, 'stream', directive)).toBe(2),
  repeated,
);

tried(
  'retries after 524',
  { 'are made by some clients, while generation continues and is billed': '[[sim:ttft=3000]]' },
  async (one, directive) =>
    expect(await requestsOf(one, 'reply', directive)).toBe(one.facts.repeats_after_524 ? 2 : 1),
  { ...repeated, who: names.filter(name => !('always_streams' in clientFacts[name])) },
);

type Thrown = Error & { readonly status?: number; readonly statusCode?: number };

async function thrownBy(running: Promise<unknown>): Promise<Thrown> {
  const error = await running.then(
    () => new Error('nothing was thrown'),
    (thrown: unknown) => thrown,
  );
  if (error instanceof Error) return error;
  throw error;
}
