import { isMoneyLimit, limitedAccount, limitStates, usageNotice } from '../../../src/plugin.ts';
import type { AccountView } from '../account-view.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { type RefusedForm, refusedField, seenInput } from '../view/edited-fields.ts';
import { linkOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { modelsText } from '../view/model-fields.ts';
import { isOf } from '../view/raise-form.ts';
import { panel, postForm } from '../view/shell.ts';
import { emptyState, tableOf } from '../view/table.ts';
import { canChange } from './account-forms.ts';
import { accountOf } from './account-tabs.ts';
import { noticeColumns } from './notices.ts';

/** Notices that are shown; their page has all. */
const max_notices = 5;

/** Who is told of the limits of an account, when, and what they were told last. */
export async function toldPanel(
  request: PageRequest,
  account: AccountView,
  refused?: RefusedForm,
): Promise<Part> {
  const { context, scope, session } = request;
  if (scope.account) return '';
  const { id, contacts = [] } = account;
  const { mail, thresholds } = context.settings.notices ?? {};
  const told = await context.records.store.notices?.list({ subject: `account:${id}`, limit: max_notices });
  const seen = (told ?? []).filter(({ data }) => scope.sees.money || !isMoneyLimit(String(data.limit)));
  const field = refusedField(refused, 'contacts', modelsText(contacts));
  const fields = html`${seenInput({ contacts: modelsText(contacts) })}<label class="wide">Contacts <input name="contacts" value="${field.value}" maxlength="6000" placeholder="mail addresses, with commas between them" autocomplete="off" spellcheck="false" ${field.attributes}></label>${field.fault}
<button name="change" value="contacts">Save contacts</button>`;
  const when = mail?.customers
    ? `The contacts are told by mail when ${thresholds?.join(', ')} per cent of a limit on days, weeks, months or in total are used.`
    : `The contacts are told by mail when an operator says so, above, and not by themselves: notices.mail.customers is off.`;
  return panel(
    'told',
    'Who is told of limits',
    html`<p class="muted">${mail ? when : html`Nobody is told by mail: set <code>notices.mail</code> in the configuration.`}</p>
${canChange(request, account) ? postForm(request, linkOf('limits', { account: id }), fields, 'row') : html`<p>${modelsText(contacts) || 'No contacts are set.'}</p>`}
<h3>Told last</h3>${tableOf(
      'Notices of this account, newest first',
      noticeColumns.filter(({ title }) => title !== 'About'),
      seen,
      emptyState('Nothing has been told of this account.', 'What is told appears here with who has it.'),
    )}
${session.role === 'admin' && html`<p><a href="notices">All notices, and a test</a></p>`}`,
  );
}

/** Tells the contacts of an account how much of a limit is used, once an hour. */
export async function tell(request: PageRequest): Promise<PageResponse> {
  const { context, form, scope } = request;
  if (!scope.may.changeAccounts) throw new PageError(403, 'Only who runs this service tells of limits.');
  const { id, contacts = [] } = await accountOf(request);
  const { notices } = context.records.store;
  if (!notices || !context.settings.notices?.mail || contacts.length === 0)
    throw new PageError(
      422,
      'There is nobody to tell.',
      'Set contacts of the account, and notices.mail in the configuration.',
    );
  if (context.state.outage) throw new PageError(503, 'The state store does not answer.', 'Nobody was told.');
  const states = await limitStates(context, await limitedAccount(context, id));
  const state = states.find(
    each => isOf(form, each) && !each.inherited && (scope.sees.money || !isMoneyLimit(each.name)),
  );
  if (!state) throw new PageError(404, 'This limit is no longer there.');
  const operator = operatorOf(request);
  const isNew = await notices.add(usageNotice(id, state, operator.at_ms), operator);
  const said = isNew
    ? `It is sent to ${contacts.join(', ')} within seconds.`
    : 'They have been told of this limit less than an hour ago.';
  return changed(request, linkOf('limits', { account: id }), said);
}
