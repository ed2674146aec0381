import { TooManyKeys } from '../../../src/plugin.ts';
import type { Page } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { issueOnce } from '../pages/issued.ts';
import { countOf, linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { type RefusedKey, readKeyFields } from '../view/key-fields.ts';
import { keyTable, usesOfKeys } from '../view/key-table.ts';
import { listPage } from '../view/pager.ts';
import { emptyState } from '../view/table.ts';
import { issuePanel } from './issue.ts';
import { mayHoldKeys, type PortalRequest, portalPage, portalResponse } from './portal-page.ts';

/** The account's keys, and the form that issues one. */
export const keysPage: Page = portalPage({ name: 'keys', get: request => shown(request), post: issue });

async function shown(request: PortalRequest, refused?: RefusedKey): Promise<PageResponse> {
  const { account, context, query } = request;
  const now_ms = context.clock.epoch_ms();
  const all = query.get('all') === 'yes';
  const { keys } = context.records.store;
  const asked = { account: account.id, usable_at_ms: all ? undefined : now_ms };
  const [{ rows, pager }, total] = await Promise.all([
    listPage(request, page => keys.list({ ...asked, ...page })),
    keys.count(asked),
  ]);
  const uses = await usesOfKeys(request, rows);
  const table =
    rows.length === 0
      ? emptyState(
          all ? 'No key has been issued yet.' : 'There are no active keys.',
          'With a key your programs can send requests.',
        )
      : keyTable('Keys', rows, { now_ms, uses, ...ofPortal });
  return portalResponse(request, {
    title: 'Keys',
    section: 'keys',
    fault: refused?.fault,
    body: html`${mayHoldKeys(account) ? account.disabled_ms === null && issuePanel(request, refused) : noKeys}
<section class="panel" aria-labelledby="list"><h2 id="list">${all ? 'All keys' : 'Active keys'}</h2>
${table}
${pager(total > 0 ? countOf(total, all ? 'key' : 'active key') : undefined)}
<p>${
      all
        ? html`<a href="keys">Active keys only</a>`
        : html`<a href="${linkOf('keys', { all: 'yes' })}">All keys, also expired and revoked ones</a>`
    }</p>
</section>`,
  });
}

/** Keys as the portal shows them. */
export const ofPortal = {
  columns: 'of one account',
  seesMoney: true,
  mayChange: true,
  hasPages: true,
} as const;

const noKeys: Html = html`<section class="panel" aria-labelledby="issue"><h2 id="issue">Issue a key</h2>
<p>The application keeps your account itself and says with each request that it is yours. Such an account has no keys here.</p></section>`;

async function issue(request: PortalRequest): Promise<PageResponse> {
  const { account, context } = request;
  if (!mayHoldKeys(account)) throw new PageError(403, 'Your account has no keys here.');
  const { form } = request;
  const read = readKeyFields(form, context.clock.epoch_ms(), true);
  if ('refused' in read) return shown(request, read.refused);
  const again = (fault: string) => shown(request, { form, faults: new Map(), fault });
  const { max_keys: max_usable } = context.settings.portal;
  try {
    const issued = await issueOnce(request, (operator, nonce) => {
      const set = { account: account.id, ...read.set, max_usable, nonce };
      return context.records.store.keys.create(set, operator);
    });
    return issued ?? again('This form has issued a key already. Send it again to issue another one.');
  } catch (thrown) {
    if (!(thrown instanceof TooManyKeys)) throw thrown;
    return again(
      `Your account has ${countOf(max_usable, 'active key')}, which is the most. Revoke one first.`,
    );
  }
}
