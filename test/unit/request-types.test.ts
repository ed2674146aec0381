import { describe, expect, it } from '@jest/globals';
import type { Request } from 'express';
import {
  type AccountOf,
  type ApplicationAccount,
  auth,
  type ChainOptions,
  createChain,
  createGateway,
  type GatewayOptions,
} from '../../src/index.ts';
import { defineStage, refusal, type StageSetup } from '../../src/plugin.ts';

/** A request as the middleware of an application leaves it. */
interface AppRequest extends Request {
  user?: { team: string; email: string };
}

/** Code as applications write it. It is checked by the compiler and never run. */
const _typed = [
  () => createGateway('a.yaml', { accountOf: (request: AppRequest) => request.user?.team }),
  () => createGateway('a.yaml', { operatorOf: (request: AppRequest) => request.user?.email }),
  () => createGateway('a.yaml', { operatorOf: async (request: AppRequest) => request.user?.email }),
  () =>
    createGateway<AppRequest>('a.yaml', {
      accountOf: async request => request.user && { id: request.user.team, plan: 'free' },
      operatorOf: request => request.user?.email,
    }),
  () => createGateway('a.yaml', { accountOf: ({ headers }) => headers['x-user'] as string | undefined }),
  () => createChain([auth()], { accountOf: ({ user }: AppRequest) => user?.team }),
  () => createChain<AppRequest>([auth()], { accountOf: ({ user }) => user?.team }),
  // @ts-expect-error without an annotation or a type argument the request is Node's
  () => createGateway('a.yaml', { accountOf: request => request.user?.team }),
  // @ts-expect-error as above
  () => createGateway('a.yaml', { operatorOf: request => request.user?.email }),
  // @ts-expect-error as above
  () => createChain([auth()], { accountOf: ({ user }) => user?.team }),
  // @ts-expect-error null is no account
  () => createGateway('a.yaml', { accountOf: ({ user }: AppRequest) => user?.team ?? null }),
  // @ts-expect-error an account has an id
  () => createGateway('a.yaml', { accountOf: () => ({ plan: 'free' }) }),
  // @ts-expect-error an id is text
  () => createGateway('a.yaml', { accountOf: () => 7 }),
  // @ts-expect-error an operator has a name
  () => createGateway('a.yaml', { operatorOf: ({ user }: AppRequest) => user }),
  // @ts-expect-error what is no request cannot be asked for
  () => createGateway('a.yaml', { accountOf: (request: { user: string }) => request.user.length }),
  // @ts-expect-error the type argument is the application's request
  (options: GatewayOptions<string>) => options,
  (accountOf: AccountOf<AppRequest>): ChainOptions<AppRequest> => ({ accountOf }),
  (): ApplicationAccount => ({ id: 'a', limits: { requests_per_minute: null, usd_per_month: '0.50' } }),
  // @ts-expect-error there is no such limit
  (): ApplicationAccount => ({ id: 'a', limits: { requests: 1 } }),
  () =>
    defineStage({
      name: 'session-auth',
      schema: {} as never,
      authenticates: true,
      create: (_, { accounts }: StageSetup) => ({
        async onHeaders(exchange) {
          const { user } = exchange.incoming as AppRequest;
          const account = user && (await accounts.findById(user.team));
          if (!account) throw refusal('unknown_account');
          exchange.authenticate(account);
          // @ts-expect-error stages do not replace the request
          exchange.incoming = {} as AppRequest;
        },
      }),
    }),
];

describe('the types of an application’s own request', () => {
  it('are inferred from an annotation or given as a type argument', () => {
    // Checked by `npm run typecheck`: an error above that is not expected, or an expected one that is missing, fails there.
    expect(_typed.length).toBeGreaterThan(10);
  });
});
