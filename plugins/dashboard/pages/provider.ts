import {
  type ExtensionContext,
  type ProviderState,
  providerStates,
  RecordRefused,
} from '../../../src/plugin.ts';
import { attemptFigures } from '../attempt-figures.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { localPage, PageError, type PageResponse } from '../page-response.ts';
import { rangeAt, ranges, trafficQuestionOf } from '../traffic-range.ts';
import { historyPanel } from '../view/audit-table.ts';
import { controlFields, controlText, readControlFields, seenOf } from '../view/control-fields.ts';
import { conflict_fault, isOutdated, seenInput } from '../view/edited-fields.ts';
import { linkOf, muted, numberOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { attemptColumns, inFlightOf, providerMarks } from '../view/provider-table.ts';
import { rangeLinks } from '../view/range-links.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';
import { emptyState, names, numbers, tableOf } from '../view/table.ts';

/** One provider: how attempts there go, what operators have set of it, and the forms that set it. */
export const providerPage: Page = {
  name: 'provider',
  get: async request => shown(request, await providerOf(request)),
  post: change,
};

async function providerOf({ context, query }: PageRequest): Promise<ProviderState> {
  const name = query.get('name') ?? '';
  const found = (await providerStates(context)).find(provider => provider.name === name);
  if (found) return found;
  throw new PageError(404, `There is no provider “${name}”.`, 'Look for it in the list of providers.');
}

interface Answer {
  readonly fault?: string;
  readonly status?: 409;
  /** What is to be confirmed. */
  readonly question?: Html | undefined;
}

async function shown(
  request: PageRequest,
  provider: ProviderState,
  { question, ...refused }: Answer = {},
): Promise<PageResponse> {
  const { name, control } = provider;
  const mayChange = request.scope.may.change;
  return pageResponse(request, {
    title: name,
    section: 'providers',
    ...refused,
    body: html`${inMemoryNotice(request)}${question}
${panel('service', 'Service', html`${facts(provider)}${mayChange && control && form(request, provider, html`<button name="change" value="resume">Resume as configured</button>`, 'row')}`)}
${await attemptsPanel(request, name)}
${mayChange && panel('change', 'Take it out of service', html`${explained}${form(request, provider, controlFields(request.form), 'stack')}`)}
${await historyPanel(request, 'provider', name)}`,
  });
}

const explained = html`<p><strong>Pause</strong>: no attempt begins there; those that run go on. <strong>Drain</strong>: no request begins there; those that run go on, also with further attempts, and with sticky routing conversations. <strong>Weight</strong>: in place of the weights of its upstreams, of all models. What is set replaces what was set before.</p>
<p class="muted">Every instance follows within a second. At the end it is as configured again.</p>`;

function facts(provider: ProviderState): Html {
  const { control, address, adapter, breaker } = provider;
  return html`<dl>
<dt>State</dt><dd>${providerMarks(provider)}</dd>
${control && html`<dt>Set by</dt><dd>${control.actor}, ${timeOf(control.at_ms)}</dd>`}
<dt>Circuit breaker</dt><dd>${breaker.state.replace('_', ' ')}</dd>
<dt>In flight</dt><dd>${inFlightOf(provider)}</dd>
<dt>Adapter</dt><dd>${adapter}</dd>
<dt>Address</dt><dd>${address.host}:${address.port}</dd>
</dl>`;
}

/** Attempts at each model of a provider, and why they failed. */
async function attemptsPanel(request: PageRequest, name: string): Promise<Html> {
  const { context, query } = request;
  const { since } = trafficQuestionOf(query);
  const range = rangeAt(since, context.clock.epoch_ms());
  const sums = await context.records.store.traffic.attempts({ ...range, provider: name });
  const served = context.catalog.models.flatMap(({ id, upstreams }) =>
    upstreams.filter(({ provider }) => provider === name).map(({ model }) => ({ id, model })),
  );
  const rows = [...new Set([...served, ...sums].map(({ model }) => model))].map(model => ({
    model,
    ids: served.filter(one => one.model === model).map(({ id }) => id),
    figures: attemptFigures(sums.filter(one => one.model === model)),
  }));
  const requestsLink = (ids: readonly string[]) =>
    linkOf('requests', { failed_at: name, since, ...(ids.length === 1 && { model: ids[0] }) });
  const byModel = tableOf<(typeof rows)[number]>(
    'Attempts by model',
    [
      names('Model there', ({ model }) => model || muted('passed through')),
      names('Model', ({ ids }) =>
        ids.map(id => html`<a href="${linkOf('model', { id, since })}">${id}</a> `),
      ),
      ...attemptColumns<(typeof rows)[number]>(
        ({ figures }) => figures,
        ({ ids }) => requestsLink(ids),
      ),
    ],
    rows,
    emptyState(
      'No model is served by this provider.',
      html`Name it under <code>upstreams</code> of a model.`,
    ),
  );
  const { kinds } = attemptFigures(sums);
  const failures = kinds.length > 0 && failureKinds(kinds, requestsLink([]));
  return html`<section class="panel" aria-labelledby="attempts"><div class="head"><h2 id="attempts">Attempts, last ${ranges[since].title}</h2>${rangeLinks(request, since)}</div>${byModel}${failures}</section>`;
}

const failureKinds = (kinds: readonly (readonly [string, number])[], link: string): Html =>
  tableOf<readonly [string, number]>(
    'Failed attempts by kind',
    [
      names('Failed because', ([kind]) => html`<code>${kind}</code>`),
      numbers('Attempts', ([, attempts]) => html`<a href="${link}">${numberOf(attempts)}</a>`),
    ],
    kinds,
  );

const form = (request: PageRequest, provider: ProviderState, fields: Part, style: string): Html =>
  postForm(
    request,
    linkOf('provider', { name: provider.name }),
    html`${seenInput(seenOf(provider))}${fields}`,
    style,
  );

async function change(request: PageRequest): Promise<PageResponse> {
  const provider = await providerOf(request);
  const { context, form } = request;
  const { name } = provider;
  if (isOutdated(form, seenOf(provider)))
    return shown(request, provider, { fault: conflict_fault, status: 409 });
  const operator = operatorOf(request);
  const page = form.has('back') ? localPage(form.get('back')) : linkOf('provider', { name });
  if (form.get('change') === 'resume') {
    await context.controls.resume(name, operator);
    return changed(request, page, `${name} is as configured again; every instance follows within a second.`);
  }
  const read = readControlFields(form, operator.at_ms);
  if (typeof read === 'string') return shown(request, provider, { fault: read });
  const set = setOf(request);
  const question = await questionOf(request, provider);
  if (question) return shown(request, provider, { question });
  try {
    const control = await set(name, { ...read, operator });
    return changed(
      request,
      page,
      `${name}: ${controlText(control)}; every instance follows within a second.`,
    );
  } catch (thrown) {
    if (thrown instanceof RecordRefused)
      return shown(request, provider, { fault: `Nothing was set: ${thrown.message}.` });
    throw thrown;
  }
}

/** What the button of the form sets. */
function setOf({ context: { controls }, form }: PageRequest) {
  switch (form.get('change')) {
    case 'pause':
      return controls.pause;
    case 'drain':
      return controls.drain;
    case 'weight':
      return (name: string, options: Parameters<typeof controls.pause>[1]) =>
        controls.weight(name, weightIn(form), options);
    default:
      throw new PageError(400, 'This is not a form of the dashboard.');
  }
}

function weightIn(form: URLSearchParams): number {
  const typed = (form.get('weight') ?? '').trim();
  return typed === '' ? Number.NaN : Number(typed);
}

/** Fields that are sent again with the answer. */
const repeated = ['change', 'end', 'end_at', 'reason', 'weight', 'back'] as const;
const max_named = 5;

/** Asks before the last provider of a model is taken out of service. */
async function questionOf(request: PageRequest, provider: ProviderState): Promise<Html | undefined> {
  const { context, form: sent } = request;
  const staysIn = sent.get('change') === 'weight' && weightIn(sent) !== 0;
  const models = staysIn || sent.has('confirmed') ? [] : await modelsOnlyAt(context, provider.name);
  if (models.length === 0) return undefined;
  const more = models.length > max_named ? ` and ${models.length - max_named} more` : '';
  const fields = html`${repeated.map(name => html`<input type="hidden" name="${name}" value="${sent.get(name) ?? ''}">`)}
<button name="confirmed" value="yes" class="danger">Take it out of service</button> <a class="button" href="${localPage(sent.get('back') ?? 'providers')}">Leave it</a>`;
  return html`<section class="panel" role="alert"><h2>Nothing else serves ${models.slice(0, max_named).join(', ')}${more}</h2>
<p>Without ${provider.name} their requests are answered 502, or by the models that they fall back to.</p>${form(request, provider, fields, 'row')}</section>`;
}

/** The models that no other provider would serve now. */
async function modelsOnlyAt(context: ExtensionContext, name: string): Promise<string[]> {
  const serving = (await providerStates(context)).filter(
    ({ control, healthy, breaker }) =>
      healthy &&
      breaker.state !== 'open' &&
      (control?.state ?? 'active') === 'active' &&
      control?.weight !== 0,
  );
  const others = new Set(serving.map(provider => provider.name));
  others.delete(name);
  return context.catalog.models
    .filter(({ upstreams }) => upstreams.some(({ provider }) => provider === name))
    .filter(({ upstreams }) => !upstreams.some(({ provider }) => others.has(provider)))
    .map(({ id }) => id);
}
