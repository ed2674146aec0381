import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Sessions } from '../../../../../plugins/dashboard/access/sessions.ts';
import { StoreUnavailable } from '../../../../../src/records/record-errors.ts';
import type { RecordsStore } from '../../../../../src/records/records-store.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { openRecords } from '../../../../support/open-records.ts';

const limits = { idle_ms: 600_000, max_ms: 1_500_000 };
const olga = { actor: 'olga', role: 'admin' } as const;

let store: RecordsStore;
let clock: FakeClock;

beforeEach(async () => {
  clock = new FakeClock();
  store = await openRecords({ kind: 'memory' });
  await store.migrate(clock.epoch_ms());
});
afterEach(() => store.close());

/** Sessions of one instance. */
const instance = (area = 'dashboard', records = store.sessions) =>
  new Sessions({ records, clock, limits, area });

describe('the sessions of the dashboard', () => {
  it('are found by the token of their browser only, and in their own area', async () => {
    const sessions = instance();
    const { token, session } = await sessions.start(olga);
    expect(await sessions.find(token)).toEqual(session);
    expect(await sessions.find(token.toLowerCase())).toBeUndefined();
    expect(await sessions.find('')).toBeUndefined();
    expect(await instance('portal').find(token)).toBeUndefined();
  });

  it('hold at all instances and after a restart, and end at all of them', async () => {
    const [here, there] = [instance(), instance()];
    const { token } = await here.start({ actor: 'carol', role: 'customer', account: 'acme' });
    expect(await there.find(token)).toMatchObject({ actor: 'carol', role: 'customer', account: 'acme' });
    await there.end(token);
    expect(await here.find(token)).toBeUndefined();
  });

  it('expire when unused, and at the latest after their full lifetime', async () => {
    const sessions = instance();
    const idle = (await sessions.start({ ...olga, actor: 'idle' })).token;
    const used = (await sessions.start({ ...olga, actor: 'used' })).token;
    clock.advance(599_000);
    expect(await sessions.find(used)).toBeDefined();
    clock.advance(1000);
    expect(await instance().find(idle)).toBeUndefined();
    clock.advance(590_000);
    expect(await sessions.find(used)).toBeDefined();
    clock.advance(320_000);
    expect(await sessions.find(used)).toBeUndefined();
  });

  it('go on while they are used, also where they expire within a minute', async () => {
    const short = { idle_ms: 50_000, max_ms: 1_500_000 };
    const sessions = new Sessions({ records: store.sessions, clock, limits: short, area: 'dashboard' });
    const { token } = await sessions.start(olga);
    for (let time = 0; time < 3; time++) {
      clock.advance(40_000);
      expect(await sessions.find(token)).toBeDefined();
    }
  });

  it('are not kept alive by pages that ask by themselves', async () => {
    const sessions = instance();
    const { token } = await sessions.start(olga);
    clock.advance(599_000);
    expect(await sessions.find(token, true)).toBeDefined();
    clock.advance(1000);
    expect(await sessions.find(token)).toBeUndefined();
  });

  it('know what they were started with, at each instance', async () => {
    const { token } = await instance().start(olga, 'the password');
    const sessions = instance();
    expect(sessions.isStartedWith(token, 'the password')).toBe(false);
    await sessions.find(token);
    expect(sessions.isStartedWith(token, 'the password')).toBe(true);
    expect(sessions.isStartedWith(token, 'another password')).toBe(false);
    const named = (await sessions.start(olga)).token;
    expect(sessions.isStartedWith(named, '')).toBe(false);
  });

  it('are at most twenty of each person: the one used longest ago ends', async () => {
    const sessions = instance();
    const first = (await sessions.start(olga)).token;
    clock.advance(1000);
    const second = (await sessions.start(olga)).token;
    clock.advance(120_000);
    await sessions.find(first);
    for (let started = 0; started < 19; started++) await sessions.start(olga);
    expect(await sessions.find(first)).toBeDefined();
    expect(await sessions.find(second)).toBeUndefined();
  });

  it('go on at this instance while the store is down', async () => {
    let isDown = false;
    const unlessDown =
      <A extends unknown[], R>(method: (...args: A) => Promise<R>) =>
      (...args: A): Promise<R> =>
        isDown ? Promise.reject(new StoreUnavailable('down')) : method(...args);
    const { start, find, seen, end } = store.sessions;
    const flaky = {
      start: unlessDown(start),
      find: unlessDown(find),
      seen: unlessDown(seen),
      end: unlessDown(end),
    };
    const sessions = instance('dashboard', flaky);
    const before = (await sessions.start(olga)).token;
    isDown = true;
    const during = (await sessions.start(olga)).token;
    expect(await sessions.find(before)).toMatchObject(olga);
    expect(await sessions.find(during)).toMatchObject(olga);
    await expect(sessions.end(before)).rejects.toThrow(StoreUnavailable);
    await expect(sessions.find('A'.repeat(43))).rejects.toThrow(StoreUnavailable);
    isDown = false;
    expect(await sessions.find(during)).toMatchObject(olga);
    await sessions.end(during);
    expect(await sessions.find(during)).toBeUndefined();
  });
});
