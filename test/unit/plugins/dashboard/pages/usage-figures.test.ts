import { expect, it } from '@jest/globals';
import { usageFigures } from '../../../../../plugins/dashboard/pages/usage-figures.ts';
import type { UsageView } from '../../../../../plugins/dashboard/pages/usage-view.ts';

const view = {
  question: { from_day: '2026-11-11', to_day: '2026-11-20', account: undefined, model: undefined },
  group: 'provider',
  measure: 'requests',
} as UsageView;

it.each([
  ['on its first day', '2026-11-01', '2026-11-01'],
  ['a day later', '2026-11-02', undefined],
])(
  'compares with the time before if sums are kept of all of it: they begin %s',
  async (_, since, from_day) => {
    const usage = {
      detailedSince: async () => ({ providers: since, hours: since }),
      sum: async () => [{ day: '2026-11-05', provider: 'gpu', requests: 1, cost_usd: '0' }],
    };
    const clock = { epoch_ms: () => Date.parse('2026-11-20T12:00:00Z') };
    const { before } = await usageFigures({ clock, records: { store: { usage } } } as never, view);
    expect(before?.question.from_day).toBe(from_day);
  },
);
