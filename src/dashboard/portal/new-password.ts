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
