import { BulkheadRejectedError, bulkhead } from 'cockatiel';
import type { ClientAuth, Configuration } from 'openid-client';
import type { Clock } from '../../../src/plugin.ts';
import type { ClaimSources } from './claims.ts';
import type { OidcProofs } from './oidc-proofs.ts';
import type { OidcSettings } from './sign-in-settings.ts';

type Library = typeof import('openid-client');

interface Ready {
  readonly library: Library;
  readonly configuration: Configuration;
}

/** The provider has refused the sign-in: `error` and `description` are its words. */
export class ProviderRefused extends Error {
  override readonly name = 'ProviderRefused';
  readonly error: string;
  readonly description: string;

  constructor(error: string, description: string) {
    super(`the provider answered ${error}`);
    this.error = error;
    this.description = description;
  }
}

/** The provider cannot be asked now. */
export class ProviderUnavailable extends Error {
  override readonly name = 'ProviderUnavailable';
}

/** Timeout of each request to the provider. */
const timeout_s = 5;
/** After a failed discovery the provider is not asked again for this time. */
const pause_ms = 2000;
/** Difference between its clock and this one. */
const clock_tolerance_s = 30;
/** Sign-ins that are completed at the same time, and those that wait. */
const [max_running, max_waiting] = [8, 32];

/** A client of an OpenID provider: authorization code flow with PKCE, state and nonce, and verified signatures. */
export class OidcClient {
  readonly #settings: OidcSettings;
  readonly #clock: Clock;
  readonly #running = bulkhead(max_running, max_waiting);
  #discovered: Promise<Ready> | undefined;
  #failed: { at_ms: number; cause: unknown } | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    this.#settings = settings;
    this.#clock = clock;
  }

  /** Where the browser signs in. Rejects with ProviderUnavailable. */
  async authorizationUrl(redirect_uri: string, { state, nonce, verifier }: OidcProofs): Promise<string> {
    const { library, configuration } = await this.#ready();
    const url = library.buildAuthorizationUrl(configuration, {
      redirect_uri,
      scope: this.#settings.scopes.join(' '),
      state,
      nonce,
      code_challenge: await library.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    return url.href;
  }

  /**
   * The claims of the person who has come back to `redirect_uri` with `query`. `isEnough` says whether those of the ID token are; if not,
   * those of the provider's userinfo follow them. Rejects if anything of the answer is wrong, such as a userinfo of another person.
   */
  async claims(
    redirect_uri: string,
    query: URLSearchParams,
    proofs: OidcProofs,
    isEnough: (claims: ClaimSources) => boolean,
  ): Promise<ClaimSources> {
    const ready = await this.#ready();
    try {
      return await this.#running.execute(() => this.#redeem(ready, redirect_uri, query, proofs, isEnough));
    } catch (thrown) {
      if (thrown instanceof BulkheadRejectedError)
        throw new ProviderUnavailable('too many sign-ins at the same time');
      const { AuthorizationResponseError } = ready.library;
      if (!(thrown instanceof AuthorizationResponseError)) throw thrown;
      throw new ProviderRefused(thrown.error, thrown.error_description ?? '');
    }
  }

  async #redeem(
    { library, configuration }: Ready,
    redirect_uri: string,
    query: URLSearchParams,
    { state, nonce, verifier }: OidcProofs,
    isEnough: (claims: ClaimSources) => boolean,
  ): Promise<ClaimSources> {
    const url = new URL(redirect_uri);
    url.search = query.toString();
    const tokens = await library.authorizationCodeGrant(configuration, url, {
      expectedState: state,
      expectedNonce: nonce,
      pkceCodeVerifier: verifier,
      idTokenExpected: true,
    });
    const claims = tokens.claims()!;
    if (isEnough([claims]) || !configuration.serverMetadata().userinfo_endpoint) return [claims];
    return [claims, await library.fetchUserInfo(configuration, tokens.access_token, claims.sub)];
  }

  /** The provider's metadata, read once; again after a failure. */
  async #ready(): Promise<Ready> {
    const now_ms = this.#clock.elapsed_ms();
    if (this.#failed && now_ms - this.#failed.at_ms < pause_ms) throw unavailable(this.#failed.cause);
    this.#discovered ??= this.#discover();
    try {
      return await this.#discovered;
    } catch (cause) {
      this.#discovered = undefined;
      this.#failed = { at_ms: this.#clock.elapsed_ms(), cause };
      throw unavailable(cause);
    }
  }

  async #discover(): Promise<Ready> {
    const library = await import('openid-client');
    const { issuer, client_id, client_secret } = this.#settings;
    const server = new URL(issuer);
    const execute = [library.enableNonRepudiationChecks];
    // The schema allows this for the own machine only.
    if (server.protocol === 'http:') execute.push(library.allowInsecureRequests);
    const metadata = { [library.clockTolerance]: clock_tolerance_s };
    const auth = client_secret === undefined ? library.None() : secretAuth(library, client_secret);
    const options = { timeout: timeout_s, execute };
    const configuration = await library.discovery(server, client_id, metadata, auth, options);
    return { library, configuration };
  }
}

const unavailable = (cause: unknown): ProviderUnavailable =>
  new ProviderUnavailable('the OpenID provider could not be discovered', { cause });

/** Sends the secret as the provider accepts it: in a header, unless it takes it in the form only. */
function secretAuth({ ClientSecretBasic, ClientSecretPost }: Library, secret: string): ClientAuth {
  const [inHeader, inForm] = [ClientSecretBasic(secret), ClientSecretPost(secret)];
  return (server, client, body, headers) => {
    const methods = server.token_endpoint_auth_methods_supported;
    const takesHeader = methods === undefined || methods.includes('client_secret_basic');
    return (takesHeader ? inHeader : inForm)(server, client, body, headers);
  };
}
