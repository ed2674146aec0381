import { PageError } from '../page-response.ts';
import { ProviderRefused, ProviderUnavailable } from './oidc-client.ts';

/** Tells a person whom the provider has signed in that this gateway refuses them. */
export function refusalPage(
  outcome: 'no name' | 'no role',
  area: 'dashboard' | 'portal',
  name_claim: string,
  name: string,
): PageError {
  const message = `You may not use this ${area}.`;
  if (outcome === 'no role')
    return new PageError(403, message, `You signed in as ${name}, who is not let in. Ask an administrator.`);
  const missing = name_claim === 'email' ? 'verified email address' : `claim ${name_claim}`;
  return new PageError(
    403,
    message,
    `The sign-in provider gave no ${missing} for you. Ask an administrator.`,
  );
}

/** Tells that the provider did not finish a sign-in; what failed is for the log. */
export function failurePage(thrown: unknown): PageError {
  if (thrown instanceof ProviderRefused) {
    const message = `The sign-in provider answered “${thrown.error.slice(0, 60)}”.`;
    return new PageError(403, message, thrown.description.slice(0, 200));
  }
  if (thrown instanceof ProviderUnavailable)
    return new PageError(
      503,
      'The sign-in provider does not answer.',
      'Try again in a minute, or sign in another way. The log says what failed.',
    );
  return new PageError(502, 'The sign-in could not be completed.', 'Begin again. The log says what failed.');
}
