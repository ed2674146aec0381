import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { type AdapterFactory, type AdapterPayload, type Configuration, Provider } from 'oidc-provider';
import { selfSigned } from './self-signed-certificate.ts';

/** Somebody whom the provider knows, by their claims. */
export type OpenidPerson = Readonly<Record<string, unknown>>;

/** A certified implementation of an OpenID provider, at which whoever is `next` signs in without a form. */
export interface OpenidProvider {
  readonly issuer: string;
  readonly port: number;
  /** In PEM, if it is a host of its own. */
  readonly certificate: string;
  readonly client_id: string;
  readonly client_secret: string;
  /** Allows a gateway's address for coming back; before that the provider answers nothing. */
  open(redirect_url: string): void;
  /** The claims of the person who signs in next; undefined for somebody who declines. */
  next: OpenidPerson | undefined;
  /** People who sign in in the place of that one when the browser adds their `email` as `login_hint`. */
  people: readonly OpenidPerson[];
  close(): Promise<void>;
}

const client = { client_id: 'sluice', client_secret: 'a-secret-of-the-client-of-32-bytes' };

/** Starts the provider on a free port: with HTTPS for `host`, if it is to be one. */
export async function startOpenidProvider(host?: string): Promise<OpenidProvider> {
  let handle = (_: IncomingMessage, response: ServerResponse): unknown => response.writeHead(503).end();
  const listener = (request: IncomingMessage, response: ServerResponse) => void handle(request, response);
  const tls = host === undefined ? undefined : selfSigned(new Date(Date.now() + 86_400_000), [host]);
  const server = (tls ? createTlsServer(tls, listener) : createServer(listener)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const issuer = host === undefined ? `http://127.0.0.1:${port}` : `https://${host}`;
  const known = new Map<string, OpenidPerson>();
  const running: OpenidProvider = {
    issuer,
    port,
    certificate: tls?.cert ?? '',
    ...client,
    next: undefined,
    people: [],
    open(redirect_url) {
      const provider = new Provider(issuer, configurationOf(redirect_url, known));
      const answer = provider.callback();
      handle = async (request, response) => {
        if (!request.url!.startsWith('/interaction/')) return answer(request, response);
        const { prompt, params } = await provider.interactionDetails(request, response);
        const person = running.people.find(({ email }) => email === params.login_hint) ?? running.next;
        const accountId = `subject-${known.size}`;
        if (person) known.set(accountId, person);
        if (!person)
          return provider.interactionFinished(request, response, {
            error: 'access_denied',
            error_description: 'Declined by <the> person.',
          });
        if (prompt.name === 'login')
          return provider.interactionFinished(request, response, { login: { accountId, remember: false } });
        const session = (await provider.interactionDetails(request, response)).session!;
        const grant = new provider.Grant({
          accountId: session.accountId,
          clientId: params.client_id as string,
        });
        grant.addOIDCScope('openid email profile groups');
        const grantId = await grant.save();
        return provider.interactionFinished(request, response, { consent: { grantId } });
      };
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  return running;
}

/** Keeps what the provider issues until the test ends. */
function mapAdapter(): AdapterFactory {
  const all = new Map<string, AdapterPayload>();
  return model => {
    const key = (id: string) => `${model} ${id}`;
    const find = async (id: string) => all.get(key(id));
    return {
      upsert: async (id, payload) => void all.set(key(id), payload),
      find,
      findByUserCode: find,
      findByUid: async uid => [...all.values()].find(payload => payload.uid === uid),
      destroy: async id => void all.delete(key(id)),
      consume: async id => void all.set(key(id), { ...all.get(key(id)), consumed: 1 }),
      revokeByGrantId: async grantId => {
        for (const [name, payload] of all) if (payload.grantId === grantId) all.delete(name);
      },
    };
  };
}

const signing_key = {
  ...generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export({ format: 'jwk' }),
  alg: 'RS256',
  use: 'sig',
};

const configurationOf = (redirect_url: string, known: ReadonlyMap<string, OpenidPerson>): Configuration => ({
  clients: [{ ...client, redirect_uris: [redirect_url] }],
  pkce: { required: () => true },
  // As by default, which it would announce.
  ttl: {
    AccessToken: 3600,
    AuthorizationCode: 60,
    Grant: 3600,
    IdToken: 3600,
    Interaction: 3600,
    Session: 3600,
  },
  adapter: mapAdapter(),
  jwks: { keys: [signing_key] },
  claims: {
    openid: ['sub'],
    email: ['email', 'email_verified'],
    profile: ['name', 'tenant'],
    groups: ['groups'],
  },
  scopes: ['openid', 'email', 'profile', 'groups'],
  cookies: { keys: ['a key for cookies of tests'] },
  features: { devInteractions: { enabled: false } },
  interactions: { url: (_, { uid }) => `/interaction/${uid}` },
  findAccount: (_, sub) => ({ accountId: sub, claims: () => ({ sub, ...known.get(sub) }) }),
});
