import { afterEach, describe, expect, it } from '@jest/globals';
import type { Limit } from '../../src/gateway/limits/limit-table.ts';
import type { Reservation, ReservationResult } from '../../src/gateway/limits/state-store.ts';
import { FakeClock, noon_ms } from './fake-clock.ts';
import { checkAgainstModel } from './state-store-model.ts';
import { charge, limit, nothing, StoreSetting, type StoreUnderTest } from './state-store-setting.ts';

export { charge, limit, type StoreUnderTest };

/**
 * What every state store keeps, whatever it is made of; `open` gives one that is empty and keeps to the clock. `runs` is how many random
 * histories are compared with a simple model.
 */
export function describeStateStore(
  name: string,
  open: (clock: FakeClock) => StoreUnderTest | Promise<StoreUnderTest>,
  runs = 200,
): void {
  const opened: StoreUnderTest[] = [];
  const start = async (began_ms = noon_ms) => {
    const clock = new FakeClock(began_ms);
    const under = await open(clock);
    opened.push(under);
    return new StoreSetting(under, clock);
  };
  afterEach(async () => {
    for (const under of opened.splice(0)) {
      await under.store.close();
      await under.close?.();
    }
  });

  describe(`${name}: the sliding minute`, () => describeMinute(start));
  describe(`${name}: days and months`, () => describeCalendar(start));
  describe(`${name}: concurrency`, () => describeConcurrency(start));
  describe(`${name}: settlement`, () => describeSettlement(start));
  describe(`${name}: several limits`, () => describeSeveral(start));
  it(`${name}: does in any history what a simple model does`, async () =>
    checkAgainstModel(await start(), runs));
}

type Start = (began_ms?: number) => Promise<StoreSetting>;

function describeMinute(start: Start): void {
  const three = [limit('requests_per_minute', 3)];

  it('admits as many as the limit says and no more', async () => {
    const setting = await start();
    for (let at = 0; at < 3; at++) await setting.admitted(three);
    const { refused_by, retry_ms, statuses } = await setting.refused(three);
    expect(refused_by).toEqual(three[0]);
    expect(retry_ms).toBeGreaterThan(59_000);
    expect(retry_ms).toBeLessThanOrEqual(61_000);
    expect(statuses).toEqual([{ limit: three[0], remaining: 0, reset_ms: expect.any(Number) }]);
  });

  it('admits exactly as many of a burst', async () => {
    const setting = await start();
    const limits = [limit('requests_per_minute', 40)];
    const taken = await Promise.all(Array.from({ length: 200 }, () => setting.reserve(limits)));
    expect(taken.filter(({ admitted }) => admitted)).toHaveLength(40);
  });

  it('has no edge at which twice as many get through', async () => {
    const setting = await start(noon_ms + 59_500);
    for (let at = 0; at < 3; at++) await setting.admitted(three);
    for (const pause_ms of [501, 30_000, 29_000]) {
      setting.clock.advance(pause_ms);
      await setting.refused(three);
    }
  });

  it('makes room for each as it leaves, not for all at once', async () => {
    const setting = await start();
    for (let at = 0; at < 3; at++) {
      await setting.admitted(three);
      setting.clock.advance(10_000);
    }
    // 30 s have passed; they leave at 60, 70 and 80 s, or within a second after.
    setting.clock.advance(29_900);
    await setting.refused(three);
    for (let at = 0; at < 3; at++) {
      setting.clock.advance(1100);
      await setting.admitted(three);
      await setting.refused(three);
      setting.clock.advance(8900);
    }
  });

  it('tells how long to wait, and admits after that', async () => {
    const setting = await start();
    for (const pause_ms of [1700, 12_345, 20_000]) {
      await setting.admitted(three);
      setting.clock.advance(pause_ms);
    }
    for (let at = 0; at < 5; at++) {
      const { retry_ms } = await setting.refused(three);
      expect(Number.isInteger(retry_ms) && retry_ms >= 1).toBe(true);
      setting.clock.advance(retry_ms);
      await setting.admitted(three);
    }
  });

  it('waits for enough to leave, not for the first', async () => {
    const setting = await start();
    const limits = [limit('tokens_per_minute', 1000)];
    for (const tokens of [100, 100, 800]) {
      await setting.admitted(limits, charge(tokens));
      setting.clock.advance(10_000);
    }
    const { retry_ms } = await setting.refused(limits, charge(150));
    expect(retry_ms).toBeGreaterThan(39_000);
    expect(retry_ms).toBeLessThanOrEqual(41_000);
    setting.clock.advance(retry_ms);
    await setting.admitted(limits, charge(150));
  });

  it('admits no more than the limit in any minute, whenever in a second it came', async () => {
    const setting = await start();
    await setting.admitted(three);
    setting.clock.advance(900);
    await setting.admitted(three);
    await setting.admitted(three);
    setting.clock.advance(59_200);
    const taken = await Promise.all([1, 2, 3].map(() => setting.reserve(three)));
    expect(taken.filter(({ admitted }) => admitted).length).toBeLessThanOrEqual(1);
  });

  it('tells what remains and when nothing counts any longer', async () => {
    const setting = await start();
    const taken = await setting.reserve(three);
    expect(taken.statuses[0]!.remaining).toBe(2);
    setting.clock.advance(20_000);
    await setting.reserve(three);
    const [standing] = (await setting.store.statuses('a', three)) as [ReservationResult['statuses'][number]];
    expect(standing.remaining).toBe(1);
    expect(standing.reset_ms).toBeGreaterThan(59_000);
    expect(standing.reset_ms).toBeLessThanOrEqual(61_000);
    setting.clock.advance(61_000);
    expect(await setting.store.statuses('a', three)).toEqual([
      { limit: three[0], remaining: 3, reset_ms: 0 },
    ]);
  });

  it('of one account is nothing to another', async () => {
    const setting = await start();
    for (let at = 0; at < 3; at++) await setting.admitted(three);
    await setting.refused(three);
    await setting.admitted(three, charge(), { account: 'b' });
    await setting.admitted(three, charge(), { account: 'a:b' });
    await setting.admitted(three, charge(), { account: '' });
  });
}

function describeCalendar(start: Start): void {
  const daily = [limit('tokens_per_day', 1000)];
  const monthly = [limit('usd_per_month', 5_000_000_000)];

  it('a day ends at midnight in UTC', async () => {
    const setting = await start(Date.UTC(2026, 10, 21, 15, 36, 29));
    await setting.admitted(daily, charge(900));
    const { retry_ms, statuses } = await setting.refused(daily, charge(101));
    const to_midnight_ms = Date.UTC(2026, 10, 22) - setting.clock.epoch_ms();
    expect(retry_ms).toBe(to_midnight_ms);
    expect(statuses).toEqual([{ limit: daily[0], remaining: 100, reset_ms: to_midnight_ms }]);
    setting.clock.advance(to_midnight_ms - 1);
    await setting.refused(daily, charge(101));
    setting.clock.advance(1);
    expect(await setting.remaining(...daily)).toEqual([1000]);
    await setting.admitted(daily, charge(1000));
  });

  it.each([
    ['of 30 days', Date.UTC(2026, 10, 21), Date.UTC(2026, 11, 1)],
    ['at the end of a year', Date.UTC(2026, 11, 31, 23), Date.UTC(2027, 0, 1)],
    ['in a leap year', Date.UTC(2028, 1, 29, 5), Date.UTC(2028, 2, 1)],
  ])('a month %s ends with its last day in UTC', async (_, began_ms, end_ms) => {
    const setting = await start(began_ms);
    await setting.admitted(monthly, charge(0, 4_000_000_001));
    const { retry_ms } = await setting.refused(monthly, charge(0, 1_000_000_000));
    expect(retry_ms).toBe(end_ms - began_ms);
    await setting.admitted(monthly, charge(0, 999_999_999));
    setting.clock.advance(retry_ms - 1);
    await setting.refused(monthly, charge(0, 1));
    setting.clock.advance(1);
    await setting.admitted(monthly, charge(0, 5_000_000_000));
  });

  it.each([
    ['day', daily, Date.UTC(2026, 10, 22)],
    ['month', monthly, Date.UTC(2026, 11, 1)],
  ])('a clock that is set back over its beginning does not give a %s twice', async (_, limits, begin_ms) => {
    const setting = await start(begin_ms);
    await setting.admitted(limits, charge(900, 4_000_000_000));
    setting.clock.set(-60_000);
    await setting.refused(limits, charge(101, 1_000_000_001));
    await setting.admitted(limits, charge(100, 1_000_000_000));
    setting.clock.set(60_000);
    await setting.refused(limits, charge(1, 1));
  });

  it.each([
    ['a day of 23 hours', 'usd_per_day', 'Europe/Berlin', 1, '2026-03-28T23:00Z', '2026-03-29T22:00Z'],
    ['a day of 25 hours', 'tokens_per_day', 'America/New_York', 1, '2026-11-01T04:00Z', '2026-11-02T05:00Z'],
    ['a day at half an hour', 'tokens_per_day', 'Asia/Kolkata', 1, '2026-11-21T18:30Z', '2026-11-22T18:30Z'],
    ['a week', 'tokens_per_week', undefined, 1, '2026-11-16T00:00Z', '2026-11-23T00:00Z'],
    ['a week from Sunday on', 'usd_per_week', 'Asia/Kolkata', 7, '2026-11-21T18:30Z', '2026-11-28T18:30Z'],
    [
      'a month over summer time',
      'tokens_per_month',
      'Europe/Berlin',
      15,
      '2026-10-14T22:00Z',
      '2026-11-14T23:00Z',
    ],
  ] as const)('%s begins and ends in its zone', async (_, name, time_zone, start_day, from, to) => {
    const [from_ms, to_ms] = [Date.parse(from), Date.parse(to)];
    const setting = await start(from_ms - 1);
    const limits = [{ ...limit(name, 100), time_zone, ...(start_day > 1 && { start_day }) }];
    await setting.admitted(limits, charge(90, 90));
    setting.clock.advance(1);
    await setting.admitted(limits, charge(100, 100));
    const { retry_ms } = await setting.refused(limits, charge(1, 1));
    expect(retry_ms).toBe(to_ms - from_ms);
    setting.clock.advance(retry_ms - 1);
    await setting.refused(limits, charge(1, 1));
    setting.clock.advance(1);
    expect(await setting.remaining(...limits)).toEqual([100]);
  });

  it('a total never ends', async () => {
    const setting = await start();
    const limits = [limit('usd_total', 100)];
    await setting.admitted(limits, charge(0, 100));
    for (let years = 0; years < 3; years++) {
      setting.clock.advance(366 * 86_400_000);
      await setting.refused(limits, charge(0, 1));
    }
    await setting.admitted([limit('usd_total', 150)], charge(0, 50));
    await setting.refused([limit('usd_total', 150)], charge(0, 1));
  });

  it('what is soft is counted and never refuses, beside what does', async () => {
    const setting = await start();
    const soft = { ...limit('tokens_per_week', 100), soft: true as const };
    const requests = { ...limit('concurrent_requests', 1), soft: true as const };
    for (let at = 0; at < 3; at++) await setting.admitted([soft, requests], charge(90));
    expect(await setting.remaining(soft, requests)).toEqual([0, 0]);
    expect(await setting.over(soft, requests)).toEqual([170, 2]);
    const hard = limit('tokens_per_day', 100);
    await setting.admitted([soft, hard], charge(90));
    expect((await setting.refused([soft, hard], charge(90))).refused_by).toEqual(hard);
    expect(await setting.remaining({ ...soft, max: 1000, soft: undefined })).toEqual([640]);
  });

  it('what is used stays when a maximum is raised, soft or back again', async () => {
    const setting = await start();
    const own = limit('usd_per_month', 100);
    const raised = { ...own, max: 200, raised_until_ms: setting.clock.epoch_ms() + 1000 };
    await setting.admitted([own], charge(0, 100));
    await setting.refused([own], charge(0, 1));
    await setting.admitted([raised], charge(0, 60));
    await setting.refused([own], charge(0, 1));
    expect(await setting.remaining(own, raised)).toEqual([0, 40]);
  });

  it('counts large sums exactly', async () => {
    const setting = await start();
    const limits = [limit('usd_per_month', 9_000_000_000_000_000)];
    await setting.admitted(limits, charge(0, 8_999_999_999_999_998));
    expect(await setting.remaining(...limits)).toEqual([2]);
    await setting.admitted(limits, charge(0, 1));
    await setting.refused(limits, charge(0, 2));
    await setting.admitted(limits, charge(0, 1));
  });
}

function describeConcurrency(start: Start): void {
  const two = [limit('concurrent_requests', 2)];

  it('is taken until settlement', async () => {
    const setting = await start();
    const first = await setting.admitted(two);
    await setting.admitted(two);
    const { retry_ms, statuses } = await setting.refused(two);
    expect(retry_ms).toBe(1000);
    expect(statuses).toEqual([{ limit: two[0], remaining: 0, reset_ms: 0 }]);
    setting.clock.advance(3000);
    await setting.refused(two);
    await setting.settle(first, charge());
    await setting.admitted(two);
    await setting.refused(two);
  });
}

function describeSettlement(start: Start): void {
  const limits = [
    limit('requests_per_minute', 10),
    limit('tokens_per_minute', 1000),
    limit('tokens_per_day', 5000),
    limit('usd_per_month', 9000),
  ];

  it('gives back what was reserved and not used', async () => {
    const setting = await start();
    const reservation = await setting.admitted(limits, charge(800, 700));
    expect(await setting.remaining(...limits)).toEqual([9, 200, 4200, 8300]);
    setting.clock.advance(5000);
    await setting.settle(reservation, charge(50, 40));
    expect(await setting.remaining(...limits)).toEqual([9, 950, 4950, 8960]);
    // It counts from when it was taken.
    setting.clock.advance(56_000);
    expect(await setting.remaining(...limits)).toEqual([10, 1000, 4950, 8960]);
  });

  it('leaves the time of the reset to what still counts', async () => {
    const setting = await start();
    const minute = [limits[1]!];
    await setting.admitted(minute, charge(100));
    setting.clock.advance(30_000);
    await setting.settle(await setting.admitted(minute, charge(800)), nothing);
    const [status] = await setting.store.statuses('a', minute);
    expect(status!.remaining).toBe(900);
    expect(status!.reset_ms).toBeGreaterThan(29_000);
    expect(status!.reset_ms).toBeLessThanOrEqual(31_000);
  });

  it('charges more than was reserved, into debt', async () => {
    const setting = await start();
    const reservation = await setting.admitted(limits, charge(100, 100));
    setting.clock.advance(30_000);
    await setting.settle(reservation, charge(6000, 20_000));
    expect(await setting.remaining(...limits)).toEqual([9, 0, 0, 0]);
    expect(await setting.over(...limits)).toEqual([0, 5000, 1000, 11_000]);
    const { refused_by } = await setting.refused(limits, charge(1, 1));
    expect(refused_by.name).toBe('usd_per_month');
    // What was used beyond the reservation counts from when it was known.
    setting.clock.advance(50_000);
    await setting.refused([limits[1]!], charge(1));
    setting.clock.advance(11_000);
    expect(await setting.remaining(...limits)).toEqual([10, 1000, 0, 0]);
  });

  it('is done once', async () => {
    const setting = await start();
    const reservation = await setting.admitted(limits, charge(100, 100));
    await setting.settle(reservation, charge(300, 300));
    for (const again of [charge(5000, 5000), nothing]) await setting.settle(reservation, again);
    expect(await setting.remaining(...limits)).toEqual([9, 700, 4700, 8700]);
  });

  it('gives nothing back where what was taken counts no longer', async () => {
    const setting = await start(Date.UTC(2026, 10, 30, 23, 59, 50));
    const reservation = await setting.admitted(limits, charge(800, 700));
    setting.clock.advance(62_000);
    await setting.admitted(limits, charge(300, 200));
    await setting.settle(reservation, nothing);
    expect(await setting.remaining(...limits)).toEqual([9, 700, 4700, 8800]);
  });

  it('charges the present day for what was reserved the day before', async () => {
    const setting = await start(Date.UTC(2026, 10, 30, 23, 59, 50));
    const reservation = await setting.admitted(limits, charge(800, 700));
    setting.clock.advance(62_000);
    await setting.settle(reservation, charge(900, 750));
    expect(await setting.remaining(...limits)).toEqual([10, 900, 4900, 8950]);
  });

  it('is exact however many there are at once', async () => {
    const setting = await start();
    const wide = limits.map(({ name }) => limit(name, 1_000_000));
    const reservations = await Promise.all(
      Array.from({ length: 100 }, () => setting.admitted(wide, charge(50, 60))),
    );
    await Promise.all(reservations.map((reservation, at) => setting.settle(reservation, charge(at, 2 * at))));
    expect(await setting.remaining(...wide)).toEqual([999_900, 995_050, 995_050, 990_100]);
  });
}

function describeSeveral(start: Start): void {
  it('are told in the order asked, the one that admits last as the refusing one', async () => {
    const setting = await start();
    const limits = [
      limit('concurrent_requests', 1),
      limit('tokens_per_day', 100),
      limit('requests_per_minute', 1),
    ];
    await setting.admitted(limits, charge(100));
    const { refused_by, statuses } = await setting.refused(limits, charge(1));
    expect(refused_by).toBe(limits[1]);
    for (const [at, standing] of statuses.entries()) expect(standing.limit).toBe(limits[at]);
  });

  it('admit of a tree what each account and those above it admit, and no more of a burst', async () => {
    const setting = await start();
    const requests = limit('requests_per_minute', 20);
    const ofRoot = { ...requests, inherited: true as const };
    const ofTeam = { ...requests, max: 12, member: 'team', inherited: true as const };
    const ofMember = (member: string) => [{ ...requests, max: 9, member }, ofTeam, ofRoot];
    const burst = async (limits: readonly Limit[]) => {
      const taken = await Promise.all(Array.from({ length: 30 }, () => setting.reserve(limits)));
      return taken.filter(({ admitted }) => admitted).length;
    };
    expect(await burst(ofMember('one'))).toBe(9);
    expect(await burst(ofMember('two'))).toBe(3);
    expect((await setting.refused(ofMember('two'))).refused_by).toEqual(ofTeam);
    expect(await burst([{ ...requests, max: 100, member: 'other' }, ofRoot])).toBe(8);
    expect(await burst([requests])).toBe(0);
    expect(await setting.remaining(...ofMember('two'), requests)).toEqual([6, 0, 0, 0]);
  });

  it('reserve the ceiling of a charge where they are hard, its estimate where they are not, and settle to what was used', async () => {
    const setting = await start();
    const limits = [
      limit('tokens_per_minute', 1000),
      { ...limit('tokens_per_day', 1000), hard: true as const },
      { ...limit('usd_per_month', 5000), hard: true as const },
    ];
    const estimated = { ...charge(10, 100), ceiling: { tokens: 400, nano_usd: 2000 } };
    const first = await setting.admitted(limits, estimated);
    const second = await setting.admitted(limits, estimated);
    expect(await setting.remaining(...limits)).toEqual([980, 200, 1000]);
    expect((await setting.refused(limits, estimated)).refused_by).toMatchObject({ hard: true });
    await setting.settle(first, charge(50, 300));
    expect(await setting.remaining(...limits)).toEqual([940, 550, 2700]);
    await setting.settle(second, charge(500, 2500));
    expect(await setting.remaining(...limits)).toEqual([450, 450, 2200]);
    // A request that no hard limit concerns has no ceiling.
    await setting.admitted(limits, charge(10, 100));
    expect(await setting.remaining(...limits)).toEqual([440, 440, 2100]);
  });

  it('of a model count that model alone, beside those of the account', async () => {
    const setting = await start();
    const overall = limit('requests_per_minute', 5);
    const large = limit('requests_per_minute', 2, 'a/large');
    const small = limit('requests_per_minute', 4, 'a/small');
    for (let at = 0; at < 2; at++) await setting.admitted([overall, large]);
    expect((await setting.refused([overall, large])).refused_by).toEqual(large);
    for (let at = 0; at < 3; at++) await setting.admitted([overall, small]);
    expect((await setting.refused([overall, small])).refused_by).toEqual(overall);
    expect(await setting.remaining(overall, large, small)).toEqual([0, 0, 1]);
  });

  it('keep what was used when they change', async () => {
    const setting = await start();
    await setting.admitted([limit('tokens_per_day', 1000)], charge(900));
    expect(await setting.remaining(limit('tokens_per_day', 2000))).toEqual([1100]);
    await setting.admitted([limit('tokens_per_day', 2000)], charge(900));
    await setting.refused([limit('tokens_per_day', 1000)], charge(1));
    expect(await setting.remaining(limit('tokens_per_day', 1000))).toEqual([0]);
  });

  it('are recalled without asking, as they were last heard of', async () => {
    const setting = await start();
    const limits = [limit('requests_per_minute', 5), limit('tokens_per_day', 100)];
    await setting.admitted(limits, charge(60));
    setting.clock.advance(10_000);
    const [requests, tokens] = setting.store.knownStatuses('a', limits);
    expect([requests!.remaining, tokens!.remaining]).toEqual([4, 40]);
    expect(requests!.reset_ms).toBeLessThanOrEqual(51_000);
    expect(requests!.reset_ms).toBeGreaterThan(49_000);
    expect(tokens!.reset_ms).toBe(Date.UTC(2026, 10, 22) - setting.clock.epoch_ms());
    const refused = await setting.refused(limits, charge(41));
    expect(setting.store.knownStatuses('a', limits)).toEqual(refused.statuses);
    for (const { limit: of, remaining } of setting.store.knownStatuses('b', limits))
      expect(remaining).toBe(of.max);
  });

  it('are none for who has none', async () => {
    const setting = await start();
    const taken = await setting.reserve([], charge(1_000_000));
    expect(taken).toMatchObject({ admitted: true, statuses: [] });
    await setting.settle((taken as { reservation: Reservation }).reservation, charge(5));
  });

  it.each(['tokens_per_minute', 'tokens_per_day', 'usd_per_month'] as const)(
    'admit what is more than the whole of %s when nothing else counts, and only then',
    async name => {
      const setting = await start();
      const limits = [limit(name, 1000)];
      const reserve = charge(5000, 5000);
      const reservation = await setting.admitted(limits, reserve);
      await setting.refused(limits, charge(1, 1));
      await setting.settle(reservation, charge(1, 1));
      expect(await setting.remaining(...limits)).toEqual([999]);
      await setting.refused(limits, reserve);
    },
  );

  it('admit likewise what is more than a whole hard limit, where the most that a request may use is unknown', async () => {
    const setting = await start();
    const limits = [{ ...limit('usd_per_month', 1000), hard: true as const }];
    const reservation = await setting.admitted(limits, charge(0, 5000));
    await setting.refused(limits, charge(0, 1));
    await setting.settle(reservation, charge(0, 1));
    await setting.refused(limits, charge(0, 5000));
  });

  it('are counted and never refuse where they are forced', async () => {
    const setting = await start();
    const limits = [
      limit('requests_per_minute', 2),
      limit('tokens_per_day', 100),
      limit('concurrent_requests', 2),
    ];
    const take = (tokens: number) => setting.admitted(limits, charge(tokens), { force: true });
    const first = await take(90);
    expect(first.over).toEqual([]);
    expect((await take(20)).over).toEqual([limits[1]]);
    expect((await take(0)).over).toEqual(limits);
    expect(await setting.remaining(...limits)).toEqual([0, 0, 0]);
    await setting.settle(first, charge(0));
    expect(await setting.remaining(...limits)).toEqual([0, 80, 0]);
  });
}
