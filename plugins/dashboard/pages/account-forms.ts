import {
  type AccountChange,
  type AccountRecord,
  AlreadyThere,
  checkAccountChange,
  hasLimitsWithoutPlan,
  max_display_name,
  planLimitsOf,
  RecordRefused,
  withoutMoney,
} from '../../../src/plugin.ts';
import type { AccountView } from '../account-view.ts';
import type { PageRequest } from '../page-request.ts';
import { conflict_fault, editedFields, seenInput } from '../view/edited-fields.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import {
  limitFields,
  limitTexts,
  overridesFrom,
  overridesList,
  type RefusedLimits,
} from '../view/limit-fields.ts';
import { panel, postForm } from '../view/shell.ts';

/** A form that was refused. */
export interface Refused {
  readonly fault: string;
  readonly status?: 409;
  readonly overrides?: RefusedLimits;
  /** Of the other forms: what was sent, and what is wrong with the field. */
  readonly plan?: RefusedField;
  readonly display_name?: RefusedField;
  readonly parent?: RefusedField;
}

interface RefusedField {
  readonly typed: string;
  readonly fault: string;
}

/** The form that changes the plan, for an account of the store. */
export function planForm(request: PageRequest, { id, plan, source }: AccountView, refused?: Refused): Part {
  if (source !== 'store') return '';
  if (Object.keys(request.context.settings.plans).length === 0)
    return html`<p class="muted">There are no plans to choose from: add some under <code>plans</code> in the configuration.</p>`;
  const { typed = plan, fault = '' } = refused?.plan ?? {};
  const fields = html`${seenInput({ plan: plan ?? '' })}${planSelect(request, typed)}<button name="change" value="plan">Change plan</button>
${fault && html`<span class="fault">${fault}</span>`}`;
  return postForm(request, linkOf('account', { id }), fields, 'row');
}

/** Selection of configured plans, and of the chosen plan even if it no longer exists. */
export function planSelect({ context }: PageRequest, chosen: string | null | undefined): Html {
  const plans = Object.keys(context.settings.plans);
  const isGone = chosen && !plans.includes(chosen);
  return html`<label>Plan <select name="plan">
<option value="">none</option>
${plans.map(plan => html`<option value="${plan}" ${plan === chosen && html`selected`}>${plan}</option>\n`)}
${isGone && html`<option value="${chosen}" selected disabled>${chosen} (not configured)</option>`}
</select></label>`;
}

/** What the rules or the store say against a change, as a sentence. Throws what is no refusal. */
export function faultOf(thrown: unknown): string {
  if (!(thrown instanceof AlreadyThere || thrown instanceof RecordRefused)) throw thrown;
  return `${thrown.message.charAt(0).toUpperCase()}${thrown.message.slice(1)}.`;
}

/** A form with a field that was refused so. */
export function refusedBy(thrown: unknown, form: URLSearchParams): Refused {
  const fault = faultOf(thrown);
  const { field = '' } = thrown as RecordRefused;
  return { fault, ...(form.has(field) && { [field]: { typed: form.get(field)!.trim(), fault } }) };
}

/** The form that changes the display name, for an account of the store. */
export function nameForm(
  request: PageRequest,
  { id, display_name, source }: AccountView,
  refused?: Refused,
): Part {
  if (source !== 'store') return '';
  const { typed = display_name, fault = '' } = refused?.display_name ?? {};
  const fields = html`${seenInput({ display_name })}<label>Display name <input name="display_name" value="${typed}" maxlength="${max_display_name}" autocomplete="off" ${fault && html`aria-invalid="true" aria-describedby="display-name-fault"`}></label>
<button name="change" value="name">Change name</button>
${fault && html`<span class="fault" id="display-name-fault">${fault}</span>`}`;
  return postForm(request, linkOf('account', { id }), fields, 'row');
}

/** The form that puts an account of the store below another. */
export function parentForm(
  request: PageRequest,
  { id, parent, source }: AccountView,
  refused?: Refused,
): Part {
  if (source !== 'store') return '';
  const { typed = parent ?? '', fault = '' } = refused?.parent ?? {};
  const fields = html`${seenInput({ parent: parent ?? '' })}<label>Parent <input name="parent" value="${typed}" maxlength="128" placeholder="none" autocomplete="off" spellcheck="false" ${fault && html`aria-invalid="true" aria-describedby="parent-fault"`}></label>
<button name="change" value="parent">Change parent</button>
${fault && html`<span class="fault" id="parent-fault">${fault}</span>`}`;
  return postForm(request, linkOf('account', { id }), fields, 'row');
}

/** The overrides: in a form for an account of the store, otherwise as a list. */
export function overridesPanel(request: PageRequest, account: AccountView, refused?: Refused): Part {
  const { id, plan, source } = account;
  const isMoneySeen = request.scope.sees.money;
  const limits = isMoneySeen ? account.limits : withoutMoney(account.limits);
  const isFixed = source !== 'store' || !request.scope.may.change;
  const list = overridesList(limits, isFixed);
  if (isFixed) return list && panel('overrides', 'Overrides', list);
  const { context } = request;
  const fields = html`${seenInput(limitTexts(limits, isMoneySeen))}${limitFields({
    id: 'limit',
    limits,
    seesMoney: isMoneySeen,
    otherwise: planLimitsOf(context.settings, plan),
    refused: refused?.overrides,
  })}
<button name="change" value="limits">Save overrides</button>`;
  return panel(
    'overrides',
    'Overrides',
    html`<p class="muted">Limits of this account in place of the plan’s, which are shown in grey. Leave a field empty for the plan’s limit; <code>none</code> lifts it. Amounts may be typed as 400 000, 1,000, 400k or 2M.</p>
${plan === undefined && hasLimitsWithoutPlan(context.settings) && html`<p class="muted">Without a plan, the limits of the stage <code>rate-limit</code> hold until there is an override, which replaces them all.</p>`}
${postForm(request, linkOf('account', { id }), fields, 'stack')}
${list && html`<h3>Limits on single models</h3><p class="muted">Changed with <code>sluice accounts set-limits</code>.</p>${list}`}`,
  );
}

/** The form that disables or enables an account of the store. */
export function stateForm(request: PageRequest, { id, source, disabled_ms }: AccountView): Part {
  if (source !== 'store') return '';
  const form = (fields: Html) => postForm(request, linkOf('account', { id }), fields, 'row');
  if (disabled_ms !== null)
    return panel(
      'state',
      'Enable this account',
      html`<p>Its requests are admitted again, with the keys and limits that it has.</p>
${form(html`<button name="change" value="enable">Enable account</button>`)}`,
    );
  return panel(
    'state',
    'Disable this account',
    html`<details><summary>Refuse all its requests</summary>
<p>Every request with one of its keys is answered 403 from then on, at every instance within 5 seconds. Requests that are in flight end normally. It can be enabled again.</p>
${form(html`<button class="danger primary" name="change" value="disable">Disable account</button>`)}</details>`,
  );
}

const follows = 'every instance follows within 5 seconds';

/** One of the forms of the page. */
interface AccountForm {
  /** What it changes of the account as it is now, or why it is refused. Throws RecordRefused for what no account may have. */
  changeOf(request: PageRequest, now: AccountRecord): AccountChange | Refused;
  /** What the operator is told of the account that it has changed. */
  notice(after: AccountRecord): string;
}

/** The forms that change what is set of an account, by the value of their buttons. */
export const accountForms: ReadonlyMap<string, AccountForm> = new Map<string, AccountForm>([
  ['plan', { changeOf: newPlan, notice: ({ plan }) => `The plan is ${plan ?? 'none'} now; ${follows}.` }],
  ['limits', { changeOf: newLimits, notice: () => `The overrides are saved; ${follows}.` }],
  [
    'parent',
    { changeOf: newParent, notice: ({ parent }) => `The parent is ${parent ?? 'none'} now; ${follows}.` },
  ],
  ['name', { changeOf: newName, notice: () => 'The display name is saved.' }],
]);

/** What the operator is told of an account that is disabled or enabled. */
export const stateNotices: ReadonlyMap<string, string> = new Map([
  ['disable', `The account is disabled; ${follows}.`],
  ['enable', `The account is enabled; ${follows}.`],
]);

function newPlan(request: PageRequest, now: AccountRecord): AccountChange | Refused {
  const { form, conflicts } = editedFields(request.form, { plan: now.plan ?? '' });
  const typed = form.get('plan')!;
  if (typed === (now.plan ?? '')) return {};
  const conflict = conflicts.get('plan');
  if (conflict !== undefined) return { ...conflicting, plan: { typed, fault: conflict } };
  const plan = typed || null;
  checkAccountChange(request.context, { plan });
  return { plan };
}

function newLimits(request: PageRequest, { limits }: AccountRecord): AccountChange | Refused {
  const isMoneySeen = request.scope.sees.money;
  const { form, conflicts } = editedFields(request.form, limitTexts(limits, isMoneySeen));
  const read = overridesFrom(form, limits, isMoneySeen);
  const faults = new Map([...('faults' in read ? read.faults : []), ...conflicts]);
  if (conflicts.size > 0) return { ...conflicting, overrides: { form, faults } };
  if ('limits' in read) return { limits: read.limits };
  const fault = faults.get('') ?? 'The overrides were not saved: see the fields below.';
  return { fault, overrides: { form, faults } };
}

function newName(request: PageRequest, { display_name: present }: AccountRecord): AccountChange | Refused {
  const { form, conflicts } = editedFields(request.form, { display_name: present });
  const display_name = form.get('display_name')!.trim();
  const conflict = conflicts.get('display_name');
  if (conflict !== undefined)
    return { ...conflicting, display_name: { typed: display_name, fault: conflict } };
  checkAccountChange(request.context, { display_name });
  return { display_name };
}

function newParent(request: PageRequest, now: AccountRecord): AccountChange | Refused {
  const { form, conflicts } = editedFields(request.form, { parent: now.parent ?? '' });
  const typed = form.get('parent')!.trim();
  const conflict = conflicts.get('parent');
  if (conflict !== undefined) return { ...conflicting, parent: { typed, fault: conflict } };
  return { parent: typed || null };
}

const conflicting = { fault: conflict_fault, status: 409 } as const;
