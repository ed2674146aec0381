import { describe, expect, it } from '@jest/globals';
import {
  type Candidate,
  chooseOfTwo,
  chooseSticky,
  uniform,
} from '../../../../../../src/gateway/upstream/routing/draw-upstream.ts';

interface Named extends Candidate {
  readonly name: string;
}

const candidate = (name: string, fields: Partial<Candidate> = {}): Named => ({
  name,
  weight: 1,
  seed: [...name].reduce((seed, character) => Math.imul(seed, 31) + character.charCodeAt(0), 7),
  in_flight: 0,
  latency_ms: undefined,
  ...fields,
});

/** How often each is chosen, as shares of one. */
function shares(candidates: readonly Named[], choose: (draw: number) => Named, draws = 5000) {
  const counts = Object.fromEntries(candidates.map(({ name }) => [name, 0]));
  for (let draw = 0; draw < draws; draw++) counts[choose(draw).name]!++;
  return Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, count / draws]));
}

/** Random numbers that are the same in every run. */
function seeded(seed = 1) {
  let state = seed;
  return () => uniform(state++);
}

describe('the choice of two upstreams', () => {
  it.each<[string, Partial<Candidate>, Partial<Candidate>, number]>([
    ['by their weights while both are healthy', { weight: 3 }, { weight: 1 }, 0.75],
    ['never for the busier one', { in_flight: 9 }, { in_flight: 3 }, 0],
    ['never for the slower one', { latency_ms: 900 }, { latency_ms: 100 }, 0],
    [
      'by load and latency together',
      { latency_ms: 100, in_flight: 19 },
      { latency_ms: 1000, in_flight: 1 },
      0.5,
    ],
    ['alike at small differences', { latency_ms: 110 }, { latency_ms: 100 }, 0.5],
    ['by load alone where one latency is unknown', {}, { latency_ms: 100 }, 0.5],
  ])('is made %s', (_, one, other, share) => {
    const random = seeded();
    const all = [candidate('a', one), candidate('b', other)];
    expect(shares(all, () => chooseOfTwo(all, random)).a).toBeCloseTo(share, 1);
  });

  it('follows a weight of a hundredth while both are equally busy', () => {
    const random = seeded();
    const all = [
      candidate('a', { weight: 0.99, in_flight: 99, latency_ms: 300 }),
      candidate('b', { weight: 0.01, in_flight: 1, latency_ms: 300 }),
    ];
    const { b } = shares(all, () => chooseOfTwo(all, random));
    expect(b).toBeGreaterThan(0.005);
    expect(b).toBeLessThan(0.015);
  });

  it('never picks the worst of many, and picks all others', () => {
    const random = seeded();
    const all = [candidate('a'), candidate('b'), candidate('c'), candidate('d', { in_flight: 20 })];
    const { d, ...others } = shares(all, () => chooseOfTwo(all, random));
    expect(d).toBe(0);
    for (const share of Object.values(others)) expect(share).toBeGreaterThan(0.25);
  });
});

describe('the affinity of conversations', () => {
  const three = [candidate('a'), candidate('b'), candidate('c')];
  const stays = (all: readonly Named[], conversation: number) => chooseSticky(all, conversation, 1.5);

  it('keeps each with one upstream, and spreads them over all', () => {
    const found = shares(three, draw => {
      expect(stays(three, draw)).toBe(stays(three.toReversed(), draw));
      return stays(three, draw);
    });
    for (const share of Object.values(found)) expect(share).toBeCloseTo(1 / 3, 1);
  });

  it('spreads them by weight', () => {
    const all = [candidate('a', { weight: 4 }), candidate('b')];
    expect(shares(all, draw => stays(all, draw)).a).toBeCloseTo(0.8, 1);
  });

  it('moves one only when its own upstream goes', () => {
    const [a, b] = three as [Named, Named];
    for (let conversation = 0; conversation < 1000; conversation++) {
      const before = stays(three, conversation);
      if (before.name !== 'c') expect(stays([a, b], conversation)).toBe(before);
    }
  });

  it('leaves an upstream above its share, always for the same other one', () => {
    const busy = three.map(each => ({ ...each, in_flight: each.name === 'a' ? 60 : 20 }));
    const found = shares(three, draw => {
      const chosen = stays(busy, draw);
      expect(stays(busy, draw)).toBe(chosen);
      return chosen;
    });
    expect(found.a).toBe(0);
  });

  it('does not leave an upstream for a few requests above its share', () => {
    const all = three.map(each => ({ ...each, in_flight: each.name === 'a' ? 3 : 0 }));
    expect(shares(all, draw => stays(all, draw)).a).toBeCloseTo(1 / 3, 1);
  });

  it('keeps a conversation in place when all upstreams are equally busy', () => {
    const all = three.map(each => ({ ...each, in_flight: 500 }));
    for (let conversation = 0; conversation < 300; conversation++)
      expect(stays(all, conversation).name).toBe(stays(three, conversation).name);
  });
});
