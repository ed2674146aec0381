import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import { PageError } from '../page-response.ts';
import { type Html, html } from '../view/html.ts';

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
