import { type ExtensionContext, hashKey } from '../../../src/plugin.ts';
import { token_field } from '../access/cookies.ts';
import { configuredAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { mayBeSecret } from '../secret-shape.ts';
import { linkOf } from '../view/format.ts';
import { find_page, page_field } from '../view/search-form.ts';

/** Pages with a form that searches. */
const searched: ReadonlySet<string> = new Set(['accounts', 'keys', 'requests', 'request', 'usage', 'audit']);

/** Takes all forms that search, and leads to what they search for: nothing secret stands in an address. */
export const findPage: Page = {
  name: find_page,
  get: () => redirect('.'),
  post: async request => {
    const { context } = request;
    return find(request, {
      pages: searched,
      placeOf: key => placeOf(context, key),
      isName: text => isName(context, text),
    });
  },
  changesNothing: true,
};

interface Finding {
  /** The pages that may be searched. */
  readonly pages: ReadonlySet<string>;
  /** The page of what a whole key, given by its digest, belongs to. */
  placeOf(digest: string): Promise<string | undefined>;
  /** Whether a text that looks like a secret is the name of something that is shown to this person anyway. */
  isName(text: string): Promise<boolean>;
}

/** Leads to the page of a key that was typed into a search, or to the searched page. Throws a PageError for what may be a secret. */
export async function find(
  { form }: PageRequest,
  { pages, placeOf, isName }: Finding,
): Promise<PageResponse> {
  const page = form.get(page_field) ?? '';
  if (!pages.has(page)) throw new PageError(400, 'This is not a form of the dashboard.');
  const fields = [...form]
    .map(([name, value]): [string, string] => [name, value.trim()])
    .filter(([name, value]) => name !== page_field && name !== token_field && value !== '');
  for (const [, value] of fields) {
    const place = await placeOf(hashKey(value.replace(/^bearer\s+/i, '')));
    if (place !== undefined) return redirect(place);
    if (mayBeSecret(value) && !(await isName(value)))
      throw new PageError(
        404,
        'Nothing has this name.',
        'What you searched for looks like a key or another secret, and is no key of this gateway. It was put into no address and is kept nowhere. Keys are found whole, or by their name, id or last four characters.',
      );
  }
  return redirect(linkOf(page, Object.fromEntries(fields)));
}

async function placeOf(
  { records, configured: accounts }: ExtensionContext,
  digest: string,
): Promise<string | undefined> {
  const configured = accounts.find('', digest);
  if (configured) return linkOf('account', { id: configured.id });
  const [key] = await records.store.keys.lookUp([digest]);
  return key && linkOf('key', { id: key.id });
}

async function isName(context: ExtensionContext, text: string): Promise<boolean> {
  const { catalog, providers, application } = context;
  if (configuredAccount(context, text) ?? application?.lastGiven(text)) return true;
  if ([...catalog.models.map(({ id }) => id), ...providers.map(({ name }) => name)].includes(text))
    return true;
  const { accounts, keys, ledger, usage, audit } = context.records.store;
  const found = await Promise.all([
    accounts.list({ search: text, limit: 1 }),
    keys.list({ search: text, limit: 1 }),
    ledger.find(text),
    usage.sum({ account: text, by: ['account'], limit: 1 }),
    usage.sum({ model: text, by: ['model'], limit: 1 }),
    audit.list({ target: text, limit: 1 }),
    audit.list({ actor: text, limit: 1 }),
  ]);
  return found.some(rows => rows.length > 0);
}
