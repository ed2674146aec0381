import {
  type ExtensionContext,
  type ProviderState,
  providerStates,
  RecordRefused,
} from '../../src/plugin.ts';
import { changed, operatorOf, type PageRequest } from './page-request.ts';
import { localPage, PageError, type PageResponse } from './page-response.ts';
import { typedDecimal } from './typed-number.ts';
import { controlText, readControlFields, seenOf } from './view/control-fields.ts';
import { conflict_fault, isOutdated, seenInput } from './view/edited-fields.ts';
import { linkOf } from './view/format.ts';
import { type Html, html, type Part } from './view/html.ts';
import { postForm } from './view/shell.ts';

/** Why nothing was set. */
export interface NotSwitched {
  readonly fault?: string;
  readonly status?: 409;
  /** What is to be confirmed. */
  readonly question?: Html | undefined;
}

/** A form that sets something of a provider. */
export const switchForm = (request: PageRequest, provider: ProviderState, fields: Part, style = ''): Html =>
  postForm(
    request,
    linkOf('provider', { name: provider.name }),
    html`${seenInput(seenOf(provider))}${fields}`,
    style,
  );

/** Sets what a form says of a provider, and goes back to the page that it names. `again` shows the form once more. */
export async function switchProvider(
  request: PageRequest,
  provider: ProviderState,
  again: (why: NotSwitched) => Promise<PageResponse>,
): Promise<PageResponse> {
  const { context, form } = request;
  const { name } = provider;
  if (isOutdated(form, seenOf(provider))) return again({ fault: conflict_fault, status: 409 });
  const operator = operatorOf(request);
  const page = form.has('back') ? localPage(form.get('back')) : linkOf('provider', { name });
  if (form.get('change') === 'resume') {
    await context.controls.resume(name, operator);
    return changed(request, page, `${name} is as configured again; every instance follows within a second.`);
  }
  const read = readControlFields(form, operator.at_ms);
  if (typeof read === 'string') return again({ fault: read });
  const set = setOf(request);
  const question = await questionOf(request, provider);
  if (question) return again({ question });
  try {
    const control = await set(name, { ...read, operator });
    return changed(
      request,
      page,
      `${name}: ${controlText(control)}; every instance follows within a second.`,
    );
  } catch (thrown) {
    if (thrown instanceof RecordRefused) return again({ fault: `Nothing was set: ${thrown.message}.` });
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
  return Number(typedDecimal(form.get('weight') ?? '') ?? Number.NaN);
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
<p>Without ${provider.name} their requests are answered 502, or by the models that they fall back to.</p>${switchForm(request, provider, fields, 'row')}</section>`;
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
