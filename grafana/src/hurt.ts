import { type Row, row } from './layout.ts';
import { stacked, table } from './panel.ts';
import { count, type Expr, of, promql, rate, sum } from './promql.ts';
import { endedAs } from './requests.ts';

/** Prometheus's own series of alerts. An alert that nothing exports any more has no job. */
const alerts = 'ALERTS{alertname=~"Sluice.+",job=~"$job|"}' as Expr;
const byModel = 'gen_ai_request_model';

/** Whose requests fail, which alerts say so, and what is wrong with requests that are refused. */
export const hurt: Row = row(62, 'Who is hurt', 3, [
  table(
    63,
    'Alerts',
    'short',
    'Alerts of sluice that fire, or will soon if nothing changes. Needs the shipped rules.',
    {
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
    {
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
  ),
  stacked(
    64,
    'Failures by model',
    'reqps',
    'Requests that failed for a reason of the gateway or its providers, per second, broken streams included.',
    {
      [`{{${byModel}}}`]: sum(
        promql`${endedAs('provider_failed', byModel)} or ${endedAs('gateway_failed', byModel)}`,
        byModel,
      ),
    },
    { leadsTo: 'sluice-providers' },
  ),
  stacked(
    65,
    'Failures by account, ten most',
    'reqps',
    'The same, by the account whose requests they were. Needs metrics.account_label.',
    {
      '{{account}}': promql`topk(10, ${rate(of('sluice_account_failures_total'), 'account')} > 0)`,
    },
    { leadsTo: 'sluice-accounts' },
  ),
  stacked(
    66,
    'Requests with a wrong field',
    'reqps',
    'Refused for a field of theirs, by endpoint and field: a client that was changed shows here.',
    { '{{endpoint}} {{field}}': rate(of('sluice_invalid_fields_total'), 'endpoint', 'field') },
  ),
]);
