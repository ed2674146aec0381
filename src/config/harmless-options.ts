/**
 * Places of texts that are no secrets, in the configuration with the built-in plugins: `*` is any name, `#` any number, `**` everything
 * below. A text at any other place is masked when the configuration is printed, so that an option which is added later is masked until it
 * stands here.
 */
const harmless: readonly string[] = [
  'server.host',
  'server.public_url',
  'server.workers',
  'admin.host',
  'admin.socket',
  'admin.hosts.#',
  'admin.users.*.role',
  ...['server', 'admin'].flatMap(section =>
    ['cert_file', 'key_file', 'client_ca_file', 'min_version'].map(name => `${section}.tls.${name}`),
  ),
  'portal.path',
  'portal.users.*.account',
  ...['admin', 'portal'].flatMap(section =>
    ['issuer', 'client_id', 'scopes.#', 'redirect_url', 'label', 'name_claim'].map(
      name => `${section}.oidc.${name}`,
    ),
  ),
  'admin.oidc.roles.*',
  'admin.oidc.role_claim',
  'admin.oidc.claim_roles.*',
  'portal.oidc.accounts.*',
  'portal.oidc.account_claim',
  'admin.proxy.**',
  ...['log', 'metrics', 'tracing', 'usage', 'routing', 'dialects', 'models', 'passthrough', 'plans'].map(
    section => `${section}.**`,
  ),
  'chat_completions.**',
  'responses.**',
  'messages.**',
  ...['adapter', 'base_url', 'api_key_file', 'extra_parameters.#', 'drop_parameters.#', 'send_reasoning'].map(
    name => `providers.*.${name}`,
  ),
  'providers.*.health_check.path',
  // Of the built-in adapters.
  ...[
    'provider_name',
    'max_tokens_field',
    'reasoning_field',
    'thinking_switches.#',
    'referer',
    'title',
    'version',
    'beta.#',
    'thinking',
    'on_changed_history',
    'prompt_caching',
  ].map(name => `providers.*.${name}`),
  'accounts.*.plan',
  'accounts.*.limits.**',
  'stores.state_key_prefix',
  'stores.ledger_queue',
  'stores.retention.*',
  'stores.on_state_store_down.*',
  'stages.#',
  'stages.#.auth.accounts.*.plan',
  'stages.#.auth.accounts.*.limits.**',
  ...[
    'error-envelope',
    'validation',
    'rate-limit',
    'stream-rechunk',
    'reasoning-split',
    'model-access',
    'redact',
  ].map(stage => `stages.#.${stage}.**`),
];

/** Addresses with a user and password in them, which alone are masked. */
const addresses: readonly string[] = [
  'server.public_url',
  '*.oidc.issuer',
  '*.oidc.redirect_url',
  'providers.*.base_url',
  'providers.*.referer',
  'stores.state',
  'stores.records',
];

const patternOf = (places: readonly string[]): RegExp => {
  const one = (place: string) =>
    place
      .split('.')
      .map(part => ({ '*': '[^\\0]+', '#': '\\d+', '**': '.*' })[part] ?? part)
      .join('\\0');
  return new RegExp(`^(?:${places.map(one).join('|')})$`, 's');
};

const harmlessPlace = patternOf(harmless);
const addressPlace = patternOf(addresses);

const placeOf = (path: readonly PropertyKey[]): string => path.map(String).join('\0');

/** Whether a text at `path` is known to be no secret. */
export const isHarmless = (path: readonly PropertyKey[]): boolean => harmlessPlace.test(placeOf(path));

/** Whether the text at `path` is an address, of which user, password and query may be secrets. */
export const isAddress = (path: readonly PropertyKey[]): boolean => addressPlace.test(placeOf(path));
