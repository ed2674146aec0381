import {
  day_ms,
  dayOf,
  errorClasses,
  type KeyRecord,
  type KeyUse,
  noErrors,
  picoUsd,
  usdOf,
} from '../../../src/plugin.ts';
import type { PageRequest } from '../page-request.ts';
import type { Scope } from '../scope.ts';
import { type ChartUnit, chart } from '../view/chart.ts';
import { errorsText } from '../view/error-counts.ts';
import { figure } from '../view/figure.ts';
import { linkOf, numberOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { dollars } from '../view/money.ts';
import { panel } from '../view/shell.ts';
import { emptyState } from '../view/table.ts';

/** Days that are shown, with today. */
const days = 30;

interface Day extends KeyUse {
  readonly day: string;
}

const unused: KeyUse = { requests: 0, failed_requests: 0, ...noErrors, tokens: 0, cost_usd: '0' };

/** What a key was used for in the last 30 days, and what it cost. */
export async function keyUsePanel(
  { context, scope }: PageRequest,
  { id, account }: KeyRecord,
): Promise<Html> {
  const { clock, records } = context;
  const now_ms = clock.epoch_ms();
  const names = Array.from({ length: days }, (_, at) => dayOf(now_ms - (days - 1 - at) * day_ms));
  const used = await records.store.usage.ofKeyByDay(id, names[0]!);
  const all = names.map((day): Day => ({ day, ...(used.get(day) ?? unused) }));
  return panel(
    'use',
    'Last 30 days',
    html`${figures(all, scope)}
${used.size === 0 ? emptyState('No requests in the last 30 days.', 'They appear here seconds after they end.') : charts(all, scope)}
<p class="pager"><a class="button" href="${linkOf('requests', { key: id })}">Requests with this key</a>
<a class="button" href="${linkOf('usage', { account: scope.account ? undefined : account, key: id, time: '30d' })}">Usage of this key</a></p>`,
  );
}

function figures(all: readonly Day[], scope: Scope): Html {
  const count = (name: Exclude<keyof KeyUse, 'cost_usd'>) => all.reduce((sum, day) => sum + day[name], 0);
  const cost = usdOf(all.reduce((sum, { cost_usd }) => sum + picoUsd(cost_usd), 0n));
  const today = all.at(-1)!;
  const errors = {
    ...noErrors,
    failed_requests: count('failed_requests'),
    ...Object.fromEntries(errorClasses.map(name => [name, count(name)])),
  };
  return html`<dl class="figures">
${scope.sees.money && figure('Cost', dollars(cost), html`${dollars(today.cost_usd)} today`)}
${figure('Requests', numberOf(count('requests')), errorsText(errors, scope))}
${figure('Tokens', numberOf(count('tokens')), `${numberOf(today.tokens)} today`)}
</dl>`;
}

function charts(all: readonly Day[], { sees }: Scope): Html {
  const one = (title: string, unit: ChartUnit, of: (day: Day) => number) =>
    html`<div><h3>${title} by day</h3>${chart({
      label: `${title} by day`,
      kind: 'bars',
      axis: 'Day',
      unit,
      points: all.map(({ day }) => ({ label: day })),
      series: [{ name: title, look: { colour: 1, pattern: 'solid' }, values: all.map(of) }],
    })}</div>`;
  return html`<div class="columns">
${sees.money ? one('Cost', 'usd', ({ cost_usd }) => Number(cost_usd)) : one('Tokens', 'count', ({ tokens }) => tokens)}
${one('Requests', 'count', ({ requests }) => requests)}
</div>`;
}
