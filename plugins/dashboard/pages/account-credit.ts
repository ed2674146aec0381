import { creditOf, hashKey, max_reason, RequestRepeated } from '../../../src/plugin.ts';
import { nonce_field } from '../access/issued-keys.ts';
import type { AccountView, Use, Uses } from '../account-view.ts';
import { changed, operatorOf, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { typedDollars } from '../typed-number.ts';
import { type RefusedForm, refusedField } from '../view/edited-fields.ts';
import { dollars, dollarText, linkOf, timeOf } from '../view/format.ts';
import { html, type Part } from '../view/html.ts';
import { figure, panel, postForm } from '../view/shell.ts';
import { names, numbers, tableOf } from '../view/table.ts';
import { type AccountForm, canChange, changeableAccount, refusedBy } from './account-forms.ts';
import { nonceInput } from './issue-once.ts';

/** Credits that are shown; the history has all. */
const max_credits = 5;

/** What is left of prepaid credit; for operators with what was added last, and the form that adds to it. */
export async function creditPanel(
  request: PageRequest,
  account: AccountView,
  uses: Uses,
  refused?: RefusedForm,
): Promise<Part> {
  const { context, scope } = request;
  if (!scope.sees.money) return '';
  const { id } = account;
  const isCredit = ({ limit }: Use) =>
    limit.name === 'usd_total' && limit.model === undefined && !limit.inherited;
  const use = typeof uses === 'string' ? undefined : uses.find(isCredit);
  const isOpen = canChange(request, account);
  if (!use && !isOpen) return '';
  const left =
    use && figure('Left', dollarText(use.remaining / 1e9), `of ${dollarText(use.limit.max / 1e9)}`);
  const body = left
    ? html`<dl class="figures">${left}</dl>`
    : html`<p class="muted">None: what it uses is not paid in advance.</p>`;
  if (scope.account) return panel('credit', 'Prepaid credit', body);
  const added = await context.records.store.audit.list({
    target: id,
    actions: ['account.credit'],
    limit: max_credits,
  });
  const [amount, reason] = ['amount_usd', 'reason'].map(name => refusedField(refused, name, ''));
  const fields = html`${nonceInput()}<label>Add dollars <input name="amount_usd" value="${amount!.value}" required size="10" maxlength="40" inputmode="decimal" autocomplete="off" ${amount!.attributes}></label>${amount!.fault}
<label>Reason <input name="reason" value="${reason!.value}" required maxlength="${max_reason}" autocomplete="off" ${reason!.attributes}></label>${reason!.fault}
<button name="change" value="credit">Add credit</button>`;
  return panel(
    'credit',
    'Prepaid credit',
    html`${body}${added.length > 0 && tableOf('Credit that was added last', creditColumns, added)}
${isOpen && postForm(request, linkOf('limits', { account: id }), fields, 'row')}`,
  );
}

type Credited = { readonly amount_usd?: string; readonly reason?: string };
const creditColumns = [
  { title: 'When', cell: ({ at_ms }: Entry) => timeOf(at_ms) },
  names('Who', ({ actor }: Entry) => actor),
  numbers('Added', ({ detail }: Entry) => dollars((JSON.parse(detail) as Credited).amount_usd ?? '0')),
  names('Reason', ({ detail }: Entry) => (JSON.parse(detail) as Credited).reason ?? ''),
];
type Entry = { readonly at_ms: number; readonly actor: string; readonly detail: string };

/** Adds credit by the form, once however often it is sent, or has the page `shown` again with what was refused. */
export async function addCredit(request: PageRequest, shown: AccountForm['shown']): Promise<PageResponse> {
  const { context, form, scope, session } = request;
  const account = await changeableAccount(request);
  if (!scope.sees.money) throw new PageError(403, `The role ${session.role} adds no credit.`);
  const amount = typedDollars(form.get('amount_usd') ?? '');
  const reason = (form.get('reason') ?? '').trim();
  const faults = new Map([
    ...('fault' in amount ? [['amount_usd', amount.fault] as const] : []),
    ...(reason === '' || reason.length > max_reason
      ? [['reason', `Say why, in at most ${max_reason} characters.`] as const]
      : []),
  ]);
  if ('fault' in amount || faults.size > 0)
    return shown(request, account, { form, faults, fault: 'No credit was added: see the fields below.' });
  const nonce = form.get(nonce_field) ?? '';
  if (!/^[\w-]{22}$/.test(nonce))
    throw new PageError(400, 'This form is incomplete.', 'Load the page again.');
  const once = { id: hashKey(`credit ${account.id} ${nonce}`), fingerprint: hashKey(amount.value) };
  const operator = { ...operatorOf(request), once };
  try {
    await context.records.store.accounts.topUp(account.id, creditOf(context, amount.value, reason), operator);
  } catch (thrown) {
    if (!(thrown instanceof RequestRepeated)) return shown(request, account, refusedBy(thrown, form));
  }
  return changed(
    request,
    linkOf('limits', { account: account.id }),
    `${dollarText(Number(amount.value))} are added.`,
  );
}
