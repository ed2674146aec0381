import { redirect } from '../page-response.ts';
import { find } from '../pages/find.ts';
import { linkOf } from '../view/format.ts';
import { find_page } from '../view/search-form.ts';
import { type PortalRequest, portalPage } from './portal-page.ts';

const searched: ReadonlySet<string> = new Set(['requests', 'request', 'usage']);

/** Takes the forms of the portal that search, as the dashboard's page does: of keys and names the account's own only. */
export const findPage = portalPage({
  name: find_page,
  get: () => redirect('.'),
  post: request =>
    find(request, {
      pages: searched,
      placeOf: digest => placeOf(request, digest),
      isName: text => isName(request, text),
    }),
  changesNothing: true,
});

async function placeOf({ account, context }: PortalRequest, digest: string): Promise<string | undefined> {
  const [key] = await context.records.store.keys.lookUp([digest]);
  return key?.account === account.id ? linkOf('key', { id: key.id }) : undefined;
}

async function isName({ account, context }: PortalRequest, text: string): Promise<boolean> {
  if (context.catalog.models.some(({ id }) => id === text)) return true;
  const { keys, ledger, usage } = context.records.store;
  const found = await Promise.all([
    keys.list({ account: account.id, search: text, limit: 1 }),
    ledger.find(text, account.id),
    usage.sum({ account: account.id, model: text, by: ['model'], limit: 1 }),
  ]);
  return found.some(rows => rows.length > 0);
}
