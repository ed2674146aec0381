import type { Board } from './dashboard.ts';
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
    {
      id: 1,
      title: 'Overhead',
      panels: [
        {
          id: 2,
          kind: 'series',
          title: 'Overhead',
          description:
            'From the body being read to the first byte of the reply, less the wait for the upstream.',
          unit: 's',
          queries: {
            '{{endpoint}} p50': quantile(0.5, overhead, 'endpoint'),
            '{{endpoint}} p99': quantile(0.99, overhead, 'endpoint'),
          },
          thresholds: { warn: 0.02, bad: 0.1 },
        },
        {
          id: 3,
          kind: 'stacked',
          title: 'Own time by stage',
          description:
            'Seconds per second, of all requests together: computing, and waiting for something of its own. The widest band is the stage to look into.',
          unit: 's',
          queries: { '{{stage}}': spent('stage') },
        },
      ],
    },
    {
      id: 4,
      title: 'Stages',
      panels: [
        {
          id: 5,
          kind: 'series',
          title: 'Slowest hooks, p99',
          description:
            'Own time of a hook in one request, of the ten slowest. A hook that waits for something of its own shows here, and in its trace.',
          unit: 's',
          queries: {
            '{{stage}} {{hook}}': promql`topk(10, ${quantile(0.99, of(time), ...hook)})`,
          },
          thresholds: { warn: 0.01, bad: 0.1 },
        },
        {
          id: 6,
          kind: 'stacked',
          title: 'Own time by hook',
          description:
            'Seconds per second. onHeaders and onRequest on the way in, onReply and onStream on the way out, onError and onSettled at the end.',
          unit: 's',
          queries: { '{{hook}}': spent('hook') },
        },
        {
          id: 7,
          kind: 'stacked',
          title: 'Refusals by stage',
          description:
            'Errors thrown by a stage: auth 401, validation 400, rate-limit 429; server_error is a bug in it.',
          unit: 'reqps',
          queries: {
            '{{stage}} {{hook}} {{error_type}}': rate(
              of('sluice_stage_refusals_total'),
              'stage',
              'hook',
              'error_type',
            ),
          },
          width: 24,
        },
        {
          id: 8,
          kind: 'table',
          title: 'Every hook now',
          description:
            'Own time of each hook of each stage in one request, how often it ran, and how often it threw.',
          unit: 's',
          queries: {
            'Requests per second': measured(...hook),
            Mean: share(spent(...hook), measured(...hook)),
            p50: quantile(0.5, of(time), ...hook),
            p99: quantile(0.99, of(time), ...hook),
            'Errors per second': rate(of('sluice_stage_refusals_total'), ...hook),
          },
          units: { 'Requests per second': 'reqps', 'Errors per second': 'reqps' },
          labels: { stage: 'Stage', hook: 'Hook' },
          height: 14,
        },
      ],
    },
  ],
};
