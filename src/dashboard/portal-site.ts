import type { IncomingMessage } from 'node:http';
import { GatewayError } from '../errors.ts';
import type { AccountDirectory } from '../stores/accounts/accounts.ts';
import { configuredLogins } from './access/passwords.ts';
import type { Person } from './access/roles.ts';
import { findAccount } from './account-view.ts';
import type { SiteParts } from './dashboard.ts';
import type { DashboardContext } from './page-request.ts';
import { PageError } from './page-response.ts';
import { portalPages } from './portal/index.ts';

/** The customers' portal: for those whom the application names with `accountOf`, those of `portal.users`, and those who were invited. */
export function portalSite(context: DashboardContext): SiteParts {
  const { enabled, users, session_idle_ms, session_max_ms, trust_proxy } = context.settings.portal;
  const { application } = context;
  return {
    title: 'Portal',
    sections: [
      { page: '', label: 'Overview' },
      { page: 'keys', label: 'Keys' },
    ],
    pages: portalPages,
    area: {
      name: 'portal',
      limits: { idle_ms: session_idle_ms, max_ms: session_max_ms },
      trust_proxy,
      named: enabled && application ? incoming => customerNamedBy(context, incoming) : undefined,
      findLogin: enabled
        ? configuredLogins(users, (name, { account }) => ({ actor: name, role: 'customer', account }))
        : undefined,
    },
  };
}

/** The customer whose account the application names; undefined if it names none. Rejects with a PageError for an account that is not there. */
async function customerNamedBy(
  context: DashboardContext,
  incoming: IncomingMessage,
): Promise<Person | undefined> {
  const { application, log } = context;
  try {
    const account = await application!.find({ incoming, log }, directoryOf(context));
    return account && { actor: account.id, role: 'customer', account: account.id };
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown;
    throw new PageError(thrown.status, 'Your account cannot be shown.', thrown.message);
  }
}

/** Finds accounts as requests do, and those that are disabled as well: their customers may look at them. */
const directoryOf = (context: DashboardContext): AccountDirectory => ({
  find: () => undefined,
  async findById(id) {
    const { source = 'application' } = (await findAccount(context, id)) ?? {};
    return source === 'application' ? undefined : { id, plan: undefined };
  },
});
