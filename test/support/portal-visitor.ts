import type { GatewayConfig } from '../../src/config/schema.ts';
import { DashboardVisitor, operator, password_hash } from './dashboard-visitor.ts';
import type { GatewayUnderTest } from './gateway-under-test.ts';

/** Two customers of different accounts, both with the operator's password. */
export const customers = { carla: 'acme', mallory: 'rival' } as const;

/** The configuration's `portal`, with these customers. */
export const portalSection = (more: object = {}): GatewayConfig['portal'] => ({
  enabled: true,
  users: Object.fromEntries(
    Object.entries(customers).map(([name, account]) => [name, { password_hash, account }]),
  ),
  ...more,
});

/** A customer who has signed in. */
export async function customerOf(
  { url }: GatewayUnderTest,
  name: keyof typeof customers = 'carla',
): Promise<DashboardVisitor> {
  const visitor = new DashboardVisitor(`${url}/portal/`);
  await visitor.signIn(operator.password, name);
  return visitor;
}
