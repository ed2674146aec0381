import { afterEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { uniform } from '../../../../../../src/gateway/upstream/routing/draw-upstream.ts';
import type { UpstreamControl } from '../../../../../../src/gateway/upstream/routing/upstream.ts';
import { closeRoutes, fill, open, routeOver } from '../sample-route.ts';

afterEach(closeRoutes);

const now = (upstream: unknown) => ({ when: 'now', upstream });
const closed = { when: 'never', why: 'closed' };
const controls = (of: Record<string, UpstreamControl>) => new Map(Object.entries(of));
const paused = { state: 'paused' } as const;
const drained = (keeps = (_key: number, isContinued: boolean) => isContinued) =>
  ({ state: 'draining', keeps }) as const;
const turn = (...roles: ('user' | 'assistant')[]) => ({
  request: { stream: true, messages: roles.map(role => ({ role, content: 'x' })) },
});

describe('a provider that operators have paused or are draining', () => {
  it.each([paused, drained()])('gets no new requests: $state', control => {
    const { b, route, ask } = routeOver([{}, { priority: 2 }]);
    route.control(controls({ a: control }));
    expect(ask()).toEqual(now(b));
    route.control(controls({ a: control, b: control }));
    expect(ask()).toMatchObject(closed);
    fill(b);
    route.control(new Map());
    expect(ask()).toMatchObject({ when: 'now' });
  });

  it.each([paused, drained()])('is not even asked where it is the only one: $state', control => {
    const { a, route, clock, ask } = routeOver([{}]);
    expect(route.onlyFree(clock.elapsed_ms())).toBe(a);
    route.control(controls({ a: control }));
    expect(route.onlyFree(clock.elapsed_ms())).toBeUndefined();
    expect(ask()).toMatchObject(closed);
  });

  it('is not the last resort, nor the next attempt after others have failed', () => {
    const { a, b, route, ask } = routeOver([{}, {}]);
    route.control(controls({ a: paused }));
    open(b);
    expect(ask()).toEqual(now(b));
    expect(ask({ failed: new Map([[b, 1]]) })).toMatchObject({ when: 'never', why: 'unusable' });
    expect(a.usable_in_ms(0)).toBe(Number.POSITIVE_INFINITY);
  });

  it('gets further attempts of requests that it has failed while it drains, none while it is paused', () => {
    const { a, route, ask } = routeOver([{}], { retries_per_upstream: 1 });
    const failed = new Map([[a, 1]]);
    route.control(controls({ a: drained() }));
    expect(ask({ failed })).toEqual({ when: 'later', upstream: a, wait_ms: 0 });
    route.control(controls({ a: paused }));
    expect(ask({ failed })).toMatchObject({ when: 'never', why: 'unusable' });
  });
});

describe('a draining provider with conversations', () => {
  const sticky = () => routeOver([{}, {}], { sticky: 'conversation' });
  const keysOf = ({ a, ask }: ReturnType<typeof sticky>) =>
    Array.from({ length: 40 }, (_, key) => key).filter(affinity_key => {
      const found = ask({ affinity_key });
      return 'upstream' in found && found.upstream === a;
    });

  it('keeps those that are there, and gets none that begins', () => {
    const route = sticky();
    const [key] = keysOf(route) as [number];
    route.route.control(controls({ a: drained() }));
    expect(route.ask({ affinity_key: key, ...turn('user', 'assistant', 'user') })).toEqual(now(route.a));
    expect(route.ask({ affinity_key: key, ...turn('user') })).toEqual(now(route.b));
    route.route.control(controls({ a: drained(() => false) }));
    expect(route.ask({ affinity_key: key, ...turn('user', 'assistant') })).toEqual(now(route.b));
  });

  it('keeps none when it is paused, and loses those that it has failed', () => {
    const route = sticky();
    const [key] = keysOf(route) as [number];
    const going = { affinity_key: key, ...turn('user', 'assistant') };
    route.route.control(controls({ a: drained() }));
    expect(route.ask({ ...going, failed: new Map([[route.a, 1]]) })).toEqual(now(route.b));
    route.route.control(controls({ a: paused }));
    expect(route.ask(going)).toEqual(now(route.b));
  });
});

describe('the weight that operators have set', () => {
  const shareOf = (count: number, weight: number) => {
    let state = 1;
    const { a, route, ask } = routeOver(
      Array.from({ length: count }, () => ({})),
      {},
      () => uniform(state++),
    );
    route.control(controls({ a: { state: 'active', weight } }));
    const picked = Array.from({ length: 1000 }, () => ask());
    return picked.filter(pick => 'upstream' in pick && pick.upstream === a).length / 1000;
  };

  it('takes the place of the one in the configuration, of few and of many', () => {
    expect(shareOf(3, 2)).toBeCloseTo(0.5, 1);
    expect(shareOf(31, 30)).toBeCloseTo(0.5, 1);
  });
});

it('selects as if paused and draining providers were not in the configuration, and the weights were in it', () => {
  const upstream = fc.record({
    priority: fc.integer({ min: 1, max: 2 }),
    weight: fc.integer({ min: 1, max: 4 }),
    state: fc.constantFrom('active', 'paused', 'draining', undefined),
    own: fc.integer({ min: 1, max: 4 }),
  });
  fc.assert(
    fc.property(fc.array(upstream, { minLength: 1, maxLength: 6 }), fc.integer(), (given, seed) => {
      const draws = () => {
        let state = seed;
        return () => uniform(state++);
      };
      const controlled = routeOver(given, {}, draws());
      const names = controlled.route.upstreams.map(({ provider }) => provider.name);
      const byName = new Map(given.map((one, at) => [nameAt(at), one]));
      const set = names.flatMap(name => {
        const { state, own } = byName.get(name)!;
        return state ? [[name, { state, weight: state === 'active' ? own : undefined }] as const] : [];
      });
      controlled.route.control(new Map(set));
      const left = given.map(({ state, own, ...one }) => ({
        ...one,
        weight: state === 'active' ? own : one.weight,
      }));
      const kept = left.flatMap((one, at) =>
        (given[at]!.state ?? 'active') === 'active' ? [{ one, at }] : [],
      );
      const configured = routeOver(
        kept.map(({ one }) => one),
        {},
        draws(),
      );
      for (let count = 0; count < 20; count++) {
        const [one, other] = [controlled.ask(), configured.ask()];
        if (kept.length === 0) expect(one).toMatchObject(closed);
        else expect(nameOf(one)).toBe(nameAt(kept[Number(indexOf(nameOf(other)))]!.at));
      }
    }),
    { numRuns: 100 },
  );
});

const nameAt = (at: number): string => 'abc'[at] ?? `p${at}`;
const indexOf = (name: string): number =>
  'abc'.includes(name) ? 'abc'.indexOf(name) : Number(name.slice(1));
const nameOf = (selection: ReturnType<ReturnType<typeof routeOver>['ask']>): string =>
  'upstream' in selection ? selection.upstream.provider.name : selection.when;
