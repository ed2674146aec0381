import type { Board } from './dashboard.ts';
import { perSecond, quantile, quantiles } from './promql.ts';

const stageTime = 'sluice_stage_duration_seconds';

/** Where the gateway's own time goes, and which stage refuses what. */
export const chain: Board = {
  uid: 'sluice-chain',
  title: 'Chain',
  description: 'Own time and refusals by stage, without the wait for the upstream.',
  rows: [
    {
      title: 'Overhead',
      panels: [
        {
          kind: 'series',
          title: 'Overhead',
          description:
            'From the body being read to the first byte of the reply, less the wait for the upstream.',
          unit: 's',
          queries: quantiles('sluice_overhead_seconds_bucket', 0.5, 0.9, 0.99),
          thresholds: { warn: 0.02, bad: 0.1 },
        },
        {
          kind: 'stacked',
          title: 'CPU time by stage',
          description:
            'Seconds of own time per second, of all exchanges together: the stage on top is the one to look into.',
          unit: 's',
          queries: [{ expr: `sum by (stage) (${perSecond(`${stageTime}_sum`)})`, legend: '{{stage}}' }],
        },
      ],
    },
    {
      title: 'Stages',
      panels: [
        {
          kind: 'series',
          title: 'Own time by stage, p99',
          description:
            'In one exchange. A stage that waits for something of its own shows here, and in its trace.',
          unit: 's',
          queries: [{ expr: quantile(0.99, `${stageTime}_bucket`, 'stage'), legend: '{{stage}}' }],
          thresholds: { warn: 0.01, bad: 0.1 },
        },
        {
          kind: 'series',
          title: 'Own time by hook, mean',
          description: 'onHeaders and onRequest on the way in, onReply and onStream on the way out.',
          unit: 's',
          queries: [
            {
              expr: `sum by (hook) (${perSecond(`${stageTime}_sum`)}) / sum by (hook) (${perSecond(`${stageTime}_count`)})`,
              legend: '{{hook}}',
            },
          ],
        },
        {
          kind: 'stacked',
          title: 'Refusals by stage',
          description:
            'Errors thrown by a stage: auth 401, validation 400, rate-limit 429; server_error is a bug in it.',
          unit: 'reqps',
          queries: [
            {
              expr: `sum by (stage, error_type) (${perSecond('sluice_stage_refusals_total')})`,
              legend: '{{stage}} {{error_type}}',
            },
          ],
          mayBeEmpty: true,
          width: 24,
        },
      ],
    },
  ],
};
