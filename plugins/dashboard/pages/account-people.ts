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
import type { AccountView } from '../account-view.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import {
  type FieldTexts,
  isOutdated,
  type RefusedForm,
  refusedField,
  seenInput,
} from '../view/edited-fields.ts';
import { linkOf, muted, timeOf } from '../view/format.ts';
import { type Html, html, type Part } from '../view/html.ts';
import { foldedPanel, panel, postForm } from '../view/shell.ts';
import { type Column, emptyState, names, tableOf } from '../view/table.ts';
import { accountOf, accountResponse } from './account-tabs.ts';
import { issueOnce, nonceInput, secretPart, takeKey } from './issue-once.ts';

/** For how long an invitation can be accepted. */
const invited_ms = 7 * day_ms;

/** Who may sign in to the portal for an account. Admins invite them and remove their sign-ins. */
export const peoplePage: Page = {
  name: 'people',
  get: async request => shown(request, await accountOf(request)),
  post: change,
};

async function shown(
  request: PageRequest,
  account: AccountView,
  refused?: RefusedForm,
): Promise<PageResponse> {
  const { context, scope } = request;
  const { portal } = context.settings;
  const { id } = account;
  const why = whyNone(request, account);
  const customers = why === undefined ? await context.records.store.customers.list(id) : [];
  const configured = Object.entries(portal.users).filter(([, user]) => user.account === id);
  const body = html`${scope.may.invite && invitation(request, customers)}
${panel(
  'sign-ins',
  'Portal sign-ins',
  html`${configured.length > 0 && html`<p class="muted">Of the configuration: ${configured.map(([name]) => name).join(', ')}</p>`}
${table(request, id, customers)}`,
)}
${scope.may.invite && inviteForm(request, id, customers.length === 0, refused)}`;
  return accountResponse(request, account, {
    tab: 'people',
    scripts: ['copy.js'],
    refused,
    body: why === undefined ? body : emptyState('Nobody can sign in for this account.', why),
  });
}

/** Why an account has no people at the portal; undefined if it may have. */
function whyNone({ context }: PageRequest, { source }: AccountView): Part | undefined {
  if (source === 'application') return 'The application keeps it, and knows its people.';
  if (!context.settings.portal.enabled)
    return html`There is no portal: set <code>portal.enabled</code> in the configuration.`;
  return undefined;
}

/** The link of a new invitation, once. */
function invitation(request: PageRequest, customers: readonly CustomerLogin[]): Part {
  const name = request.query.get('invited');
  const login = customers.find(customer => customer.name === name);
  if (!login) return '';
  const link = takeKey(request);
  if (!link)
    return html`<p class="notice warn">An invitation is shown once, and this one has been. If it was lost, invite again.</p>`;
  return panel(
    'link',
    `Send this link to ${login.name}`,
    html`<p>Whoever opens it chooses the password and is signed in to the portal. It works once, until ${timeOf(login.invited_until_ms)}, and cannot be shown again.</p>
${secretPart(link, 'link')}`,
  );
}

function table(request: PageRequest, account: string, customers: readonly CustomerLogin[]): Html {
  const now_ms = request.context.clock.epoch_ms();
  const actions: Column<CustomerLogin> = {
    title: 'Action',
    cell: login =>
      postForm(
        request,
        linkOf('people', { account }),
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

function inviteForm(request: PageRequest, account: string, isFirst: boolean, refused?: RefusedForm): Html {
  const fields = html`${inviteField('Name or e-mail address', refused, html`required`)}
${seenInput(seenOf(undefined))}${nonceInput()}
<button name="change" value="invite">Invite to the portal</button>`;
  const form = postForm(request, linkOf('people', { account }), fields, 'row');
  return foldedPanel('invite', 'Invite somebody', form, isFirst || refused !== undefined);
}

/** The field for whom an invitation is for. */
export function inviteField(title: string, refused?: RefusedForm, required: Part = ''): Html {
  const { value, attributes, fault } = refusedField(refused, 'customer', '');
  return html`<label>${title} <input name="customer" value="${value}" maxlength="128" placeholder="name or e-mail address" autocomplete="off" spellcheck="false" ${required} ${attributes}></label>${fault}`;
}

/** Whether the reader may invite customers to a portal that is there. */
export const canInvite = ({ context, scope }: PageRequest): boolean =>
  scope.may.invite && context.settings.portal.enabled;

async function change(request: PageRequest): Promise<PageResponse> {
  const { form, scope } = request;
  const account = await accountOf(request);
  if (!scope.may.invite) throw new PageError(403, 'Customers are invited by admins.');
  const why = whyNone(request, account);
  if (why !== undefined) throw new PageError(404, 'There is no portal for this account.');
  const name = (form.get('customer') ?? '').trim();
  const refuse = (fault: string, more: Partial<RefusedForm> = {}) =>
    shown(request, account, { form, fault, faults: new Map([['customer', fault]]), ...more });
  try {
    if (form.get('change') === 'remove') return await remove(request, account.id, name);
    const fault = await faultOfName(request, account.id, name);
    if (fault !== undefined) return await refuse(fault);
    return (
      (await invite(request, account.id, name)) ??
      (await refuse('This form has sent an invitation already. Send it again to invite another customer.'))
    );
  } catch (thrown) {
    if (thrown instanceof NameTaken) return refuse(taken(name));
    if (!(thrown instanceof SeenOtherwise)) throw thrown;
    const fault = `Nothing was changed: the sign-in of ${name} is not as your page has shown it. This is how it is now.`;
    return refuse(fault, { faults: new Map(), status: 409 });
  }
}

async function remove(request: PageRequest, account: string, name: string): Promise<PageResponse> {
  const { customers } = request.context.records.store;
  await customers.remove({ name, account }, operatorOf(request), checkSeen(request));
  return changed(request, linkOf('people', { account }), `${name} cannot sign in to the portal any more.`);
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

const taken = (name: string) => `The name ${name} is taken: choose another.`;

/** Why nobody of this name can be invited; undefined if it can be. */
export async function faultOfName(
  { context }: PageRequest,
  account: string,
  name: string,
): Promise<string | undefined> {
  if (!isCustomerName(name)) return 'A name has 1 to 128 characters, none of them control characters.';
  const isSame = (other: string) => other.toLowerCase() === name.toLowerCase();
  if (Object.keys(context.settings.portal.users).some(isSame)) return taken(name);
  const listed = await context.records.store.customers.list(account);
  if (listed.length < max_customers || listed.some(other => isSame(other.name))) return undefined;
  return `An account has ${max_customers} sign-ins at most.`;
}

/** Invites a customer once for each form, and leads to the link; undefined if the form has invited another. */
export function invite(
  request: PageRequest,
  account: string,
  name: string,
): Promise<PageResponse | undefined> {
  const { context, incoming } = request;
  return issueOnce(
    request,
    async operator => {
      const token = randomBytes(32).toString('base64url');
      const until_ms = operator.at_ms + invited_ms;
      const invited = { name, account, digest: hashKey(token), until_ms };
      await context.records.store.customers.invite(invited, operator, checkSeen(request));
      return { key: invitationLink(context, incoming, token), record: { id: name } };
    },
    { shownAt: (invited, show) => linkOf('people', { account, invited, show }) },
  );
}

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
