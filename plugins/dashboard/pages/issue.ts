import { findAccount } from '../account-view.ts';
import type { Page, PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { linkOf } from '../view/format.ts';
import { type Html, html } from '../view/html.ts';
import { keyFields, type RefusedKey, readKeyFields } from '../view/key-fields.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';
import { issueOnce, nonceInput } from './issued.ts';

/** The form that issues a key for an account. */
export function issueForm(request: PageRequest, account: string, refused?: RefusedKey): Html {
  const fields = html`${keyFields({ seesMoney: request.scope.sees.money, refused })}
${nonceInput()}
<button class="primary">Issue key</button>`;
  return panel('issue', 'Issue a key', postForm(request, linkOf('issue', { account }), fields, 'stack'));
}

/** Issues a key and redirects to the page that shows it, so that a reload issues no second one. */
export const issuePage: Page = {
  name: 'issue',
  get: ({ query }) => redirect(linkOf('account', { id: query.get('account') ?? '' })),
  post: issue,
  asksForChange: true,
};

async function issue(request: PageRequest): Promise<PageResponse> {
  const { context, form, query } = request;
  const account = query.get('account') ?? '';
  const { source = 'application' } = (await findAccount(context, account)) ?? {};
  // A key of an account that only the application knows would be refused.
  if (source === 'application') throw new PageError(404, `There is no account “${account}”.`);
  const again = (refused: RefusedKey) =>
    pageResponse(request, {
      title: account,
      section: 'accounts',
      fault: refused.fault,
      body: issueForm(request, account, refused),
    });
  const read = readKeyFields(form, context.clock.epoch_ms(), request.scope.sees.money);
  if ('refused' in read) return again(read.refused);
  const issued = await issueOnce(request, (operator, nonce) =>
    context.records.store.keys.create({ account, ...read.set, nonce }, operator),
  );
  const fault = 'This form has issued a key already. Send it again to issue another one.';
  return issued ?? again({ form, faults: new Map(), fault });
}
