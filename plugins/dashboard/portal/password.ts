import { type CustomerLogin, hashPassword } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import type { PageResponse } from '../page-response.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';
import { inTurn, newPassword, newPasswordFields } from './new-password.ts';

/** Changes the customer's own password, which ends the other sessions. */
export const passwordPage: Page = {
  name: 'password',
  get: request => shown(request),
  post: change,
  changesNothing: true,
};

async function shown(request: PageRequest, fault?: string): Promise<PageResponse> {
  const login = await ownLogin(request);
  return pageResponse(request, {
    title: 'Your sign-in',
    section: 'password',
    fault,
    body: panel(
      'password',
      'Change your password',
      login
        ? form(request)
        : html`<p>Your password is not kept here: whoever runs this service changes it.</p>`,
    ),
  });
}

const form = (request: PageRequest): Html =>
  postForm(
    request,
    'password',
    html`<input type="hidden" name="username" value="${request.session.actor}" autocomplete="username">
<label>Current password <input name="present_password" type="password" autocomplete="current-password" required></label>
${newPasswordFields}
<p class="hint">You stay signed in here, and are signed out everywhere else.</p>
<p><button class="primary">Change password</button></p>`,
    'stack',
  );

/** The sign-in of the records store with which this session was started. */
async function ownLogin({ context, scope, session }: PageRequest): Promise<CustomerLogin | undefined> {
  const { actor } = session;
  if (Object.hasOwn(context.settings.portal.users, actor)) return undefined;
  const login = await context.records.store.customers.find(actor);
  return login?.account === scope.account!.id && login.password_hash !== null ? login : undefined;
}

async function change(request: PageRequest): Promise<PageResponse> {
  const { context, form } = request;
  const login = await ownLogin(request);
  if (!login) return shown(request, 'Your password is not kept here.');
  const wanted = newPassword(form);
  if ('fault' in wanted) return shown(request, wanted.fault);
  const refused = await request.confirm(form.get('present_password') ?? '');
  if (refused !== undefined) return shown(request, refused);
  const hash = await inTurn(() => hashPassword(wanted.password));
  if (!(await context.records.store.customers.changePassword(login, hash, operatorOf(request))))
    return shown(request, 'Your password was changed meanwhile.');
  const cookies = await request.renew(hash);
  return changed(
    { ...request, cookies },
    'password',
    'Your password is changed. All other sessions have ended.',
  );
}
