import { beforeEach, describe, expect, it } from '@jest/globals';
import { CachedLookups } from '../../../../../src/mount/records/cached-lookups.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

let clock: FakeClock;
let asked: string[];
let age_ms: number;
let found: (name: string) => Promise<string | undefined>;
let lookups: CachedLookups<string, { name: string }>;

beforeEach(() => {
  clock = new FakeClock();
  asked = [];
  age_ms = 0;
  found = async name => (name.startsWith('known') ? name : undefined);
  lookups = new CachedLookups({
    lookUp(names) {
      asked.push(...names);
      return Promise.all(names.map(found));
    },
    knownOf: name => (name === 'known-unusable' ? undefined : { name }),
    age_ms: () => age_ms,
    ttl_ms: 60_000,
    clock,
  });
});

/** How often the store is asked for these names, one after the other. */
async function queries(...names: string[]): Promise<number> {
  asked = [];
  for (const name of names) await lookups.find(name);
  return asked.length;
}

describe('what was looked up', () => {
  it('is not asked for again while the news of the store are young enough', async () => {
    expect(await queries('known', 'known', 'other', 'other', 'known-unusable', 'known-unusable')).toBe(3);
    age_ms = 60_000;
    expect(await queries('known')).toBe(0);
    age_ms = 60_001;
    expect(await queries('known')).toBe(1);
  });

  it('is asked for again where it was unknown, after 30 s or 5 s without news', async () => {
    await queries('other');
    clock.advance(29_999);
    age_ms = 5000;
    expect(await queries('other')).toBe(0);
    age_ms = 5001;
    expect(await queries('other')).toBe(1);
    age_ms = 0;
    clock.advance(30_000);
    expect(await queries('other')).toBe(1);
  });

  it.each<[string, () => void, number]>([
    ['all names', () => lookups.forget('all'), 3],
    ['two of them', () => lookups.forget(['known-1', 'other']), 2],
    ['those that are told by what is known', () => lookups.forget([], ({ name }) => name === 'known-2'), 1],
    ['unknown ones', () => lookups.forgetUnknown(), 1],
  ])('is forgotten: %s', async (_, forget, count) => {
    await queries('known-1', 'known-2', 'other');
    forget();
    expect(await queries('known-1', 'known-2', 'other')).toBe(count);
  });

  it.each([
    ['known', () => lookups.forget([])],
    ['other', () => lookups.forgetUnknown()],
  ])('is not kept if there was a change while it was looked up: %s', async (name, change) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    found = async one => {
      await promise;
      return one === 'known' ? one : undefined;
    };
    const pending = lookups.find(name);
    change();
    resolve();
    await pending;
    expect(await queries(name)).toBe(1);
  });

  it('is a refusal of the gateway where the store fails', async () => {
    found = () => Promise.reject(new Error('out'));
    await expect(lookups.find('known')).rejects.toMatchObject({ code: 'server_error' });
  });
});
