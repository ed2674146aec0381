import { markdownTable } from '../figures.ts';
import { projectionOf, type UnitCosts } from './projection.ts';
import type { MonthFigures } from './scale.ts';

/** Of the tables in docs/performance.md: 1,000 streams of 20 tokens a second, and requests with the whole chain. */
const ofGateway = { cpu_us_per_event: 45.3, cpu_us_per_request: 230, bytes_per_stream: 128 * 1024 };
const load = { streams: 1_000_000, tokens_per_second: 20, seconds_per_stream: 20, accounts: 10_000 };

const number = (value: number, digits = 0): string =>
  value.toLocaleString('en', { maximumFractionDigits: digits });
const mib = (bytes: number): string => `${number(bytes / 2 ** 20, 1)} MiB`;
const gib = (bytes: number): string => `${number(bytes / 2 ** 30, 1)} GiB`;

const costsOf = (month: MonthFigures): UnitCosts => ({
  ...ofGateway,
  redis_calls_per_exchange: (month.calls - month.renewals) / month.admitted,
  redis_us_per_call: month.redis_us / month.calls,
  redis_bytes_per_open: month.open_bytes / month.together,
  postgres_us_per_row: month.postgres_us / month.admitted,
  postgres_bytes_per_row: month.row_bytes / month.admitted,
});

/** What was measured, as a Markdown table. */
export function monthTable(month: MonthFigures): string {
  const costs = costsOf(month);
  return markdownTable(
    ['Measured', ''],
    [
      ['Accounts, instances', `${number(month.accounts)}, ${month.instances}`],
      ['Exchanges in 30 days, at the same time', `${number(month.admitted)}, ${month.together}`],
      ['Redis: calls', number(month.calls)],
      ['Redis: calls per exchange, beside renewals', number(costs.redis_calls_per_exchange, 2)],
      ['Redis: CPU per call', `${number(costs.redis_us_per_call, 1)} µs`],
      ['Redis: keys and memory at the end', `${number(month.keys)}, ${mib(month.memory_bytes)}`],
      ['Redis: memory per open exchange', `${number(costs.redis_bytes_per_open)} bytes`],
      ['Redis: largest key, most members', `${number(month.largest.bytes)} bytes, ${month.largest.members}`],
      ['Postgres: CPU per row, with all its sums', `${number(costs.postgres_us_per_row)} µs`],
      ['Postgres: bytes per row, with attempt and indexes', number(costs.postgres_bytes_per_row)],
      [
        `Postgres: batches of one row a second, from 1 instance and from ${month.writers}`,
        `${number(month.batches_from_one)}, ${number(month.batches_from_many)}`,
      ],
      ['Postgres: rows of sums', `${number(month.sum_rows)}, ${mib(month.sum_bytes)}`],
    ],
  );
}

/** What a million streams would take, as a Markdown table. */
export function projectionTable(month: MonthFigures): string {
  const p = projectionOf(load, costsOf(month));
  return markdownTable(
    ['Computed', ''],
    [
      ['Streams, events a second', `${number(load.streams)}, ${number(p.events_per_second)}`],
      ['Requests a second', number(p.requests_per_second)],
      ['Gateway processes of one core', number(p.instances)],
      ['Memory of all gateways', gib(p.gateway_memory_bytes)],
      ['Redis: calls a second that reserve and settle', number(p.reservation_calls)],
      ['Redis: calls a second that renew', number(p.renewal_calls)],
      ['Redis: heartbeats a second at each primary', number(p.heartbeat_calls)],
      ['Redis: primaries of a cluster', number(p.redis_servers)],
      ['Redis: memory of open exchanges', gib(p.redis_memory_bytes)],
      ['Postgres: rows a day', number(p.rows_per_day)],
      ['Postgres: growth a day', gib(p.postgres_bytes_per_day)],
      ['Postgres: batches a second, if each instance writes 4 times a second', number(p.batches)],
      ['Postgres: cores', number(p.postgres_cores)],
    ],
  );
}
