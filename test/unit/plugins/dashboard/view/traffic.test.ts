import { expect, it } from '@jest/globals';
import { groupsOf } from '../../../../../plugins/dashboard/traffic-groups.ts';
import { groupTable, trafficCharts } from '../../../../../plugins/dashboard/view/traffic.ts';
import { noErrors } from '../../../../../src/common/end-class.ts';
import type { TrafficPoint } from '../../../../../src/records/traffic-records.ts';
import { first_token_bounds_ms } from '../../../../../src/records/traffic-records.ts';

const minute_ms = 60_000;
const range = { step_ms: minute_ms, point_ms: minute_ms, from_ms: 0, until_ms: 3 * minute_ms };
const first_tokens = Array<number>(first_token_bounds_ms.length + 1).fill(0);
const point = (name: string, requests: number, errors: Partial<TrafficPoint> = {}): TrafficPoint => ({
  at_ms: minute_ms,
  name,
  requests,
  ...noErrors,
  first_tokens,
  ...errors,
});

const shown = (points: readonly TrafficPoint[]) => {
  const split = 'provider';
  return { range, split, groups: groupsOf(points, range, split) } as const;
};
/** The texts of each row of a table. */
const rowsIn = (text: string): string[][] =>
  [...text.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) =>
      cell
        .replaceAll(/<[^>]*>/g, '')
        .replaceAll(/[\u00a0\u202f]/g, ' ')
        .trim(),
    ),
  );

it('shows a failure rate without refusals and the errors of clients, and each class apart with its share', () => {
  const traffic = shown([
    point('local', 800, { provider_failed: 30, client_error: 10 }),
    point('', 200, { client_error: 170, refusal: 20, gateway_failed: 10 }),
  ]);
  const figures = trafficCharts(traffic).text.replaceAll('\u00a0', ' ');
  expect(
    /by providers or the gateway<\/span> <strong><a href="[^"]*end=service_failed">([^<]*)/.exec(
      figures,
    )?.[1],
  ).toBe('4 %');
  expect(rowsIn(groupTable(traffic).text)).toEqual([
    ['no provider asked', '200', '0', '10 5 %', '20 10 %', '170 85 %', '–', '–'],
    ['local', '800', '30 3.8 %', '0', '0', '10 1.3 %', '–', '–'],
    ['all', '1 000', '30 3 %', '10 1 %', '20 2 %', '180 18 %', '–', '–'],
  ]);
});
