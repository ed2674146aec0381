import { describe, expect, it } from '@jest/globals';
import {
  monthsBefore,
  monthsEarlier,
  sumsOf,
  usageFigures,
} from '../../../../plugins/dashboard/usage-figures.ts';
import type { UsageView } from '../../../../plugins/dashboard/usage-view.ts';

describe('the same days of the month before', () => {
  it.each([
    ['of part of a month', '2026-11-11', '2026-11-20', '2026-10-11', '2026-10-20', 1],
    [
      'of a month after a shorter one, whose days they end with',
      '2026-03-01',
      '2026-03-31',
      '2026-02-01',
      '2026-02-28',
      1,
    ],
    [
      'of a month after a longer one, of which they leave days out',
      '2026-02-01',
      '2026-02-28',
      '2026-01-01',
      '2026-01-28',
      1,
    ],
    ['of a day in January', '2026-01-05', '2026-01-05', '2025-12-05', '2025-12-05', 1],
    ['of a leap day', '2024-03-29', '2024-03-29', '2024-02-29', '2024-02-29', 1],
    ['across a month, without a day twice', '2026-11-10', '2026-12-20', '2026-09-10', '2026-10-20', 2],
    ['of 90 days', '2026-08-30', '2026-11-27', '2026-05-30', '2026-08-27', 3],
    ['of a year', '2025-01-01', '2025-12-31', '2024-01-01', '2024-12-31', 12],
  ])('are found %s: %s to %s', (_, from_day, to_day, from, to, months) => {
    expect(monthsEarlier({ from_day, to_day })).toEqual({ from_day: from, to_day: to, months });
  });

  it('are none if the month before has none of them', () => {
    expect(monthsEarlier({ from_day: '2026-03-29', to_day: '2026-03-31' })).toBeUndefined();
    expect(monthsEarlier({ from_day: '0001-01-01', to_day: '9999-12-31' })).toBeUndefined();
  });

  it.each([
    ['2026-03-28', '2026-02-28'],
    ['2026-03-29', undefined],
    ['2026-01-31 23:00', '2025-12-31 23:00'],
    ['2026-01', '2025-12'],
  ])('are named alike: %s, %s', (label, before) => {
    expect(monthsBefore(label, 1)).toBe(before);
  });
});

const view = {
  from_day: '2026-11-11',
  to_day: '2026-11-20',
  filters: new Map(),
  group: 'provider',
  measure: 'requests',
  scope: {},
} as unknown as UsageView;

it.each([
  ['on its first day', '2026-10-11', '2026-10-11'],
  ['a day later', '2026-10-12', undefined],
])(
  'compares with the month before if sums are kept of all of its days: they begin %s',
  async (_, since, from_day) => {
    const usage = {
      detailedSince: async () => ({ providers: since, hours: since }),
      sum: async () => [{ day: '2026-11-15', provider: 'gpu', requests: 1, cost_usd: '0' }],
    };
    const clock = { epoch_ms: () => Date.parse('2026-11-20T12:00:00Z') };
    const context = { clock, settings: {}, records: { store: { usage } } };
    const { before } = await usageFigures(context as never, view);
    expect(before?.from_day).toBe(from_day);
  },
);

describe('usage narrowed to a tag', () => {
  const sums = [
    { key: 'k1', model: 'a', requests: 1, cost_usd: '0.1' },
    { key: 'k2', model: 'a', requests: 2, cost_usd: '0.2' },
    { key: 'k3', model: 'b', requests: 4, cost_usd: '0.4' },
  ];
  const tagsOf: Readonly<Record<string, object>> = {
    k1: { team: 'red' },
    k2: { team: 'blue' },
    k3: { team: 'red' },
  };
  const context = (found: readonly object[]) => ({
    settings: { tags: { team: ['red', 'blue'] }, accounts: {} },
    records: {
      store: {
        usage: { detailedSince: async () => ({ hours: '2026-01-01' }), sum: async () => found },
        keys: { named: async (ids: string[]) => ids.map(id => ({ id, tags: tagsOf[id] })) },
      },
    },
  });
  const tagged = {
    ...view,
    filters: new Map([
      ['account', 'acme'],
      ['tag:team', 'red'],
    ]),
  } as UsageView;

  it('has the keys with that value alone', async () => {
    const found = await sumsOf(context(sums) as never, tagged, { by: ['model'] });
    expect(found.map(({ model, cost_usd }) => [model, cost_usd])).toEqual([
      ['a', '0.1'],
      ['b', '0.4'],
    ]);
  });

  it('is refused where it would read too many sums by key', async () => {
    const many = Array.from({ length: 50_001 }, (_, at) => ({ ...sums[0], key: `k${at}` }));
    await expect(sumsOf(context(many) as never, tagged, { by: ['model'] })).rejects.toThrow(
      /more than 50000/,
    );
  });
});
