import { createHash, createSign, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

/** What is wrong with the next ID token, and who it is about. */
export interface Forgery {
  /** Put over its claims. */
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
  /** Signs with a key that the provider does not publish. */
  readonly foreignKey?: boolean;
  /** Leaves the signature out. */
  readonly unsigned?: boolean;
  /** Answers the token request with this status. */
  readonly status?: number;
  /** What userinfo answers, put over the same subject. */
  readonly userinfo?: Readonly<Record<string, unknown>>;
}

/** An OpenID provider that can be told to lie. It takes each code once, and checks PKCE. */
export interface ForgingProvider {
  readonly issuer: string;
  forgery: Forgery;
  /** Comes back from the provider: the query of the callback for a sign-in that begins at `url`. */
  comeBack(url: string): string;
  close(): Promise<void>;
}

const rsa = () => generateKeyPairSync('rsa', { modulusLength: 2048 });
const coded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(key: KeyObject, { header, claims, unsigned }: Forgery): string {
  const content = `${coded({ alg: unsigned ? 'none' : 'RS256', kid: 'one', ...header })}.${coded(claims!)}`;
  const signature = unsigned ? '' : createSign('RSA-SHA256').update(content).sign(key, 'base64url');
  return `${content}.${signature}`;
}

/** Starts it on a free port. */
export async function startForgingProvider(client_id: string): Promise<ForgingProvider> {
  const [own, foreign] = [rsa(), rsa()];
  const codes = new Map<string, { readonly nonce: string; readonly challenge: string }>();
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const provider: ForgingProvider = {
    issuer,
    forgery: {},
    comeBack(url) {
      const { searchParams } = new URL(url);
      const code = `code-${codes.size}-${performance.now()}`;
      codes.set(code, {
        nonce: searchParams.get('nonce')!,
        challenge: searchParams.get('code_challenge')!,
      });
      return new URLSearchParams({ code, state: searchParams.get('state')!, iss: issuer }).toString();
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
  const json = (response: ServerResponse, status: number, value: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
  const token = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await text(request));
    const { forgery } = provider;
    const begun = codes.get(form.get('code')!);
    codes.delete(form.get('code')!);
    const challenge = createHash('sha256').update(form.get('code_verifier')!).digest('base64url');
    if (begun?.challenge !== challenge) return json(response, 400, { error: 'invalid_grant' });
    if (forgery.status) return json(response, forgery.status, { error: 'server_error' });
    const now_s = Math.floor(Date.now() / 1000);
    const claims = {
      iss: issuer,
      sub: 'mallory',
      aud: client_id,
      iat: now_s,
      exp: now_s + 300,
      nonce: begun.nonce,
      email: 'anna@example.com',
      email_verified: true,
      ...forgery.claims,
    };
    const { privateKey } = forgery.foreignKey ? foreign : own;
    const id_token = signed(privateKey, { ...forgery, claims });
    json(response, 200, { access_token: 'access', token_type: 'Bearer', expires_in: 300, id_token });
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.url === '/token') return token(request, response);
    if (request.url === '/jwks')
      return json(response, 200, {
        keys: [{ ...own.publicKey.export({ format: 'jwk' }), kid: 'one', use: 'sig', alg: 'RS256' }],
      });
    if (request.url === '/userinfo')
      return json(response, 200, { sub: 'mallory', ...provider.forgery.userinfo });
    json(response, 200, {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/userinfo`,
      jwks_uri: `${issuer}/jwks`,
      response_types_supported: ['code'],
      subject_types_supported: ['public'],
      id_token_signing_alg_values_supported: ['RS256'],
    });
  };
  return provider;
}
