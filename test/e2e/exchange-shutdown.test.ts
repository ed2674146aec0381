import { afterEach, expect, it } from '@jest/globals';
import { MemoryStateStore } from '../../src/mount/state/counters/memory-state-store.ts';
import type { Outcome } from '../../src/plugin.ts';
import { delayed } from '../fixtures/stages/faulty.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import type { Script } from '../support/scripted-upstream.ts';
import {
  type Asked,
  type BookOverrides,
  type Books,
  closeBalanced,
  openBooks,
} from '../support/settlement.ts';
import {
  type Bill,
  expectBilled,
  halfSeen,
  middleOf,
  usageKinds,
  wholeReplyOf,
} from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const [kind] = usageKinds;
const facts = { end_reason: 'shutdown', status: 502, error_type: 'server_error' } as const;
const unasked = { ...facts, attempts: { length: 0 } as never, provider: undefined, cost_usd: '0' } as const;
const abandoned = { end_reason: 'background_aborted' } as const;

/** How far an exchange has come when its gateway closes. */
interface State {
  readonly when: string;
  readonly overrides?: BookOverrides;
  readonly stages?: Parameters<typeof openBooks>[1][];
  readonly plays?: Script;
  readonly stream?: boolean;
  readonly ask?: (books: Books) => Asked;
  readonly ready?: (asked: Asked, books: Books) => Promise<unknown>;
  /** What the client is told; nothing if it has left or was answered before. */
  readonly told: RegExp | undefined;
  readonly settled: Partial<Outcome>;
  readonly bill: Bill;
}

const toldWhole = /^HTTP\/1\.1 502 [\s\S]*"type":"server_error"/;
const isRead = (books: Books) =>
  until(async () => (await books.gateway.metric('sluice_background_reads')) === 1);
const inFlight = (_: Asked, { gateway }: Books) => until(() => gateway.gateway.inFlight === 1);
const upload = `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 999`;

const states: readonly State[] = [
  { when: 'a stream has not begun', stream: true, told: toldWhole, settled: facts, bill: 'nothing' },
  {
    when: 'a stream is in its middle',
    stream: true,
    plays: middleOf(kind!),
    ready: ({ connection }) => connection.received(halfSeen),
    told: /"type":"server_error"\}\}[\s\S]*data: \[DONE\]/,
    settled: { ...facts, status: 200 },
    bill: 'half',
  },
  { when: 'a whole reply has not begun', told: toldWhole, settled: facts, bill: 'nothing' },
  {
    when: 'a whole reply is in its middle',
    plays: wholeReplyOf(kind!).subarray(0, 600),
    told: toldWhole,
    settled: facts,
    bill: 'nothing',
  },
  {
    when: 'a reply is read on after its client has left',
    ready: async ({ connection }, books) => {
      connection.destroy();
      await isRead(books);
    },
    told: undefined,
    settled: { ...abandoned, status: 0 },
    bill: 'prompt',
  },
  {
    when: 'a reply is read on after a 524',
    overrides: { server: { non_stream_timeout_ms: 1000 } },
    ready: (_, books) => isRead(books),
    told: /^HTTP\/1\.1 524 /,
    settled: { ...abandoned, status: 524 },
    bill: 'prompt',
  },
  {
    when: 'a stage is at work',
    stages: [['faulty', { delay_ms: 1500 }]] as never,
    ready: ({ id }) => until(() => delayed.has(id)),
    told: toldWhole,
    settled: { ...unasked, account: 'tester' },
    bill: 'nothing',
  },
  {
    when: 'an upload is in its middle',
    ask: books => books.write(upload, '{"a'),
    ready: inFlight,
    told: toldWhole,
    settled: { ...unasked, account: 'tester' },
    bill: 'nothing',
  },
];

it.each(states)(
  'an exchange is told, settled and billed once, and holds nothing, when its gateway closes while $when',
  async ({ overrides, stages = [], plays = () => {}, stream, ask, ready, told, settled, bill }) => {
    const state = new MemoryStateStore(new FakeClock());
    const books = await openBooks(
      {
        ...overrides,
        options: { state },
        config: {
          plans: { tested: { concurrent_requests: 10 } },
          accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
        },
      },
      ...(stages as never[]),
    );
    books.upstream.reply(plays);
    const asked = ask?.(books) ?? books.ask({ ...(stream && { stream }) });
    const isAsked = settled.provider === undefined && 'attempts' in settled;
    if (!isAsked) await until(() => books.upstream.requests.length === 1);
    await ready?.(asked, books);
    const { registry } = books.gateway.gateway;
    await books.gateway.gateway.close(50);
    if (told) await asked.connection.received(told);
    const outcome = await asked.settled();
    expect(outcome).toMatchObject(settled);
    expectBilled(outcome.usage, kind!, bill);
    if (isAsked) expect(books.upstream.requests).toEqual([]);
    else expect(await books.upstream.last.closed).toBe('gateway');
    const buffered = await registry.getSingleMetric('sluice_buffered_request_bytes')!.get();
    const { remaining } = state.statuses('tester', [{ name: 'concurrent_requests', max: 10 }])[0]!;
    expect([buffered.values[0]!.value, remaining]).toEqual([0, 10]);
  },
);

it('a request that comes while its gateway closes is refused and costs nothing', async () => {
  const books = await openBooks();
  books.upstream.reply(() => {});
  const running = books.ask();
  await until(() => books.upstream.requests.length === 1);
  const closed = books.gateway.gateway.close(500);
  const late = books.ask();
  await late.connection.received(toldWhole);
  expect(await late.settled()).toMatchObject(unasked);
  await closed;
  expect(await running.settled()).toMatchObject(facts);
});
