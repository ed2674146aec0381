import { expect, it } from '@jest/globals';
import { groupsOf, totalOf } from '../../../../../plugins/dashboard/traffic-groups.ts';
import { groupTable, trafficCharts, trafficTiles } from '../../../../../plugins/dashboard/view/traffic.ts';
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
  tokens: 10,
  cost_usd: '0.5',
  first_tokens,
  attempt_first_tokens: first_tokens,
  ...errors,
});

const filters = { account: 'acme' };
const shown = (points: readonly TrafficPoint[], before?: TrafficPoint) => {
  const split = 'provider';
  const groups = groupsOf(points, range, split, filters);
  return { range, split, filters, groups, total: totalOf(points), before } as const;
};
const plain = (text: string): string =>
  text
    .replaceAll(/<[^>]*>/g, '')
    .replaceAll(/[\u00a0\u202f]/g, ' ')
    .trim();
/** The texts of each row of a table. */
const rowsIn = (text: string): string[][] =>
  [...text.matchAll(/<tr>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*>(.*?)<\/td>/gs)].map(([, cell = '']) => plain(cell)),
  );

const traffic = shown(
  [
    point('local', 800, { provider_failed: 30, client_error: 10 }),
    point('', 200, { client_error: 170, refusal: 20, gateway_failed: 10 }),
  ],
  point('', 800, { refusal: 5, provider_failed: 8, tokens: 20, cost_usd: '2' }),
);

it('shows figures of the range with what they were before, and a failure rate without refusals and the errors of clients', () => {
  const { text } = trafficTiles(traffic, true);
  expect([...text.matchAll(/<dt>.*?<\/dd>/gs)].map(([tile]) => plain(tile.replace('</dt>', ': ')))).toEqual([
    'Requests: 1 000 +25 %',
    'Failed: 4 % 40 by providers or the gateway was 1 %',
    'First token p50 · p95: – was –',
    'Tokens, in and out: 20 ±0 %',
    'Cost: $1.00 −50 %',
  ]);
  const links = [...text.matchAll(/href="requests\?([^"]*)"/g)].map(([, query]) =>
    query!.replaceAll('&amp;', '&'),
  );
  expect(links.map(query => [...new URLSearchParams(query)].slice(2))).toEqual([
    [['account', 'acme']],
    [
      ['account', 'acme'],
      ['end', 'service_failed'],
    ],
  ]);
  expect(trafficTiles(traffic, false).text).not.toContain('$');
});

it('stacks the errors of each class, and shows each with its share', () => {
  const [, errors = ''] = trafficCharts(traffic).text.split('data-label="Errors by class"');
  const [head = ''] = errors.split('</thead>');
  expect(plain(head.split('<thead>')[1]!.replaceAll('</th>', ','))).toBe(
    'Time,Provider failed,Gateway failed,Refused,Client errors,All,',
  );
  expect(rowsIn(groupTable(traffic).text)).toEqual([
    ['no provider asked', '200', '0', '10 5 %', '20 10 %', '170 85 %', '–'],
    ['local', '800', '30 3.8 %', '0', '0', '10 1.3 %', '–'],
    ['all', '1 000', '30 3 %', '10 1 %', '20 2 %', '180 18 %', '–'],
  ]);
});
