import type { IncomingMessage } from 'node:http';
import type { OperatorOf } from '../gateway-options.ts';
import { within } from '../stores/within.ts';
import { configuredLogins } from './access/passwords.ts';
import { type Person, roles } from './access/roles.ts';
import type { SiteParts } from './dashboard.ts';
import type { DashboardContext } from './page-request.ts';
import { PageError } from './page-response.ts';
import { pages } from './pages/index.ts';

/** Time for a promise of `operatorOf`. */
const operator_ms = 10_000;

/** The operators' dashboard: for those of `admin.users`, or in their place those whom `operatorOf` names. */
export function operatorsSite(
  { settings }: Pick<DashboardContext, 'settings'>,
  operatorOf: OperatorOf | undefined,
): SiteParts {
  const { users, session_idle_ms, session_max_ms, trust_proxy } = settings.admin;
  const hasUsers = !operatorOf && Object.keys(users).length > 0;
  return {
    sections: [
      { page: '', label: 'Overview' },
      { page: 'accounts', label: 'Accounts' },
      { page: 'keys', label: 'Keys' },
      { page: 'requests', label: 'Requests' },
      { page: 'usage', label: 'Usage' },
      { page: 'models', label: 'Models' },
      { page: 'playground', label: 'Playground' },
      { page: 'audit', label: 'Audit log', readers: ['admin', 'viewer'] },
    ],
    pages,
    area: {
      name: 'dashboard',
      limits: { idle_ms: session_idle_ms, max_ms: session_max_ms },
      trust_proxy,
      named: operatorOf && (incoming => personNamedBy(operatorOf, incoming)),
      findLogin: hasUsers ? configuredLogins(users, (name, { role }) => ({ actor: name, role })) : undefined,
    },
  };
}

async function personNamedBy(operatorOf: OperatorOf, incoming: IncomingMessage): Promise<Person | undefined> {
  const answer = Promise.resolve(operatorOf(incoming));
  const named: unknown = await within(answer, operator_ms, () => new Error('operatorOf did not settle'));
  if (typeof named === 'string' && named !== '') return { actor: named, role: 'admin' };
  const { name, role } = (named ?? {}) as { name?: unknown; role?: unknown };
  const known = roles.find(one => one === role);
  if (typeof name === 'string' && name !== '' && known) return { actor: name, role: known };
  throw new PageError(403, 'You may not use this dashboard.', 'Sign in where it is mounted.');
}
