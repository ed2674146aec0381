import { afterEach, describe, expect, it } from '@jest/globals';
import { nanoUsdOf } from '../../src/money.ts';
import type { Outcome } from '../../src/plugin.ts';
import type { LimitName } from '../../src/stores/limits/limit-table.ts';
import { MemoryStateStore } from '../../src/stores/limits/memory-state-store.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { clientKey } from '../support/gateway-under-test.ts';
import { type Script, thenReset, whole } from '../support/scripted-upstream.ts';
import { type Asked, type Books, closeBalanced, openBooks } from '../support/settlement.ts';
import { middleOf, usageKinds, wholeReplyOf, wholeStreamOf } from '../support/settlement-answer.ts';
import { until } from '../support/until.ts';

afterEach(closeBalanced);

const plenty = 1_000_000_000_000;
const names = ['requests_per_minute', 'tokens_per_minute', 'tokens_per_day', 'concurrent_requests'] as const;
const limits = Object.fromEntries(names.map(name => [name, plenty]));

/** A gateway whose account has every limit, and what has been counted under each. */
async function open(overrides: Parameters<typeof openBooks>[0] = {}) {
  const clock = new FakeClock();
  const state = new MemoryStateStore(clock);
  const books = await openBooks({
    ...overrides,
    options: { clock, state },
    config: {
      plans: { tested: { ...limits, usd_per_month: 1000 } },
      accounts: { tester: { plan: 'tested', keys: [{ value: clientKey }] } },
    },
  });
  const counted = (name: LimitName, max = plenty) =>
    max - state.statuses('tester', [{ name, max }])[0]!.remaining;
  return { ...books, books, counted };
}

/** Fails unless exactly what is billed has been counted. */
function expectSettled(counted: (name: LimitName, max?: number) => number, outcomes: readonly Outcome[]) {
  const sum = (of: (outcome: Outcome) => number) => outcomes.reduce((all, outcome) => all + of(outcome), 0);
  const tokens = sum(({ usage }) => usage.prompt_tokens + usage.completion_tokens);
  const usd = 1_000_000_000_000;
  // What failed for the provider's reasons and is not billed is given back.
  const isCounted = ({ status, usage }: Outcome) =>
    status !== 502 || usage.prompt_tokens + usage.completion_tokens > 0;
  expect({
    requests: counted('requests_per_minute'),
    minute: counted('tokens_per_minute'),
    day: counted('tokens_per_day'),
    money: counted('usd_per_month', usd),
    running: counted('concurrent_requests'),
  }).toEqual({
    requests: outcomes.filter(isCounted).length,
    minute: tokens,
    day: tokens,
    money: sum(({ cost_usd }) => nanoUsdOf(cost_usd)!),
    running: 0,
  });
}

interface Ending {
  readonly how: string;
  readonly reply: Script;
  readonly more?: object;
  /** What the client does once the upstream has been asked. */
  readonly next?: (asked: Asked) => Promise<void>;
}

const leaves = async ({ connection }: Asked) => connection.destroy();
const leavesInTheMiddle = async ({ connection }: Asked) => {
  await connection.received(/" event,"/);
  connection.destroy();
};

const endings: readonly Ending[] = usageKinds.flatMap(kind => [
  { how: `a reply with usage: ${kind.usage}`, reply: wholeReplyOf(kind) },
  { how: `a stream with usage: ${kind.usage}`, reply: wholeStreamOf(kind), more: { stream: true } },
  {
    how: `a stream with running usage asked for, ${kind.usage}`,
    reply: wholeStreamOf(kind),
    more: { stream: true, stream_options: { continuous_usage_stats: true } },
  },
  { how: `a stream that is reset, ${kind.usage}`, reply: thenReset(middleOf(kind)), more: { stream: true } },
  {
    how: `a stream whose client leaves, ${kind.usage}`,
    reply: middleOf(kind),
    more: { stream: true },
    next: leavesInTheMiddle,
  },
]);
const failures: readonly Ending[] = [
  { how: 'a failure', reply: whole(500, 'no') },
  { how: 'a refusal', reply: whole(400, { error: { message: 'no' } }) },
  { how: 'a reset before the reply', reply: thenReset(), more: { stream: true } },
  { how: 'a client that leaves before the stream', reply: () => {}, more: { stream: true }, next: leaves },
];

async function run(books: Books, { reply, more, next }: Ending): Promise<Outcome> {
  const before = books.upstream.requests.length;
  // To the second request as well, where a reset of a kept connection has it sent again.
  books.upstream.reply(reply);
  const asked = books.ask(more);
  if (next) {
    await until(() => books.upstream.requests.length > before);
    await next(asked);
  }
  return asked.settled();
}

describe('the usage counted by the limits', () => {
  it.each([...endings, ...failures])('equals the bill after $how', async ending => {
    const { books, counted } = await open();
    expectSettled(counted, [await run(books, ending)]);
  });

  it('equals the bill after many rounds of all endings', async () => {
    const { books, counted, entries } = await open();
    for (let round = 0; round < 3; round++)
      for (const ending of [...endings, ...failures]) await run(books, ending);
    expectSettled(
      counted,
      entries.map(({ outcome }) => outcome),
    );
  });

  it('equals the bill after a 524, once the background read has ended', async () => {
    const { books, counted } = await open({ server: { non_stream_timeout_ms: 500 } });
    let answer = () => {};
    books.upstream.replyOnce(socket => {
      answer = () => socket.write(wholeReplyOf(usageKinds[0]!));
    });
    const asked = books.ask();
    await asked.connection.received(/^HTTP\/1\.1 524 /);
    expect(counted('concurrent_requests')).toBe(1);
    expect(counted('tokens_per_day')).toBeGreaterThan(500);
    answer();
    const outcome = await asked.settled();
    expect(outcome.usage.completion_tokens).toBeGreaterThan(0);
    expectSettled(counted, [outcome]);
  });

  it('equals the bill after a client left, once the background read has ended', async () => {
    const { books, counted } = await open();
    let answer: (() => void) | undefined;
    books.upstream.replyOnce(socket => {
      answer = () => socket.write(wholeReplyOf(usageKinds[0]!));
    });
    const asked = books.ask();
    await until(() => answer !== undefined);
    asked.connection.destroy();
    await until(async () => (await books.gateway.metric('sluice_background_reads')) === 1);
    expect(counted('concurrent_requests')).toBe(1);
    answer!();
    expectSettled(counted, [await asked.settled()]);
  });

  it('equals the bill after an upload that breaks off and after a refusal', async () => {
    const { books, counted, entries } = await open();
    const body = JSON.stringify({ model: 'aion-labs/aion-3.5', messages: [] });
    const asked = books.write(
      `POST /v1/chat/completions HTTP/1.1\r\nauthorization: Bearer ${clientKey}\r\ncontent-length: 1000`,
      body,
    );
    await new Promise(resolve => setTimeout(resolve, 50));
    asked.connection.destroy();
    await asked.settled();
    await books.ask({ max_tokens: 0 }).settled();
    expect(entries).toHaveLength(2);
    expectSettled(
      counted,
      entries.map(({ outcome }) => outcome),
    );
    expect(counted('requests_per_minute')).toBe(2);
  });
});
