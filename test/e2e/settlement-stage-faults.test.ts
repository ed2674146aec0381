import { afterEach, describe, expect, it } from '@jest/globals';
import type { FaultyPlace } from '../fixtures/stages/faulty.ts';
import { bothWays } from '../support/hostile-setting.ts';
import { whole } from '../support/scripted-upstream.ts';
import { type Asked, type Books, closeBalanced, expectConnection, openBooks } from '../support/settlement.ts';
import {
  expectBilled,
  middleOf,
  type UsageKind,
  usageKinds,
  wholeReplyOf,
  wholeStreamOf,
} from '../support/settlement-answer.ts';

afterEach(closeBalanced);

const reads = ({ connection }: Asked) => connection.received(/data: \[DONE\]\n\n|\r\n\r\n\{.*\}$/s);

/** How a stage may fail, and what the client is told then. */
const manners = [
  {
    manner: 'a mistake',
    refuses: false,
    status: 502,
    error_type: 'server_error',
    end_reason: 'internal_error',
  },
  {
    manner: 'a refusal',
    refuses: true,
    status: 400,
    error_type: 'invalid_request_error',
    end_reason: 'refused',
  },
] as const;
type Manner = (typeof manners)[number];

/** A gateway with a stage that fails in `place`, and one request to it, settled. */
async function failing(place: FaultyPlace, { refuses }: { refuses: boolean }, kind: UsageKind, more: object) {
  const books = await openBooks({ adapter: kind.adapter }, ['faulty', { place, refuses }]);
  const { stream } = more as { stream?: boolean };
  books.upstream.reply(
    place.endsWith('middle')
      ? middleOf(kind)
      : place === 'onError'
        ? whole(500, {})
        : stream
          ? wholeStreamOf(kind)
          : wholeReplyOf(kind),
  );
  const asked = books.ask(more);
  await reads(asked);
  return { books, asked, outcome: await asked.settled() };
}

const refusals = ({ gateway }: Books, hook: string) =>
  gateway.metric('sluice_stage_refusals_total', { stage: 'faulty', hook });

/** The outcome of an exchange that asked no upstream. */
const unasked = { attempts: { length: 0 }, provider: undefined, cost_usd: '0' };

/** For every manner and every kind of usage, at the same time. */
const everyTime = (run: (manner: Manner, kind: UsageKind) => Promise<void>) =>
  Promise.all(manners.flatMap(manner => usageKinds.map(kind => run(manner, kind))));

describe.each(bothWays)('a stage that fails, $way', ({ stream }) => {
  it.each(['onHeaders', 'onRequest'] as const)(
    'in %s sends nothing upstream and bills nothing',
    async place => {
      await everyTime(async (manner, kind) => {
        const { status, error_type, end_reason } = manner;
        const { books, outcome } = await failing(place, manner, kind, { stream });
        const facts = { status, error_type, end_reason, ...unasked };
        expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
        expectBilled(outcome.usage, kind, 'nothing');
        expect(books.upstream.requests).toHaveLength(0);
        expect(await refusals(books, place)).toBe(1);
      });
    },
  );

  it('in onError keeps the first end reason', async () => {
    await everyTime(async (manner, kind) => {
      const { status, error_type } = manner;
      const { outcome } = await failing('onError', manner, kind, { stream });
      const facts = {
        status,
        error_type,
        end_reason: 'upstream_failed',
        attempts: { length: 1 },
        provider: 'upstream',
      };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expectBilled(outcome.usage, kind, 'nothing');
    });
  });

  it('in onSettled changes neither the reply nor the record nor the bill', async () => {
    await everyTime(async (manner, kind) => {
      const { books, outcome } = await failing('onSettled', manner, kind, { stream });
      const facts = { status: 200, error_type: undefined, end_reason: 'completed', attempts: { length: 1 } };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expectBilled(outcome.usage, kind, 'all');
      await expectConnection(books, 'kept');
    });
  });
});

describe('a stage that fails on a whole reply', () => {
  it('in onReply bills the work of the upstream', async () => {
    await everyTime(async (manner, kind) => {
      const { status, error_type, end_reason } = manner;
      const { books, outcome } = await failing('onReply', manner, kind, {});
      const facts = { status, error_type, end_reason, attempts: { length: 1 }, provider: 'upstream' };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expectBilled(outcome.usage, kind, 'all');
      expect(await refusals(books, 'onReply')).toBe(1);
    });
  });
});

describe('a stage that fails on a stream', () => {
  const continuous = { stream: true, stream_options: { continuous_usage_stats: true } };

  it.each([
    ['opening', { stream: true }],
    ['opening', continuous],
    ['beginning', { stream: true }],
    ['beginning', continuous],
  ] as const)('at its %s sends nothing upstream and bills nothing (%j)', async (place, more) => {
    await everyTime(async (manner, kind) => {
      const { status, error_type, end_reason } = manner;
      const { books, outcome } = await failing(place, manner, kind, more);
      const facts = { status, error_type, end_reason, ...unasked };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expectBilled(outcome.usage, kind, 'nothing');
      expect(books.upstream.requests).toHaveLength(0);
      expect(await refusals(books, 'onStream')).toBe(1);
    });
  });

  it.each([
    ['middle', { stream: true }],
    ['middle', continuous],
    ['careless middle', { stream: true }],
    ['careless middle', continuous],
  ] as const)('in the %s aborts the upstream and bills what was read (%j)', async (place, more) => {
    await everyTime(async (manner, kind) => {
      const { error_type, end_reason } = manner;
      const { books, asked, outcome } = await failing(place, manner, kind, more);
      const facts = { status: 200, error_type, end_reason, attempts: { length: 1 }, provider: 'upstream' };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expect(asked.connection.text).toContain(`"type":"${error_type}"`);
      // The role and one word, or two.
      const { prompt_tokens, completion_tokens, estimated } = outcome.usage;
      expect(estimated).toBe(kind.usage !== 'running');
      expect(completion_tokens).toBeGreaterThan(0);
      expect(completion_tokens).toBeLessThanOrEqual(estimated ? 4 : 14);
      expect(prompt_tokens).toBeGreaterThan(50);
      await expectConnection(books, 'gateway');
      expect(await refusals(books, 'onStream')).toBe(1);
    });
  });

  it('at its end bills all of it', async () => {
    await everyTime(async (manner, kind) => {
      const { error_type, end_reason } = manner;
      const { books, outcome } = await failing('end', manner, kind, { stream: true });
      const facts = { status: 200, error_type, end_reason, attempts: { length: 1 }, provider: 'upstream' };
      expect({ kind, manner, ...outcome }).toMatchObject({ kind, manner, ...facts });
      expectBilled(outcome.usage, kind, 'all');
      await expectConnection(books, 'kept');
    });
  });
});
