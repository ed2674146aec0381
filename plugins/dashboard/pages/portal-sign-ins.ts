import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import {
  type CustomerLogin,
  day_ms,
  type ExtensionContext,
  hashKey,
  isCustomerName,
  max_customers,
  NameTaken,
} from '../../../src/plugin.ts';
import { type AccountView, findAccount } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse, redirect } from '../page-response.ts';
import { type FieldTexts, isOutdated, seenInput } from '../view/edited-fields.ts';
import { linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, tableOf } from '../view/table.ts';
import { issueOnce, nonceInput, secretPart, takeKey } from './issued.ts';

/** For how long an invitation can be accepted. */
const invited_ms = 7 * day_ms;

/** Who may sign in to the portal for an account; empty while there is no portal. */
export async function portalSignIns(request: PageRequest, { id, source }: AccountView): Promise<Part> {
  const { portal } = request.context.settings;
  if (!portal.enabled || source === 'application') return '';
  const customers = await request.context.records.store.customers.list(id);
  const configured = Object.entries(portal.users).filter(([, { account }]) => account === id);
  return panel(
    'sign-ins',
    'Portal sign-ins',
    html`${configured.length > 0 && html`<p class="muted">Of the configuration: ${configured.map(([name]) => name).join(', ')}</p>`}
${table(request, id, customers)}
${request.scope.may.invite && inviteForm(request, id)}`,
  );
}

function table(request: PageRequest, account: string, customers: readonly CustomerLogin[]): Html {
  const now_ms = request.context.clock.epoch_ms();
  const actions: Column<CustomerLogin> = {
    title: 'Action',
    cell: login =>
      postForm(
        request,
        linkOf('sign-ins', { account }),
        html`<input type="hidden" name="customer" value="${login.name}">${seenInput(seenOf(login))}${nonceInput()}
<button class="quiet" name="change" value="invite" aria-label="Invite again: ${login.name}">Invite again</button>
<button class="quiet" name="change" value="remove" aria-label="Remove: ${login.name}">Remove</button>`,
        'actions',
      ),
  };
  return tableOf<CustomerLogin>(
    'Customers who may sign in',
    [
      names('Name', ({ name }) => name),
      { title: 'Since', cell: ({ created_ms }) => timeOf(created_ms) },
      { title: 'State', cell: login => stateOf(login, now_ms) },
      ...(request.scope.may.invite ? [actions] : []),
    ],
    customers,
    emptyState('Nobody has been invited.', 'Whoever is invited sees this account only, and issues its keys.'),
  );
}

function stateOf({ password_hash, invited_until_ms }: CustomerLogin, now_ms: number): Html {
  const isInvited = invited_until_ms !== null && invited_until_ms > now_ms;
  const until = isInvited && html` ${muted('until')} ${timeOf(invited_until_ms)}`;
  if (password_hash !== null)
    return html`<span class="state good">active</span>${isInvited && html` ${muted('invited again')}`}${until}`;
  return isInvited
    ? html`<span class="state warn">invited</span>${until}`
    : html`<span class="state bad">invitation ended</span>`;
}

const inviteForm = (request: PageRequest, account: string, name = ''): Html =>
  postForm(
    request,
    linkOf('sign-ins', { account }),
    html`<label>Name or e-mail address <input name="customer" value="${name}" maxlength="128" required autocomplete="off" spellcheck="false"></label>
${seenInput(seenOf(undefined))}${nonceInput()}
<button name="change" value="invite">Invite to the portal</button>`,
    'row',
  );

/** Invites customers of an account and removes their sign-ins. */
export const signInsPage: Page = {
  name: 'sign-ins',
  readers: ['admin'],
  get: ({ query }) => redirect(linkOf('account', { id: query.get('account') ?? '' })),
  post: async request => {
    const { context, form, query } = request;
    const account = await findAccount(context, query.get('account') ?? '');
    if (!context.settings.portal.enabled || !account || account.source === 'application')
      throw new PageError(
        404,
        'There is no such account, or no portal.',
        'Look for it in the list of accounts.',
      );
    const name = (form.get('customer') ?? '').trim();
    try {
      return form.get('change') === 'remove'
        ? await remove(request, account.id, name)
        : await invite(request, account.id, name);
    } catch (thrown) {
      if (!(thrown instanceof SeenOtherwise)) throw thrown;
      const fault = `Nothing was changed: the sign-in of ${name} is not as your page has shown it. This is how it is now.`;
      const body = await portalSignIns(request, account);
      return pageResponse(request, { title: account.id, section: 'accounts', fault, status: 409, body });
    }
  },
};

async function remove(request: PageRequest, account: string, name: string): Promise<PageResponse> {
  const { customers } = request.context.records.store;
  await customers.remove({ name, account }, operatorOf(request), checkSeen(request));
  return changed(
    request,
    linkOf('account', { id: account }),
    `${name} cannot sign in to the portal any more.`,
  );
}

/** A sign-in is not as the form has shown it. */
class SeenOtherwise extends Error {}

/** What others may change of a sign-in: whether there is one, its invitation, and whether it was accepted. */
const seenOf = (login: CustomerLogin | undefined): FieldTexts => ({
  login: login
    ? `${login.created_ms} ${login.password_hash === null ? 'invited' : 'active'} ${login.invited_until_ms}`
    : '',
});

/** Throws SeenOtherwise, in the transaction of a change, if its form has shown the sign-in otherwise. */
const checkSeen =
  ({ form }: PageRequest) =>
  (now: CustomerLogin | undefined): void => {
    if (isOutdated(form, seenOf(now))) throw new SeenOtherwise();
  };

async function invite(request: PageRequest, account: string, name: string): Promise<PageResponse> {
  const { context, incoming } = request;
  const { customers } = context.records.store;
  const again = (fault: string) => {
    const body = panel('sign-ins', 'Portal sign-ins', inviteForm(request, account, name));
    return pageResponse(request, { title: account, section: 'accounts', fault, body });
  };
  if (!isCustomerName(name)) return again('A name has 1 to 128 characters, none of them control characters.');
  const taken = `The name ${name} is taken: choose another.`;
  const configured = Object.keys(context.settings.portal.users);
  if (configured.some(other => other.toLowerCase() === name.toLowerCase())) return again(taken);
  const listed = await customers.list(account);
  const isNew = !listed.some(other => other.name.toLowerCase() === name.toLowerCase());
  if (isNew && listed.length >= max_customers)
    return again(`An account has ${max_customers} sign-ins at most.`);
  try {
    const invited = await issueOnce(
      request,
      async operator => {
        const token = randomBytes(32).toString('base64url');
        const until_ms = operator.at_ms + invited_ms;
        await customers.invite(
          { name, account, digest: hashKey(token), until_ms },
          operator,
          checkSeen(request),
        );
        return { key: invitationLink(context, incoming, token), record: { id: name } };
      },
      undefined,
      'invited',
    );
    return (
      invited ?? again('This form has sent an invitation already. Send it again to invite another customer.')
    );
  } catch (thrown) {
    if (!(thrown instanceof NameTaken)) throw thrown;
    return again(taken);
  }
}

/** Shows the link of a new invitation, once. */
export const invitedPage: Page = {
  name: 'invited',
  readers: ['admin'],
  get: async request => {
    const name = request.query.get('id') ?? '';
    const found = await request.context.records.store.customers.find(name);
    if (!found) throw new PageError(404, 'There is no such sign-in.', 'Look for it at its account.');
    const { account, invited_until_ms } = found;
    const back = html`<p><a href="${linkOf('account', { id: account })}">To the account ${account}</a></p>`;
    const link = takeKey(request);
    return pageResponse(request, {
      title: `Invitation for ${found.name}`,
      section: 'accounts',
      scripts: ['copy.js'],
      body: link
        ? html`<section class="panel" aria-labelledby="link"><h2 id="link">Send this link to ${found.name}</h2>
<p>Whoever opens it chooses the password and is signed in to the portal. It works once, until ${timeOf(invited_until_ms)}, and cannot be shown again.</p>
${secretPart(link, 'link')}
${back}
</section>`
        : html`<p class="notice warn">An invitation is shown once, and this one has been. If it was lost, invite again.</p>${back}`,
    });
  },
};

/** Where the customer accepts: at the public address, or if that is not known at the operator's. */
function invitationLink(context: ExtensionContext, { headers }: IncomingMessage, token: string): string {
  const { path } = context.settings.portal;
  const here = headers.origin ?? `http://${headers.host}`;
  const url = new URL(context.publicUrl() ?? here);
  if (['0.0.0.0', '[::]'].includes(url.hostname) && URL.canParse(here)) url.hostname = new URL(here).hostname;
  // In an application the address is that of the API, beside which the portal is mounted.
  const base = context.terminal ? url.href.replace(/\/+$/, '') : url.origin;
  return `${base}${path}/invitation?${new URLSearchParams({ token })}`;
}
