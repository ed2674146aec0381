import { resolve } from 'node:path';
import { expect } from '@jest/globals';
import type { Outcome } from '../../src/plugin.ts';
import { type LedgerEntry, ledgerOf, newBook } from '../fixtures/stages/ledger.ts';
import {
  ask,
  type ClientStream,
  clientKey,
  eventsOf,
  type GatewayOverrides,
  type GatewayUnderTest,
  startGateway,
} from './gateway-under-test.ts';
import { expectBalance } from './matrix/balance.ts';
import { RawConnection } from './raw-client.ts';
import { type ScriptedUpstream, startScriptedUpstream } from './scripted-upstream.ts';
import { until } from './until.ts';

const stagesDirectory = resolve(import.meta.dirname, '../fixtures/stages');
const builtIns = [
  'error-envelope',
  'auth',
  'validation',
  'rate-limit',
  'request-rewrite',
  'stream-rechunk',
  'reasoning-split',
];

/** Stages of the tests' own in front of the built-in ones, each by its path, as a configuration names it. */
export const ownStages = (...stages: readonly (readonly [file: string, options: object])[]) => [
  ...stages.map(([file, options]) => ({ [resolve(stagesDirectory, `${file}.ts`)]: options })),
  ...builtIns,
];

/** One request that a test has sent. */
export interface Asked {
  readonly id: string;
  readonly connection: RawConnection;
  /** The record of this exchange, once it is settled. */
  settled(): Promise<Outcome>;
}

/** A gateway in front of a scripted upstream, with the record of every exchange. */
export interface Books {
  readonly upstream: ScriptedUpstream;
  /** All of them, `upstream` first. */
  readonly upstreams: readonly ScriptedUpstream[];
  readonly gateway: GatewayUnderTest;
  readonly entries: readonly LedgerEntry[];
  /** Sends a request on a connection of its own, to the endpoint of these books. */
  ask(more?: object, headers?: Readonly<Record<string, string>>): Asked;
  /** Writes any request; `head` ends after its last header. */
  write(head: string, body?: string): Asked;
  /** Sends a request, reads the reply to its end, and gives both it and its record. */
  send(stream: boolean, more?: object): Promise<Sent>;
}

/** What books may be about. */
export interface BookOverrides extends Omit<GatewayOverrides, 'upstream' | 'stages'> {
  /** The endpoint that is asked, chat completions if nothing is said. */
  readonly endpoint?: 'chat.completions' | 'responses';
}

/** A reply as its client received it, and its record. */
export interface Sent {
  readonly reply: ClientStream;
  readonly outcome: Outcome;
}

const open: { books: Books; asked: { id: string; connection?: RawConnection }[] }[] = [];

/** Ended by `closeBalanced`. Further stages of the tests stand behind the ledger. */
export async function openBooks(
  overrides: BookOverrides = {},
  ...stages: readonly (readonly [file: string, options: object])[]
): Promise<Books> {
  return openBooksOf([await startScriptedUpstream()], overrides, ...stages);
}

/** The same in front of several upstreams, each a provider. */
export async function openBooksOf(
  upstreams: readonly ScriptedUpstream[],
  { endpoint, ...overrides }: BookOverrides = {},
  ...stages: readonly (readonly [file: string, options: object])[]
): Promise<Books> {
  const book = newBook();
  const [upstream, ...others] = upstreams as [ScriptedUpstream, ...ScriptedUpstream[]];
  const gateway = await startGateway({
    upstream,
    ...(others.length > 0 && { others }),
    ...overrides,
    stages: ownStages(['ledger', { book }], ...stages),
  });
  const asked: { id: string; connection?: RawConnection }[] = [];
  const entries = ledgerOf(book);
  const settledAs = async (id: string) => {
    const find = () => entries.find(({ outcome }) => outcome.id === id)?.outcome;
    await until(() => find() !== undefined);
    return find()!;
  };
  const write = (head: string, body = ''): Asked => {
    const id = `${book}-${asked.length}`;
    const connection = new RawConnection(gateway.url);
    connection.write(`${head}\r\nhost: gateway\r\nx-request-id: ${id}\r\n\r\n${body}`);
    const one = { id, connection, settled: () => settledAs(id) };
    asked.push(one);
    return one;
  };
  const send: Books['send'] = async (stream, more) => {
    const id = `${book}-${asked.length}`;
    asked.push({ id });
    const response = await gateway.post(ask(question, { stream, ...more }), {
      headers: { 'x-request-id': id },
    });
    const { status, headers } = response;
    const text = await response.text();
    const isStream = headers.get('content-type')?.startsWith('text/event-stream');
    const reply = { status, headers, text, events: isStream ? eventsOf(text) : [] };
    return { reply, outcome: await settledAs(id) };
  };
  const books: Books = {
    upstream,
    upstreams,
    gateway,
    entries,
    write,
    send,
    ask: (more = {}, headers = {}) => {
      const isResponse = endpoint === 'responses';
      const { messages, ...rest } = ask(question, more);
      const body = JSON.stringify(isResponse ? { ...rest, input: messages } : { ...rest, messages });
      const lines = Object.entries({
        authorization: `Bearer ${clientKey}`,
        'content-type': 'application/json',
        'content-length': String(Buffer.byteLength(body)),
        ...headers,
      }).map(([name, value]) => `\r\n${name}: ${value}`);
      return write(
        `POST /v1/${isResponse ? 'responses' : 'chat/completions'} HTTP/1.1${lines.join('')}`,
        body,
      );
    },
  };
  open.push({ books, asked });
  return books;
}

/**
 * For afterEach: closes everything, which waits for every exchange, and then compares what was asked, what was written down and what was
 * counted. A second settlement, one that is missing and one whose figures change later would all show.
 */
export async function closeBalanced(): Promise<void> {
  const all = open.splice(0);
  try {
    await Promise.all(all.map(({ books }) => until(() => books.gateway.gateway.inFlight === 0)));
  } finally {
    await Promise.all(
      all.map(async ({ books: { gateway, upstreams }, asked }) => {
        await gateway.gateway.close(0);
        for (const { connection } of asked) connection?.destroy();
        await gateway.close();
        await Promise.all(upstreams.map(upstream => upstream.close()));
      }),
    );
  }
  for (const { books, asked } of all) {
    expect(books.entries.map(({ outcome }) => outcome.id).toSorted()).toEqual(
      asked.map(({ id }) => id).toSorted(),
    );
    await expectBalance(books.gateway.gateway.registry, books.entries);
  }
}

/** What every request asks. */
export const question =
  'Why does a stream whose reader leaves early have to be settled at once? Explain it to a colleague who knows HTTP/1.1, Node.js and OpenAI-style APIs, with an example in TypeScript; mention `AbortController`, `res.on("close")`, back-pressure and the usage chunk before `[DONE]`.';
