import type { AttemptSum, ExtensionContext, ProviderState, ProviderStatus } from '../../../src/plugin.ts';
import { durationWithin } from '../traffic-groups.ts';
import { controlText } from './control-fields.ts';
import { durationOf, linkOf, muted, numberOf, percentOf, secondsOf } from './format.ts';
import { type Html, html } from './html.ts';
import { type Column, names, numbers, tableOf } from './table.ts';

/** The state of a provider or an upstream: a short label and its severity. */
export interface State {
  readonly label: string;
  readonly tone: 'good' | 'warn' | 'bad';
}

/** A provider's state: what operators have set first, then its health check, its circuit breaker, its concurrency limit. */
export function providerState({
  healthy,
  breaker,
  bulkhead,
  control,
}: ProviderStatus & Partial<Pick<ProviderState, 'control'>>): State {
  if (control && (control.state !== 'active' || control.weight === 0))
    return { label: controlText(control), tone: 'warn' };
  if (!healthy) return { label: 'health check fails', tone: 'bad' };
  if (breaker.state === 'open')
    return { label: `paused, retrying in ${durationOf(breaker.retry_in_ms)}`, tone: 'bad' };
  if (breaker.state === 'half_open') return { label: 'testing recovery', tone: 'warn' };
  if (breaker.share < 1) return { label: 'recovering', tone: 'warn' };
  if (!bulkhead.hasPermit) return { label: 'at its concurrency limit', tone: 'warn' };
  return { label: control ? `Active, ${controlText(control)}` : 'Active', tone: 'good' };
}

/** A state's label in its colour. */
export const stateMark = ({ label, tone }: State): Html => html`<span class="state ${tone}">${label}</span>`;

/** How the attempts of each provider ended in a range. */
interface AttemptsInRange {
  /** The name of the range in addresses. */
  readonly since: string;
  readonly sums: readonly AttemptSum[];
}

/** Every provider and its state at this instance, with how it is set up; or with how many of its attempts succeeded at all instances. */
export function providerTable(
  { catalog }: ExtensionContext,
  providers: readonly ProviderState[],
  attempts?: AttemptsInRange,
): Html {
  const serves = (name: string): number =>
    catalog.models.filter(({ upstreams }) => upstreams.some(({ provider }) => provider === name)).length;
  const details: readonly Column<ProviderState>[] = [
    numbers('Models', ({ name }) => numberOf(serves(name))),
    { title: 'Adapter', cell: ({ adapter }) => adapter },
    names('Address', ({ address }) => `${address.host}:${address.port}`),
  ];
  return tableOf<ProviderState>(
    'Providers and their states',
    [
      names('Provider', ({ name }) => html`<a href="${linkOf('provider', { name })}">${name}</a>`),
      { title: 'State', cell: provider => stateMark(providerState(provider)) },
      ...(attempts ? attemptColumns(attempts) : []),
      { title: 'Circuit breaker', cell: ({ breaker }) => breaker.state.replace('_', ' ') },
      ...(attempts ? [] : [{ title: 'Health check', cell: healthOf }]),
      numbers('In flight', inFlightOf),
      numbers('Waiting', ({ bulkhead }) => numberOf(bulkhead.queued)),
      ...(attempts ? [] : details),
    ],
    providers,
  );
}

function healthOf({ config, healthy }: ProviderState): Html | string {
  if (config.health_check === undefined) return muted('none');
  return healthy ? 'good' : 'fails';
}

function inFlightOf({ bulkhead, config }: ProviderState): string {
  const { max_concurrent } = config;
  return `${numberOf(bulkhead.in_flight)}${max_concurrent === undefined ? '' : ` of ${numberOf(max_concurrent)}`}`;
}

/** Kinds of failures that are named; the others are in the count of attempts. */
const max_kinds = 3;

/** The kind of attempts whose request was wrong: they say nothing of the provider. */
const clients_kind = 'refused';
/** The kind of those whose connection alone has failed, which are sent again. In no rate, as in the alerts. */
const resent_kind = 'stale_connection';

const attemptsIn = (sums: readonly AttemptSum[]): number =>
  sums.reduce((total, { attempts }) => total + attempts, 0);

function attemptColumns({ since, sums }: AttemptsInRange): readonly Column<ProviderState>[] {
  const byProvider = Map.groupBy(sums, ({ provider }) => provider);
  const of = ({ name }: ProviderState) => byProvider.get(name) ?? [];
  const failed = (provider: ProviderState) =>
    of(provider).filter(({ outcome, kind }) => outcome === 'failed' && kind !== clients_kind);
  const success = (provider: ProviderState) => {
    const completed = attemptsIn(of(provider).filter(({ outcome }) => outcome === 'completed'));
    const all = completed + attemptsIn(failed(provider).filter(({ kind }) => kind !== resent_kind));
    if (all === 0) return muted('no attempt');
    return html`<span class="nowrap">${percentOf(completed / all)} ${muted(`of ${numberOf(all)}`)}</span>`;
  };
  const clients = (provider: ProviderState) =>
    numberOf(attemptsIn(of(provider).filter(({ kind }) => kind === clients_kind)));
  const took = (provider: ProviderState) => {
    const [half, most] = [0.5, 0.95].map(share => durationWithin(of(provider), share));
    return half === undefined || most === undefined
      ? muted('–')
      : html`<span class="nowrap">${secondsOf(Math.round(half))} · ${secondsOf(Math.round(most))}</span>`;
  };
  const failures = (provider: ProviderState) => {
    const kinds = failed(provider);
    if (kinds.length === 0) return muted('none');
    const named = kinds.slice(0, max_kinds).map(({ kind, attempts }) => `${numberOf(attempts)} ${kind}`);
    // Without an end, so that the list can go on by itself.
    const link = linkOf('requests', { failed_at: provider.name, since });
    return html`<a href="${link}">${named.join(', ')}${kinds.length > max_kinds && ', …'}</a>`;
  };
  return [
    numbers('Success rate', success),
    { title: 'Failed attempts', cell: failures },
    numbers('Client errors', clients),
    numbers('Attempt p50 · p95', took),
  ];
}
