import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import { type CustomerLogin, hashPassword } from '../../../src/plugin.ts';
import { changed, operatorOf, type Page, type PageRequest } from '../page-request.ts';
import { PageError, type PageResponse } from '../page-response.ts';
import { type Html, html } from '../view/html.ts';
import { pageResponse, panel, postForm } from '../view/shell.ts';

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

const min_characters = 12;
/** Long passwords are hashed as any; this bounds what is read. */
const max_characters = 1024;

/** The two fields for a new password. */
export const newPasswordFields: Html = html`<label>New password <input name="password" type="password" autocomplete="new-password" minlength="${min_characters}" maxlength="${max_characters}" required aria-describedby="password-rule"></label>
<p class="hint" id="password-rule">At least ${min_characters} characters.</p>
<label>Repeat the new password <input name="repeated_password" type="password" autocomplete="new-password" maxlength="${max_characters}" required></label>`;

/** The new password of a form, or why it cannot be one. */
export function newPassword(
  form: URLSearchParams,
): { readonly password: string } | { readonly fault: string } {
  const password = form.get('password') ?? '';
  if (password.length < min_characters)
    return {
      fault: `The password has ${password.length} characters; it must have at least ${min_characters}.`,
    };
  if (password.length > max_characters)
    return { fault: `The password has more than ${max_characters} characters.` };
  if (password !== form.get('repeated_password')) return { fault: 'The two passwords are not the same.' };
  return { password };
}

/** One at a time, and few that wait: each takes a thread for 60 ms, and those who sign in need them as well. */
const queue = bulkhead(1, 8);

/** Does what takes as long as to hash a password, in its turn. Throws a PageError if too many wait. */
export async function inTurn<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await queue.execute(work);
  } catch (thrown) {
    if (!(thrown instanceof BulkheadRejectedError)) throw thrown;
    throw new PageError(503, 'Too many passwords are changed at the moment.', 'Send it once more.', {
      'retry-after': '1',
    });
  }
}
