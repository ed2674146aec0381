import type { Row } from './layout.ts';
import { count, type Expr, of, promql, rate, sum } from './promql.ts';
import { endedAs } from './requests.ts';

/** Prometheus's own series of alerts. An alert that nothing exports any more has no job. */
const alerts = 'ALERTS{alertname=~"Sluice.+",job=~"$job|"}' as Expr;
const byModel = 'gen_ai_request_model';

/** Whose requests fail, which alerts say so, and what is wrong with requests that are refused. */
export const hurt: Row = {
  id: 62,
  title: 'Who is hurt',
  across: 3,
  panels: [
    {
      id: 63,
      kind: 'table',
      title: 'Alerts',
      description: 'Alerts of sluice that fire, or will soon if nothing changes. Needs the shipped rules.',
      unit: 'short',
      queries: {
        Alerts: count(
          alerts,
          'alertname',
          'alertstate',
          'severity',
          'instance',
          byModel,
          'sluice_provider',
          'account',
        ),
      },
      labels: {
        alertname: 'Alert',
        alertstate: 'State',
        severity: 'Severity',
        instance: 'Instance',
        [byModel]: 'Model',
        sluice_provider: 'Provider',
        account: 'Account',
      },
    },
    {
      id: 64,
      kind: 'stacked',
      title: 'Failures by model',
      description:
        'Requests that failed for a reason of the gateway or its providers, per second, broken streams included.',
      unit: 'reqps',
      queries: {
        [`{{${byModel}}}`]: sum(
          promql`${endedAs('provider_failed', byModel)} or ${endedAs('gateway_failed', byModel)}`,
          byModel,
        ),
      },
      leadsTo: 'sluice-providers',
    },
    {
      id: 65,
      kind: 'stacked',
      title: 'Failures by account, ten most',
      description: 'The same, by the account whose requests they were. Needs metrics.account_label.',
      unit: 'reqps',
      queries: {
        '{{account}}': promql`topk(10, ${rate(of('sluice_account_failures_total'), 'account')} > 0)`,
      },
      leadsTo: 'sluice-accounts',
    },
    {
      id: 66,
      kind: 'stacked',
      title: 'Requests with a wrong field',
      description:
        'Refused for a field of theirs, by endpoint and field: a client that was changed shows here.',
      unit: 'reqps',
      queries: { '{{endpoint}} {{field}}': rate(of('sluice_invalid_fields_total'), 'endpoint', 'field') },
    },
  ],
};
