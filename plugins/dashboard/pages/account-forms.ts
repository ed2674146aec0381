import {
  type AccountChange,
  type AccountRecord,
  AlreadyThere,
  checkAccountChange,
  checkParent,
  hasLimitsWithoutPlan,
  max_display_name,
  planLimitsOf,
  RecordRefused,
  withoutMoney,
} from '../../../src/plugin.ts';
import { type AccountView, storedAccount } from '../account-view.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import {
  conflict_fault,
  editedFields,
  type RefusedForm,
  refusedField,
  seenInput,
} from '../view/edited-fields.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { limitFields, limitTexts, overridesFrom, overridesList } from '../view/limit-fields.ts';
import { optionsOf } from '../view/search-form.ts';
import { foldedPanel, panel, postForm } from '../view/shell.ts';
import { accountOf } from './account-tabs.ts';

/** Selection of configured plans, and of the chosen plan even if it no longer exists. */
export function planSelect(
  { context }: PageRequest,
  chosen: string | null | undefined,
  refused?: RefusedForm,
): Html {
  const plans = Object.keys(context.settings.plans);
  const { value, attributes, fault } = refusedField(refused, 'plan', chosen ?? '');
  const isGone = value !== '' && !plans.includes(value);
  return html`<label>Plan <select name="plan" ${attributes}>
${optionsOf([['', 'none'], ...plans.map(plan => [plan, plan] as const)], value)}${isGone && html`<option value="${value}" selected disabled>${value} (not configured)</option>`}
</select></label>${fault}`;
}

/** What the rules or the store say against a change of a form. Throws what is no refusal. */
export function refusedBy(thrown: unknown, form: URLSearchParams): RefusedForm {
  if (!(thrown instanceof AlreadyThere || thrown instanceof RecordRefused)) throw thrown;
  const fault = `${thrown.message.charAt(0).toUpperCase()}${thrown.message.slice(1)}.`;
  const field = (thrown instanceof RecordRefused && thrown.field) || 'id';
  return { form, fault, faults: new Map([[field, fault]]) };
}

const settingsOf = ({ plan, parent, display_name }: AccountView | AccountRecord) => ({
  plan: plan ?? '',
  parent: parent ?? '',
  display_name,
});

/** Whether the reader changes this account here. */
export const canChange = ({ scope }: PageRequest, { source }: AccountView): boolean =>
  scope.may.changeAccounts && source === 'store';

/** The form that changes plan, parent and display name, folded unless it was refused. */
export function settingsForm(request: PageRequest, account: AccountView, refused?: RefusedForm): Part {
  if (!canChange(request, account)) return '';
  const now = settingsOf(account);
  const parent = refusedField(refused, 'parent', now.parent);
  const name = refusedField(refused, 'display_name', now.display_name);
  const fields = html`${seenInput(now)}${planSelect(request, now.plan, refused)}
<label>Parent <input name="parent" value="${parent.value}" maxlength="128" placeholder="none" autocomplete="off" spellcheck="false" ${parent.attributes}></label>${parent.fault}
<label>Display name <input name="display_name" value="${name.value}" maxlength="${max_display_name}" placeholder="none" autocomplete="off" ${name.attributes}></label>${name.fault}
<button>Save changes</button>`;
  const form = postForm(request, linkOf('account', { id: account.id }), fields, 'row');
  return foldedPanel('settings', 'Change plan, parent or name', form, refused !== undefined);
}

/** The overrides: in a form for an account of the store, otherwise as a list. */
export function overridesPanel(request: PageRequest, account: AccountView, refused?: RefusedForm): Part {
  const { id, plan } = account;
  const isMoneySeen = request.scope.sees.money;
  const limits = isMoneySeen ? account.limits : withoutMoney(account.limits);
  const isFixed = !canChange(request, account);
  const list = overridesList(limits, isFixed);
  if (isFixed) return list && panel('overrides', 'Overrides', list);
  const { context } = request;
  const otherwise = planLimitsOf(context.settings, plan);
  const fields = html`${seenInput(limitTexts(limits, isMoneySeen, otherwise))}${limitFields({
    id: 'limit',
    limits,
    seesMoney: isMoneySeen,
    otherwise,
    refused,
  })}
<button>Save overrides</button>`;
  return panel(
    'overrides',
    'Overrides',
    html`<p class="muted">Limits of this account in place of the plan’s, which are shown in grey. Leave a field empty for the plan’s limit; <code>none</code> lifts it. Amounts may be typed as 400 000, 1,000, 400k or 2M.</p>
${plan === undefined && hasLimitsWithoutPlan(context.settings) && html`<p class="muted">Without a plan, the limits of the stage <code>rate-limit</code> hold until there is an override, which replaces them all.</p>`}
${postForm(request, linkOf('limits', { account: id }), fields, 'stack')}
${list && html`<h3>Limits on single models</h3><p class="muted">Changed with <code>sluice accounts set-limits</code>.</p>${list}`}`,
  );
}

/** The form that disables or enables an account of the store. */
export function stateForm(request: PageRequest, { id, source, disabled_ms }: AccountView): Part {
  if (source !== 'store' || !request.scope.may.changeAccounts) return '';
  const form = (fields: Html) => postForm(request, linkOf('account', { id }), fields, 'row');
  if (disabled_ms !== null)
    return panel(
      'state',
      'Enable this account',
      html`<p>Its requests are admitted again, with the keys and limits that it has.</p>
${form(html`<button name="change" value="enable">Enable account</button>`)}`,
    );
  return foldedPanel(
    'state',
    'Disable this account',
    html`<p>Every request with one of its keys is answered 403 from then on, at every instance within 5 seconds. Requests that are in flight end normally. It can be enabled again.</p>
${form(html`<button class="danger primary" name="change" value="disable">Disable account</button>`)}`,
  );
}

const follows = 'every instance follows within 5 seconds';

/** The reader's account for a form that changes it. Throws a PageError where that is not done here. */
export async function changeableAccount(request: PageRequest): Promise<AccountView> {
  const account = await accountOf(request);
  if (!request.scope.may.changeAccounts)
    throw new PageError(403, 'An account is changed by who runs this service.');
  if (account.source === 'store') return account;
  const place = account.source === 'application' ? 'the application' : 'the configuration file';
  throw new PageError(422, `This account is changed in ${place}.`);
}

/** Disables or enables an account. */
export async function switchAccount(request: PageRequest, to: 'disable' | 'enable'): Promise<PageResponse> {
  const { id } = await changeableAccount(request);
  await request.context.records.store.accounts[to](id, operatorOf(request));
  return changed(request, linkOf('account', { id }), `The account is ${to}d; ${follows}.`);
}

/** A form that changes an account. */
export interface AccountForm {
  /** What it changes of the account as it is now, or why it is refused. Throws RecordRefused for what no account may have. */
  changeOf(request: PageRequest, now: AccountRecord): AccountChange | RefusedForm;
  /** The page of the form, again. */
  shown(request: PageRequest, account: AccountView, refused: RefusedForm): Promise<PageResponse>;
}

/** Changes an account by a form, and leads to its page, or shows it again with what was refused. */
export async function changeAccount(
  request: PageRequest,
  { changeOf, shown }: AccountForm,
): Promise<PageResponse> {
  const { context, form, path, query } = request;
  const account = await changeableAccount(request);
  const { accounts } = context.records.store;
  let refused: RefusedForm | undefined;
  const set = (now: AccountRecord): AccountChange => {
    const wanted = changeOf(request, now);
    refused = 'fault' in wanted ? wanted : undefined;
    return 'fault' in wanted ? {} : wanted;
  };
  try {
    await checkParent(context, accounts, form.get('parent')?.trim() || null);
    const after = await accounts.change(account.id, set, operatorOf(request));
    if (refused) return await shown(request, storedAccount(after), refused);
  } catch (thrown) {
    return shown(request, account, refusedBy(thrown, form));
  }
  return changed(request, linkOf(path, Object.fromEntries(query)), `The account is changed; ${follows}.`);
}

/** What the form of plan, parent and name sets. */
export function newSettings(request: PageRequest, now: AccountRecord): AccountChange | RefusedForm {
  const { form, conflicts } = editedFields(request.form, settingsOf(now));
  if (conflicts.size > 0) return { ...conflicting, form, faults: conflicts };
  const text = (name: string) => form.get(name)!.trim();
  const [plan, parent, display_name] = [text('plan') || null, text('parent') || null, text('display_name')];
  checkAccountChange(request.context, { ...(plan !== now.plan && { plan }), display_name });
  return { plan, parent, display_name };
}

/** What the form of overrides sets. */
export function newLimits(
  request: PageRequest,
  { plan, limits }: AccountRecord,
): AccountChange | RefusedForm {
  const isMoneySeen = request.scope.sees.money;
  const ofPlan = planLimitsOf(request.context.settings, plan ?? undefined);
  const { form, conflicts } = editedFields(request.form, limitTexts(limits, isMoneySeen, ofPlan));
  const read = overridesFrom(form, limits, isMoneySeen, ofPlan);
  const faults = new Map([...('faults' in read ? read.faults : []), ...conflicts]);
  if (conflicts.size > 0) return { ...conflicting, form, faults };
  if ('limits' in read) return { limits: read.limits };
  const fault = faults.get('') ?? 'The overrides were not saved: see the fields below.';
  return { fault, form, faults };
}

/** What is said of a form that edits what others have edited as well. */
export const conflicting = { fault: conflict_fault, status: 409 } as const;
