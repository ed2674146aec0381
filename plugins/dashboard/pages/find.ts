import { type ExtensionContext, hashKey } from '../../../src/plugin.ts';
import { token_field } from '../access/cookies.ts';
import { configuredAccount, findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { mayBeSecret } from '../secret-shape.ts';
import { linkOf } from '../view/format.ts';
import { anything, find_page, page_field } from '../view/search-form.ts';

/** Pages with a form that searches, and those that only operators have. */
const searched: readonly string[] = ['keys', 'requests', 'request', 'usage'];
const of_operators: readonly string[] = ['.', 'accounts', 'audit'];

/**
 * Takes all forms that search, and leads to the page of a key that was typed, or to the searched page: nothing secret stands in an address.
 * Throws a PageError for what may be a secret.
 */
export const findPage: Page = { name: find_page, get: () => redirect('.'), post: find, changesNothing: true };

async function find(request: PageRequest): Promise<PageResponse> {
  const { form, scope } = request;
  const page = form.get(page_field) ?? '';
  if (page !== anything && !searched.includes(page) && (scope.account || !of_operators.includes(page)))
    throw new PageError(400, 'This is not a form of the dashboard.');
  const fields = [...form]
    .map(([name, value]): [string, string] => [name, value.trim()])
    .filter(([name, value]) => name !== page_field && name !== token_field && value !== '');
  for (const [, value] of fields) {
    const place = await placeOf(request, hashKey(value.replace(/^bearer\s+/i, '')));
    if (place !== undefined) return redirect(place);
    if (mayBeSecret(value) && !(await isName(request, value)))
      throw new PageError(
        404,
        'Nothing has this name.',
        'What you searched for looks like a key or another secret, and is no key of this gateway. It was put into no address and is kept nowhere. Keys are found whole, or by their name, id or last four characters.',
      );
  }
  if (page === anything) return redirect(await placeOfName(request, fields[0]?.[1] ?? ''));
  return redirect(linkOf(page, Object.fromEntries(fields)));
}

/** The page of the key, request or account that has this id, or the list in which it is searched. */
async function placeOfName({ context, scope }: PageRequest, text: string): Promise<string> {
  const own = scope.account?.id;
  const { keys, ledger } = context.records.store;
  if (text === '') return '.';
  const key = await keys.find(text);
  if (key && (own === undefined || key.account === own)) return linkOf('key', { id: text });
  const [found] = await ledger.find(text, own);
  if (found) return linkOf('request', { id: text });
  if (own !== undefined) return linkOf('keys', { search: text });
  return (await findAccount(context, text))
    ? linkOf('account', { id: text })
    : linkOf('accounts', { search: text });
}

/** The page of what a whole key, given by its digest, belongs to, if that is in the reader's scope. */
async function placeOf(
  { context: { records, configured: accounts }, scope: { account } }: PageRequest,
  digest: string,
): Promise<string | undefined> {
  const configured = account ? undefined : accounts.find('', digest);
  if (configured) return linkOf('account', { id: configured.id });
  const [key] = await records.store.keys.lookUp([digest]);
  if (!key || (account && key.account !== account.id)) return undefined;
  // Who has the text of a key in their hands has most often found it where it should not be.
  return linkOf('key', { id: key.id, do: 'revoke' });
}

/** Whether a text that looks like a secret is the name of something that is shown to its reader anyway. */
async function isName({ context, scope }: PageRequest, text: string): Promise<boolean> {
  const account = scope.account?.id;
  if (context.catalog.models.some(({ id }) => id === text)) return true;
  const { keys, ledger, usage } = context.records.store;
  const found = await Promise.all([
    keys.list({ account, search: text, limit: 1 }),
    ledger.find(text, account),
    usage.sum({ account, model: text, by: ['model'], limit: 1 }),
  ]);
  return found.some(rows => rows.length > 0) || (account === undefined && isNameOfOperators(context, text));
}

async function isNameOfOperators(context: ExtensionContext, text: string): Promise<boolean> {
  const { providers, application } = context;
  if (configuredAccount(context, text) ?? application?.lastGiven(text)) return true;
  if (providers.some(({ name }) => name === text)) return true;
  const { accounts, usage, audit } = context.records.store;
  const found = await Promise.all([
    accounts.list({ search: text, limit: 1 }),
    usage.sum({ account: text, by: ['account'], limit: 1 }),
    audit.list({ target: text, limit: 1 }),
    audit.list({ actor: text, limit: 1 }),
  ]);
  return found.some(rows => rows.length > 0);
}
