import { type ListedProvider, RecordRefused } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { historyPanel } from '../view/audit-table.ts';
import { controlFields, controlText, readControlFields } from '../view/control-fields.ts';
import { conflict_fault, isOutdated, seenInput } from '../view/edited-fields.ts';
import { linkOf, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { inMemoryNotice, pageResponse, panel, postForm } from '../view/shell.ts';

/** One provider: what operators have set of it, and the forms that set it. */
export const providerPage: Page = {
  name: 'provider',
  get: request => shown(request, providerOf(request)),
  post: change,
};

function providerOf({ context, query }: PageRequest): ListedProvider {
  const name = query.get('name') ?? '';
  const found = context.providers.find(provider => provider.name === name);
  if (found) return found;
  throw new PageError(404, `There is no provider “${name}”.`, 'Look for it in the list of providers.');
}

interface Refused {
  readonly fault: string;
  readonly status?: 409;
}

async function shown(
  request: PageRequest,
  provider: ListedProvider,
  refused?: Refused,
): Promise<PageResponse> {
  const { name, control } = provider;
  return pageResponse(request, {
    title: name,
    section: 'models',
    fault: refused?.fault,
    status: refused?.status,
    body: html`${inMemoryNotice(request)}${panel('service', 'Service', html`${facts(provider)}${request.scope.may.change && control && form(request, provider, html`<button name="change" value="resume">Resume as configured</button>`, 'row')}`)}
${request.scope.may.change && panel('change', 'Take it out of service', html`${explained}${form(request, provider, controlFields(request.form), 'stack')}`)}
${await historyPanel(request, 'provider', name)}`,
  });
}

const explained = html`<p><strong>Pause</strong>: no attempt begins there; those that run go on. <strong>Drain</strong>: no request begins there; those that run go on, also with further attempts, and with sticky routing conversations. <strong>Weight</strong>: in place of the weights of its upstreams, of all models. What is set replaces what was set before.</p>
<p class="muted">Every instance follows within a second. At the end it is as configured again.</p>`;

function facts({ control, address, adapter }: ListedProvider): Html {
  return html`<dl>
<dt>Set by operators</dt><dd>${control ? controlText(control) : 'nothing: it is as configured'}</dd>
${control && html`<dt>By</dt><dd>${control.actor}, ${timeOf(control.at_ms)}</dd>`}
${control?.reason && html`<dt>Reason</dt><dd>${control.reason}</dd>`}
<dt>Adapter</dt><dd>${adapter}</dd>
<dt>Address</dt><dd>${address.host}:${address.port}</dd>
</dl>`;
}

const form = (request: PageRequest, provider: ListedProvider, fields: Part, style: string): Html =>
  postForm(
    request,
    linkOf('provider', { name: provider.name }),
    html`${seenInput(seenOf(provider))}${fields}`,
    style,
  );

/** By which two who change it at once notice each other. */
const seenOf = ({ control }: ListedProvider) => ({
  control: control ? `${control.at_ms} ${control.actor}` : '',
});

async function change(request: PageRequest): Promise<PageResponse> {
  const provider = providerOf(request);
  const { context, form } = request;
  const { name } = provider;
  if (isOutdated(form, seenOf(provider)))
    return shown(request, provider, { fault: conflict_fault, status: 409 });
  const operator = operatorOf(request);
  const page = linkOf('provider', { name });
  if (form.get('change') === 'resume') {
    await context.controls.resume(name, operator);
    return changed(request, page, `${name} is as configured again; every instance follows within a second.`);
  }
  const read = readControlFields(form, operator.at_ms);
  if (typeof read === 'string') return shown(request, provider, { fault: read });
  try {
    const set = await setOf(request)(name, { ...read, operator });
    return changed(request, page, `${name}: ${controlText(set)}; every instance follows within a second.`);
  } catch (thrown) {
    if (thrown instanceof RecordRefused)
      return shown(request, provider, { fault: `Nothing was set: ${thrown.message}.` });
    throw thrown;
  }
}

/** What the button of the form sets. */
function setOf({ context: { controls }, form }: PageRequest) {
  const typed = (form.get('weight') ?? '').trim();
  switch (form.get('change')) {
    case 'pause':
      return controls.pause;
    case 'drain':
      return controls.drain;
    case 'weight':
      return (name: string, options: Parameters<typeof controls.pause>[1]) =>
        controls.weight(name, typed === '' ? Number.NaN : Number(typed), options);
    default:
      throw new PageError(400, 'This is not a form of the dashboard.');
  }
}
