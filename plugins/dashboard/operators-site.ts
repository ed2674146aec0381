import type { IncomingMessage } from 'node:http';
import { type ExtensionContext, type OperatorOf, operatorRoles, within } from '../../src/plugin.ts';
import { operatorsByClaims } from './access/claims.ts';
import { configuredLogins } from './access/passwords.ts';
import type { Person } from './access/roles.ts';
import type { SiteParts } from './dashboard.ts';
import { PageError } from './page-response.ts';
import { pages } from './pages/index.ts';
import type { Area } from './session-guard.ts';

/** Time for a promise of `operatorOf`. */
const operator_ms = 10_000;

/** The operators' dashboard: for those who may sign in by `admin`, or in their place those whom `operatorOf` names. */
export function operatorsSite({
  settings: { admin, notices },
  operatorOf,
}: Pick<ExtensionContext, 'settings' | 'operatorOf'>): SiteParts {
  return {
    readers: operatorRoles,
    sections: [
      { page: '', label: 'Overview' },
      { page: 'accounts', label: 'Accounts' },
      { page: 'keys', label: 'Keys' },
      { page: 'requests', label: 'Requests' },
      { page: 'in-flight', label: 'In flight' },
      { page: 'usage', label: 'Usage' },
      { page: 'providers', label: 'Providers' },
      { page: 'models', label: 'Models' },
      { page: 'playground', label: 'Playground' },
      { page: 'audit', label: 'Audit log', readers: ['admin', 'viewer'] },
      ...(isTold(notices) ? [{ page: 'notices', label: 'Notices', readers: ['admin'] as const }] : []),
    ],
    pages,
    area: {
      name: 'dashboard',
      limits: { idle_ms: admin.session_idle_ms, max_ms: admin.session_max_ms },
      trust_proxy: admin.trust_proxy,
      ...(operatorOf ? { named: incoming => personNamedBy(operatorOf, incoming) } : configuredWays(admin)),
    },
  };
}

/** Whether anybody is told of notices. */
const isTold = (notices: ExtensionContext['settings']['notices']): boolean =>
  notices !== undefined && (notices.mail !== undefined || Object.keys(notices.webhooks).length > 0);

/** Who may sign in by the configuration. */
function configuredWays({
  users,
  oidc,
  proxy,
}: ExtensionContext['settings']['admin']): Pick<Area, 'proxy' | 'findLogin' | 'oidc'> {
  const hasUsers = Object.keys(users).length > 0;
  return {
    proxy,
    findLogin: hasUsers ? configuredLogins(users, (name, { role }) => ({ actor: name, role })) : undefined,
    oidc: oidc && { settings: oidc, people: operatorsByClaims(oidc) },
  };
}

async function personNamedBy(operatorOf: OperatorOf, incoming: IncomingMessage): Promise<Person | undefined> {
  const answer = Promise.resolve(operatorOf(incoming));
  const named: unknown = await within(answer, operator_ms, () => new Error('operatorOf did not settle'));
  if (typeof named === 'string' && named !== '') return { actor: named, role: 'admin' };
  const { name, role } = (named ?? {}) as { name?: unknown; role?: unknown };
  const known = operatorRoles.find(one => one === role);
  if (typeof name === 'string' && name !== '' && known) return { actor: name, role: known };
  throw new PageError(403, 'You may not use this dashboard.', 'Sign in where it is mounted.');
}
