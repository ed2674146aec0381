import type {
  AttemptSum,
  ProviderControl,
  ProviderState,
  ProviderStatus,
  Upstream,
} from '../../../src/plugin.ts';
import { type AttemptFigures, attemptFigures } from '../attempt-figures.ts';
import { controlName, endText } from './control-fields.ts';
import { durationOf, linkOf, muted, numberOf, percentOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, emptyState, names, numbers, tableOf } from './table.ts';

/** The state of a provider or an upstream: a short label and its severity. */
interface State {
  readonly label: string;
  readonly tone: 'good' | 'warn' | 'bad';
}

/** How attempts at a provider go: its health check, its circuit breaker, its concurrency limit. */
function stateOf({
  healthy,
  breaker,
  bulkhead,
}: Pick<ProviderStatus, 'healthy' | 'breaker' | 'bulkhead'>): State {
  if (!healthy) return { label: 'health check fails', tone: 'bad' };
  if (breaker.state === 'open')
    return { label: `paused, retrying in ${durationOf(breaker.retry_in_ms)}`, tone: 'bad' };
  if (breaker.state === 'half_open') return { label: 'testing recovery', tone: 'warn' };
  if (breaker.share < 1) return { label: 'recovering', tone: 'warn' };
  if (!bulkhead.hasPermit) return { label: 'at its concurrency limit', tone: 'warn' };
  return { label: 'Active', tone: 'good' };
}

/** A state's label in its colour. */
export const stateMark = ({ label, tone }: State): Html => html`<span class="state ${tone}">${label}</span>`;

/** What operators have set of a provider, and how attempts there go; of an upstream also whether this model alone is paused there. */
export function providerMarks(
  provider: Pick<ProviderState, 'control' | 'healthy' | 'breaker' | 'bulkhead'>,
  upstream?: Upstream,
  now_ms = 0,
): Html {
  const { control } = provider;
  const state = stateOf(provider);
  // Paused by operators it is infinite, which the control says.
  const own_ms = upstream?.usable_in_ms(now_ms) ?? 0;
  const isOwn = state.tone !== 'bad' && Number.isFinite(own_ms) && own_ms > provider.breaker.retry_in_ms;
  const shown: State = isOwn ? { label: `paused, retrying in ${durationOf(own_ms)}`, tone: 'warn' } : state;
  return html`${control && controlMark(control)}${stateMark(shown)}`;
}

/** What is set; below it until when and why. */
function controlMark(control: ProviderControl): Html {
  const { reason } = control;
  return html`${stateMark({ label: controlName(control), tone: 'warn' })} <span class="nowrap muted">${endText(control).trim()}</span> ${reason && html`<span class="reason muted" title="${reason}">${reason}</span>`}`;
}

/** Attempts at all instances in a range whose name in addresses is `since`. */
export interface AttemptsInRange {
  readonly since: string;
  readonly sums: readonly AttemptSum[];
}

/** Every provider with its state at this instance, and how attempts there ended. */
export const providerTable = (providers: readonly ProviderState[], attempts: AttemptsInRange): Html =>
  tableOf('Providers and their states', providerColumns(attempts), providers, noProviders);

export const noProviders = emptyState(
  'There are no providers.',
  html`Name one under <code>providers</code> in the configuration.`,
);

/** The columns of providers; `actions` stand where they are seen in a narrow window as well. */
export function providerColumns(
  { since, sums }: AttemptsInRange,
  actions: readonly Column<ProviderState>[] = [],
): Column<ProviderState>[] {
  const figures = new Map(
    [...Map.groupBy(sums, ({ provider }) => provider)].map(([name, own]) => [name, attemptFigures(own)]),
  );
  const link = ({ name }: ProviderState) =>
    html`<a href="${linkOf('provider', { name, since })}">${name}</a>`;
  return [
    names('Provider', link, { key: 'name', by: ({ name }) => name }),
    { title: 'State', cell: provider => providerMarks(provider) },
    ...actions,
    ...attemptColumns<ProviderState>(
      ({ name }) => figures.get(name),
      ({ name }) => linkOf('requests', { failed_at: name, since }),
    ),
    numbers('In flight', provider => html`<span class="nowrap">${inFlightOf(provider)}</span>`, {
      key: 'in_flight',
      by: ({ bulkhead }) => bulkhead.in_flight,
    }),
  ];
}

export function inFlightOf({ bulkhead, config }: Pick<ProviderState, 'bulkhead' | 'config'>): string {
  const { in_flight, queued } = bulkhead;
  const of = config.max_concurrent === undefined ? '' : ` of ${numberOf(config.max_concurrent)}`;
  return `${numberOf(in_flight)}${of}${queued > 0 ? `, ${numberOf(queued)} waiting` : ''}`;
}

/** How attempts ended and how long they took; the failed ones lead to their requests. */
export function attemptColumns<R>(
  of: (row: R) => AttemptFigures | undefined,
  linkTo: (row: R) => string,
): Column<R>[] {
  const failed = (row: R) => {
    const { attempts = 0, failed = 0, kinds = [] } = of(row) ?? {};
    if (attempts === 0) return muted('–');
    if (kinds.length === 0) return percentOf(0);
    const named = kinds.map(([kind, count]) => `${numberOf(count)} ${kind}`).join(', ');
    return html`<a href="${linkTo(row)}">${percentOf(failed / attempts)}</a> ${muted(named)}`;
  };
  const rate = ({ attempts, failed }: AttemptFigures) => (attempts === 0 ? undefined : failed / attempts);
  const by = (figure: (figures: AttemptFigures) => number | undefined) => (row: R) => {
    const figures = of(row);
    return figures && figure(figures);
  };
  const times = (title: string, key: 'first_token_ms' | 'duration_ms') =>
    numbers<R>(`${title} p50 · p95 · p99`, row => timesText(of(row)?.[key]), {
      key,
      by: by(figures => figures[key][1]),
    });
  return [
    numbers('Attempts', row => numberOf(of(row)?.attempts ?? 0), {
      key: 'attempts',
      by: by(({ attempts }) => attempts),
    }),
    numbers('Failed', failed, { key: 'failed', by: by(rate) }),
    times('First token', 'first_token_ms'),
    times('Duration', 'duration_ms'),
  ];
}

/** `0.35 · 2.40 · 30.0 s` */
export function timesText(times_ms: readonly (number | undefined)[] = []): Html {
  const known = times_ms.filter(ms => ms !== undefined);
  if (known.length === 0) return muted('–');
  const texts = known.map(ms => (ms / 1000).toFixed(ms < 10_000 ? 2 : 1));
  return html`<span class="nowrap">${texts.join(' · ')} s</span>`;
}
