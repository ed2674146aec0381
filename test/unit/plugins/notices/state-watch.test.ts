import { beforeEach, describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { noticesOptions } from '../../../../plugins/notices/options.ts';
import { StateNotices } from '../../../../plugins/notices/state-notices.ts';
import { StateWatch } from '../../../../plugins/notices/state-watch.ts';
import { memoryPlace } from '../../../../plugins/stores/records/index.ts';
import type { NoticeRecords } from '../../../../src/records/notice-records.ts';
import { StoreUnavailable } from '../../../../src/records/record-errors.ts';
import { Metrics } from '../../../../src/telemetry/metrics.ts';
import { RecordsMetrics } from '../../../../src/telemetry/records-metrics.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const options = noticesOptions.parse({ provider_out_ms: 60_000, ledger_behind_ms: 30_000 });

let clock: FakeClock;
let notices: NoticeRecords;
let isStoreOut: boolean;

beforeEach(async () => {
  clock = new FakeClock();
  const records = await memoryPlace.open();
  await records.migrate(clock.epoch_ms());
  isStoreOut = false;
  const { list, add, route } = records.notices!;
  const tried =
    <A extends readonly unknown[], R>(ask: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      if (isStoreOut) throw new StoreUnavailable('out');
      return ask(...given);
    };
  notices = { ...records.notices!, list: tried(list), add: tried(add), route: tried(route) };
});

/** An instance of a gateway with these receivers; those of `failing` take nothing. */
function instanceOf(
  instance: string,
  targets: readonly string[] = ['webhook:ops'],
  failing = new Set<string>(),
) {
  const sent: string[] = [];
  const stateNotices = new StateNotices({
    notices,
    targetsOf: async () => targets,
    attempt: async ({ notice, target }) => {
      if (failing.has(target)) return { state: 'waiting', at_ms: 0, fault: 'down' };
      sent.push(`${notice.type} to ${target}`);
      return { state: 'sent', at_ms: 0, fault: '' };
    },
    instance,
  });
  const registry = new Registry();
  const metrics = new Metrics(registry);
  metrics.configLoaded(clock.epoch_ms());
  let age_ms = 0;
  new RecordsMetrics(registry).watchLedger(() => age_ms);
  const provider = { name: 'local', healthy: true, breaker: { state: 'closed' }, bulkhead: {} };
  const server = { all: async () => ({ providers: [provider] }), registry: async () => registry };
  const watch = new StateWatch({ clock, server } as never, stateNotices, () => isStoreOut);
  /** Looks for `ms`, every ten seconds. */
  const pass = async (ms: number) => {
    for (let passed_ms = 0; passed_ms <= ms; passed_ms += 10_000) {
      await watch.look(options);
      await stateNotices.flush(clock.epoch_ms());
      clock.advance(10_000);
    }
  };
  const set = (breaker: string, healthy = true) =>
    Object.assign(provider, { healthy, breaker: { state: breaker } });
  const setAge = (ms: number) => {
    age_ms = ms;
  };
  return { pass, set, setAge, sent, metrics };
}

const told = async (subject?: string) =>
  (await notices.list({ subject, limit: 50 })).reverse().map(({ type }) => type);

describe('watching providers', () => {
  it('tells one that is out for longer than the stated time, and that it is back', async () => {
    const one = instanceOf('a');
    await one.pass(60_000);
    expect(await told()).toEqual([]);
    one.set('open');
    await one.pass(40_000);
    one.set('half_open');
    await one.pass(10_000);
    expect(await told()).toEqual(['provider.out']);
    await one.pass(200_000);
    one.set('closed');
    await one.pass(30_000);
    expect(await told()).toEqual(['provider.out']);
    await one.pass(40_000);
    expect(await told()).toEqual(['provider.out', 'provider.back']);
    one.set('closed', false);
    await one.pass(70_000);
    const [last] = await notices.list({ subject: 'provider:local', limit: 1 });
    expect(last).toMatchObject({
      type: 'provider.out',
      data: { provider: 'local', reason: 'its health check fails', instance: 'a' },
    });
  });

  it('tells nothing of one that comes and goes', async () => {
    const one = instanceOf('a');
    for (let round = 0; round < 5; round++) {
      one.set('open');
      await one.pass(30_000);
      one.set('closed');
      await one.pass(20_000);
    }
    expect(await told()).toEqual([]);
  });

  it('tells once what several instances see, and the end of it after a restart', async () => {
    const [one, other] = [instanceOf('a'), instanceOf('b')];
    for (const each of [one, other]) each.set('open');
    await Promise.all([one.pass(70_000), other.pass(70_000)]);
    expect(await told()).toEqual(['provider.out']);
    const later = instanceOf('d');
    later.set('open');
    await later.pass(70_000);
    expect(await told()).toEqual(['provider.out']);
    const teller = String((await notices.list({ limit: 1 }))[0]!.data.instance);
    // Another instance that starts knows nothing of before.
    await instanceOf('c').pass(70_000);
    expect(await told()).toEqual(['provider.out']);
    await instanceOf(teller).pass(70_000);
    expect(await told()).toEqual(['provider.out', 'provider.back']);
  });
});

describe('watching the ledger', () => {
  it('tells rows that wait at once, and that they are written', async () => {
    const one = instanceOf('a');
    await one.pass(30_000);
    one.setAge(31_000);
    await one.pass(0);
    expect(await told('ledger')).toEqual(['ledger.behind']);
    one.setAge(0);
    await one.pass(40_000);
    expect(await told('ledger')).toEqual(['ledger.behind', 'ledger.caught_up']);
  });

  it('tells without the outbox that the records store is out, and puts it there later for those who do not have it', async () => {
    const failing = new Set(['mail:ops@example.com']);
    const one = instanceOf('a', ['webhook:ops', ...failing], failing);
    await one.pass(30_000);
    isStoreOut = true;
    await one.pass(60_000);
    expect(one.sent).toEqual(['ledger.behind to webhook:ops']);
    isStoreOut = false;
    await one.pass(40_000);
    expect(one.sent).toHaveLength(1);
    expect(await told('ledger')).toEqual(['ledger.behind', 'ledger.caught_up']);
    const [, behind] = await notices.list({ subject: 'ledger', limit: 2 });
    expect(behind!.deliveries.map(({ target, state }) => [target, state])).toEqual([
      ['mail:ops@example.com', 'waiting'],
      ['webhook:ops', 'sent'],
    ]);
  });
});

it('tells a configuration that is refused, and the next one that is accepted', async () => {
  const one = instanceOf('a');
  await one.pass(0);
  one.metrics.reloaded('failure');
  await one.pass(20_000);
  expect(await told('configuration')).toEqual(['configuration.refused']);
  one.metrics.reloaded('success');
  await one.pass(0);
  expect(await told('configuration')).toEqual(['configuration.refused', 'configuration.accepted']);
});
