import { type Expression, isVariableAlone } from '../expression.ts';
import type { FieldRule, Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { ImportedConfig } from '../imported-config.ts';

/** Turns `cache` and `cache_params` into the stage response-cache and the store of state. */
export function followCache(library: Fields, config: ImportedConfig, findings: Findings): void {
  if (library.boolean('cache') !== true) return;
  const params = library.fields('cache_params');
  const type = params.value('type') ?? 'redis';
  if (type !== 'redis' && type !== 'local') {
    findings.lost(
      [...params.path, 'type'],
      `there is no cache of the type ${typeof type === 'string' ? type : 'given'}; the stage response-cache keeps replies in memory or Redis`,
    );
    return;
  }
  const ttl_s = params.count('ttl');
  config.stages['response-cache'] = ttl_s === undefined ? {} : { ttl_s: Math.min(ttl_s, 2_592_000) };
  findings.check(
    [...library.path, 'cache'],
    'replies are kept for each account apart; shared: true of response-cache gives them to all, as LiteLLM does',
  );
  params.follow({ ...paramRules, ...(type === 'redis' && redisNames) });
  if (type === 'redis') setRedis(params, '', config, findings);
}

const paramRules: Readonly<Record<string, FieldRule>> = {
  type: null,
  ttl: null,
  default_in_memory_ttl: null,
  default_in_redis_ttl: null,
  max_connections: null,
  namespace: 'stores.state_key_prefix begins the names of all keys',
  mode: 'clients leave the cache out with cache-control: no-cache or no-store',
  supported_call_types: 'replies to chats, responses and messages are cached, and no others',
};

const redisNames: Readonly<Record<string, FieldRule>> = {
  host: null,
  port: null,
  password: null,
  username: null,
  url: null,
  redis_url: null,
  ssl: null,
};

/** Turns the Redis of `router_settings` into the store of state. */
export function followRedis(router: Fields, config: ImportedConfig, findings: Findings): void {
  const has = ['redis_url', 'redis_host'].some(name => router.value(name) !== undefined);
  if (has) setRedis(router, 'redis_', config, findings);
}

function setRedis(fields: Fields, prefix: '' | 'redis_', config: ImportedConfig, findings: Findings): void {
  if (config.stores.state !== undefined) return;
  const [host, password, port] = ['host', 'password', 'port'].map(name => fields.text(prefix + name));
  const url = fields.text(`${prefix}url`) ?? fields.text('redis_url');
  const scheme = fields.boolean(`${prefix}ssl`) === true ? 'rediss' : 'redis';
  const user = `${part(fields.text(`${prefix}username`) ?? '')}:${part(password ?? '')}@`;
  const address = `${scheme}://${user === ':@' ? '' : user}${host}:${port ?? '6379'}`;
  const state = url ?? (host === undefined ? '${REDIS_URL}' : address);
  if (!isRedis(state)) return findings.lost(fields.path, 'has no address of one Redis: set stores.state');
  config.stores.state = state;
  findings.check(
    fields.path,
    'stores.state needs the package @redis/client beside sluice, and a password in it percent-encoded',
  );
}

/** Whether it can be the address of a Redis, whatever its variables have. */
function isRedis(address: Expression): boolean {
  const sample = address.replace(/:\$\{\w+\}$/, ':6379').replaceAll(/\$\{\w+\}/g, 'x');
  return (
    isVariableAlone(address) ||
    (/^rediss?:\/\/(?:[^@/\s]*@)?[\w.-]+(?::\d{1,5})?(?:\/\d{1,3})?$/.test(sample) && URL.canParse(sample))
  );
}

/** A part of an address: a variable as it is. */
const part = (text: Expression): Expression => (isVariableAlone(text) ? text : encodeURIComponent(text));
