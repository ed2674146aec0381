import type { Board } from './dashboard.ts';
import { row } from './layout.ts';
import { series, stacked, table } from './panel.ts';
import { of, promql, quantile, rate, share } from './promql.ts';

const time = 'sluice_stage_duration_seconds';
const overhead = of('sluice_overhead_seconds');
const spent = (...labels: readonly string[]) => rate(of(`${time}_sum`), ...labels);
const measured = (...labels: readonly string[]) => rate(of(`${time}_count`), ...labels);
const hook = ['stage', 'hook'] as const;

/** Where the gateway's own time goes, and which stage refuses what. */
export const chain: Board = {
  uid: 'sluice-chain',
  title: 'Chain',
  description: 'Own time and refusals by stage and hook, without the wait for the upstream.',
  rows: [
    row(1, 'Overhead', 2, [
      series(
        2,
        'Overhead',
        's',
        'From the body being read to the first byte of the reply, less the wait for the upstream.',
        {
          '{{endpoint}} p50': quantile(0.5, overhead, 'endpoint'),
          '{{endpoint}} p99': quantile(0.99, overhead, 'endpoint'),
        },
        { thresholds: { warn: 0.02, bad: 0.1 } },
      ),
      stacked(
        3,
        'Own time by stage',
        's',
        'Seconds per second, of all requests together: computing, and waiting for something of its own. The widest band is the stage to look into.',
        { '{{stage}}': spent('stage') },
      ),
    ]),
    row(4, 'Stages', 2, [
      series(
        5,
        'Slowest hooks, p99',
        's',
        'Own time of a hook in one request, of the ten slowest. A hook that waits for something of its own shows here, and in its trace.',
        {
          '{{stage}} {{hook}}': promql`topk(10, ${quantile(0.99, of(time), ...hook)})`,
        },
        { thresholds: { warn: 0.01, bad: 0.1 } },
      ),
      stacked(
        6,
        'Own time by hook',
        's',
        'Seconds per second. onHeaders and onRequest on the way in, onReply and onStream on the way out, onError and onSettled at the end.',
        { '{{hook}}': spent('hook') },
      ),
      stacked(
        7,
        'Refusals by stage',
        'reqps',
        'Errors thrown by a stage: auth 401, validation 400, rate-limit 429; server_error is a bug in it.',
        {
          '{{stage}} {{hook}} {{error_type}}': rate(
            of('sluice_stage_refusals_total'),
            'stage',
            'hook',
            'error_type',
          ),
        },
        { width: 24 },
      ),
      table(
        8,
        'Every hook now',
        's',
        'Own time of each hook of each stage in one request, how often it ran, and how often it threw.',
        {
          'Requests per second': measured(...hook),
          Mean: share(spent(...hook), measured(...hook)),
          p50: quantile(0.5, of(time), ...hook),
          p99: quantile(0.99, of(time), ...hook),
          'Errors per second': rate(of('sluice_stage_refusals_total'), ...hook),
        },
        {
          units: { 'Requests per second': 'reqps', 'Errors per second': 'reqps' },
          labels: { stage: 'Stage', hook: 'Hook' },
          height: 14,
        },
      ),
    ]),
  ],
};
