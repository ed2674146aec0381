import type { IncomingMessage } from 'node:http';
import {
  type AccountDirectory,
  type ExtensionContext,
  GatewayError,
  isCustomerName,
} from '../../src/plugin.ts';
import { customersByClaims } from './access/claims.ts';
import { configuredLogins, type FindLogin } from './access/passwords.ts';
import type { Person } from './access/roles.ts';
import { findAccount } from './account-view.ts';
import type { SiteParts } from './dashboard.ts';
import { PageError } from './page-response.ts';
import { portalPages } from './portal/index.ts';
import { InvitationEntrance } from './portal/invitation.ts';

/** The customers' portal: for those whom the application names with `accountOf`, those of `portal.users`, and those who were invited. */
export function portalSite(context: ExtensionContext): SiteParts {
  const { enabled, oidc, session_idle_ms, session_max_ms, trust_proxy } = context.settings.portal;
  const { application } = context;
  return {
    title: 'Portal',
    profile: 'password',
    readers: ['customer'],
    sections: [
      { page: '', label: 'Overview' },
      { page: 'keys', label: 'Keys' },
      { page: 'usage', label: 'Usage' },
      { page: 'requests', label: 'Requests' },
      { page: 'limits', label: 'Limits' },
      { page: 'models', label: 'Models' },
      { page: 'examples', label: 'Examples' },
      { page: 'playground', label: 'Playground' },
      { page: 'history', label: 'History' },
    ],
    pages: portalPages,
    area: {
      name: 'portal',
      limits: { idle_ms: session_idle_ms, max_ms: session_max_ms },
      trust_proxy,
      named: enabled && application ? incoming => customerNamedBy(context, incoming) : undefined,
      findLogin: enabled ? customerLogins(context) : undefined,
      oidc: enabled && oidc ? { settings: oidc, people: customersByClaims(oidc) } : undefined,
      entrances: [new InvitationEntrance(context)],
    },
  };
}

/** Finds customers of the configuration, then those who have accepted an invitation. */
function customerLogins({ settings, records }: ExtensionContext): FindLogin {
  const configured = configuredLogins(settings.portal.users, (actor, { account }) => ({
    actor,
    role: 'customer',
    account,
  }));
  return async given => {
    const known = await configured(given);
    if (known || !isCustomerName(given)) return known;
    const { name, account, password_hash } = (await records.store.customers.find(given)) ?? {};
    if (!name || !account || !password_hash) return undefined;
    const person = { actor: name, role: 'customer' as const, account };
    return { person, hash: password_hash, credential: password_hash };
  };
}

/** The customer whose account the application names; undefined if it names none. Rejects with a PageError for an account that is not there. */
async function customerNamedBy(
  context: ExtensionContext,
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
const directoryOf = (context: ExtensionContext): AccountDirectory => ({
  find: () => undefined,
  async findById(id) {
    const { source = 'application' } = (await findAccount(context, id)) ?? {};
    return source === 'application' ? undefined : { id, plan: undefined };
  },
});
