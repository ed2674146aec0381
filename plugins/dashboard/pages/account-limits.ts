import {
  type AccountChange,
  type AccountRecord,
  checkAccountChange,
  planLimitsOf,
} from '../../../src/plugin.ts';
import { type AccountView, type Use, usesOf } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { editedFields, type RefusedForm, seenInput } from '../view/edited-fields.ts';
import { accountLink, linkOf, muted } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { limitBars } from '../view/limit-bars.ts';
import { modelsField, modelsFrom, modelsText } from '../view/model-fields.ts';
import { limitForm, raisedLimits, raiseForms } from '../view/raise-form.ts';
import { panel, postForm } from '../view/shell.ts';
import { addCredit, creditPanel } from './account-credit.ts';
import {
  type AccountForm,
  canChange,
  changeAccount,
  conflicting,
  newLimits,
  overridesPanel,
} from './account-forms.ts';
import { tell, toldPanel } from './account-notices.ts';
import { accountOf, accountResponse } from './account-tabs.ts';

/** What an account has used of each limit and when that is free again; operators change its limits here, and tell its people of them. */
export const limitsPage: Page = {
  name: 'limits',
  get: async request => shown(request, await accountOf(request)),
  post: change,
};

/** The forms that change what is set of an account, by the value of their buttons. */
const forms: Readonly<Record<string, AccountForm['changeOf']>> = {
  limits: newLimits,
  raise: newRaise,
  'end-raise': newRaise,
  contacts: newList('contacts'),
  models: newList('models'),
};

async function change(request: PageRequest): Promise<PageResponse> {
  const name = request.form.get('change') ?? 'limits';
  if (name === 'credit') return addCredit(request, shown);
  if (name === 'tell') return tell(request);
  if (!Object.hasOwn(forms, name)) throw new PageError(400, 'This is not a form of the dashboard.');
  return changeAccount(request, { changeOf: forms[name]!, shown });
}

async function shown(
  request: PageRequest,
  account: AccountView,
  refused?: RefusedForm,
): Promise<PageResponse> {
  const { context, scope } = request;
  const uses = await usesOf(context, account);
  const [credit, told] = await Promise.all([
    creditPanel(request, account, uses, refused),
    toldPanel(request, account, refused),
  ]);
  return accountResponse(request, account, {
    tab: 'limits',
    beside: account.plan !== undefined && muted(`Plan ${account.plan}`),
    refused,
    body: html`${panel(
      'limits',
      'Current usage',
      limitBars(uses, scope, use => actionsOf(request, account, use, refused)),
    )}
<p class="muted">They hold for all keys together. A request beyond one is answered 429, and says when to try again.</p>
${credit}
${!scope.account && overridesPanel(request, account, refused)}
${modelsPanel(request, account, refused)}
${told}`,
  });
}

/** From this share of a limit on the people of an account are told of it. */
const near = 0.8;

/** What an operator does about one limit: raises it for a time, or tells the people of the account. */
function actionsOf(request: PageRequest, account: AccountView, use: Use, refused?: RefusedForm): Part {
  const { scope, context } = request;
  const { limit } = use;
  if (scope.account) return '';
  if (limit.inherited)
    return (
      account.parent && html`<p class="muted">It is one of ${accountLink(account.parent)}, or above.</p>`
    );
  const page = linkOf('limits', { account: account.id });
  const isNear = use.used >= near * limit.max && scope.may.changeAccounts && context.settings.notices?.mail;
  const telling = account.contacts?.length
    ? limitForm(request, page, use, html`<button name="change" value="tell">Tell the contacts now</button>`)
    : html`<p><a href="#told">No contacts are set, whom this can be told to</a></p>`;
  return html`<div class="act">${canChange(request, account) && raiseForms(request, page, use, refused)}${isNear && telling}</div>`;
}

function newRaise(request: PageRequest, { plan, limits }: AccountRecord): AccountChange | RefusedForm {
  const read = raisedLimits(request, limits, planLimitsOf(request.context.settings, plan ?? undefined));
  if ('refused' in read) return read.refused;
  checkAccountChange(request.context, read.set);
  return read.set;
}

/** What the form of contacts or of models sets: texts with commas between them. */
function newList(name: 'contacts' | 'models'): AccountForm['changeOf'] {
  return (request, now) => {
    const { form, conflicts } = editedFields(request.form, { [name]: modelsText(now[name]) });
    if (conflicts.size > 0) return { ...conflicting, form, faults: conflicts };
    const contacts =
      form
        .get('contacts')
        ?.split(/[\s,]+/)
        .filter(Boolean) ?? [];
    const set = name === 'models' ? { models: modelsFrom(form, now.models) } : { contacts };
    checkAccountChange(request.context, set);
    return set;
  };
}

function modelsPanel(request: PageRequest, account: AccountView, refused?: RefusedForm): Part {
  const { id, models } = account;
  if (!canChange(request, account))
    return models && panel('models', 'Models', html`<p>It may use ${modelsText(models) || 'none'}.</p>`);
  const fields = html`${seenInput({ models: modelsText(models) })}${modelsField(models, request.context.catalog.models, refused)}
<button name="change" value="models">Save models</button>`;
  return panel(
    'models',
    'Models',
    html`<p class="muted">Ids with commas between them, or beginnings such as <code>openai/*</code>. Leave the field empty for all models.</p>
${postForm(request, linkOf('limits', { account: id }), fields, 'row')}`,
  );
}
