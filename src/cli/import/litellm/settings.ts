import { isObject, textsIn } from '../../../common/json-object.ts';
import { hashKey } from '../../../records/key-secret.ts';
import { expressionOf, isVariableAlone } from '../expression.ts';
import type { FieldRule, Fields } from '../fields.ts';
import type { Findings, Path } from '../findings.ts';
import type { ImportedConfig, ImportedProvider } from '../imported-config.ts';
import { followCache, followRedis } from './cache-settings.ts';
import { generalReasons, libraryReasons, sectionReasons } from './setting-reasons.ts';

/** Why another model answers, as a configuration has it. */
export type FallbackReason = 'unavailable' | 'context_length' | 'content_filter';

/** What the settings say of models and providers. */
export interface Settings {
  /** Other models that answer in the place of one, by why and by its name; `*`: of all models. */
  readonly fallbacks: Readonly<Record<FallbackReason, Map<string, readonly string[]>>>;
  /** Models by other names. */
  readonly aliases: Map<string, string>;
  /** What all providers have. */
  readonly provider: { -readonly [Name in keyof ImportedProvider]?: ImportedProvider[Name] };
  /** How often a request is tried again. */
  num_retries?: number | undefined;
}

/** What is read: the settings, into a configuration. */
interface Reading {
  readonly settings: Settings;
  readonly config: ImportedConfig;
  readonly findings: Findings;
}

/** Reads all sections beside `model_list`; what has a place of its own goes into `config`. */
export function settingsIn(root: Fields, config: ImportedConfig, findings: Findings): Settings {
  const settings: Settings = {
    fallbacks: { unavailable: new Map(), context_length: new Map(), content_filter: new Map() },
    aliases: new Map(),
    provider: {},
  };
  const reading = { settings, config, findings };
  const [library, router, general] = ['litellm_settings', 'router_settings', 'general_settings'].map(name =>
    root.fields(name),
  ) as [Fields, Fields, Fields];
  root.follow({
    ...sectionReasons,
    model_list: null,
    litellm_settings: null,
    router_settings: null,
    general_settings: null,
  });
  library.follow({ ...libraryReasons, ...rulesOf(library, reading) });
  router.follow({ ...libraryReasons, ...rulesOf(router, reading) });
  general.follow({ ...generalReasons, ...generalRules(general, reading) });
  followCache(library, config, findings);
  followRedis(router, config, findings);
  return settings;
}

function rulesOf(section: Fields, reading: Reading): Readonly<Record<string, FieldRule>> {
  const { settings, findings } = reading;
  const { provider } = settings;
  return {
    fallbacks: (value, path) => readFallbacks('unavailable', value, path, reading),
    context_window_fallbacks: (value, path) => readFallbacks('context_length', value, path, reading),
    content_policy_fallbacks: (value, path) => readFallbacks('content_filter', value, path, reading),
    default_fallbacks: value => void settings.fallbacks.unavailable.set('*', textsIn(value)),
    model_group_alias: (value, path) => readAliases(value, path, reading),
    num_retries: () => void (settings.num_retries = section.number('num_retries') ?? settings.num_retries),
    request_timeout: () =>
      void (provider.idle_timeout_ms = section.seconds_ms('request_timeout') ?? provider.idle_timeout_ms),
    timeout: () =>
      void (provider.idle_timeout_ms = section.seconds_ms('timeout') ?? provider.idle_timeout_ms),
    stream_timeout: () => void (provider.first_token_timeout_ms = section.seconds_ms('stream_timeout')),
    allowed_fails: () =>
      setBreaker(provider, { consecutive_failures: (section.number('allowed_fails') ?? 4) + 1 }),
    cooldown_time: () => {
      const open_ms = section.seconds_ms('cooldown_time');
      if (open_ms !== undefined) setBreaker(provider, { open_ms, max_open_ms: Math.max(open_ms, 60_000) });
    },
    disable_cooldowns: value => {
      if (value === true) provider.breaker = { consecutive_failures: 0, failure_ratio: 1 };
    },
    routing_strategy: (value, path) => {
      if (value === 'latency-based-routing') reading.config.routing.strategy = 'lowest_latency';
      else if (value !== 'simple-shuffle')
        findings.lost(
          path,
          'upstreams are chosen by weight, and by what is in flight at each of them; lowest_cost needs paid_prices',
        );
    },
  };
}

function setBreaker(provider: Settings['provider'], own: Readonly<Record<string, number>>): void {
  if (provider.breaker?.failure_ratio !== 1) provider.breaker = { ...provider.breaker, ...own };
}

function readFallbacks(
  reason: FallbackReason,
  value: unknown,
  path: Path,
  { settings, findings }: Reading,
): void {
  for (const [at, entry] of (Array.isArray(value) ? value : [value]).entries())
    for (const [model, others] of Object.entries(isObject(entry) ? entry : { '': entry })) {
      if (Array.isArray(others) && others.every(other => typeof other === 'string'))
        settings.fallbacks[reason].set(model, others);
      else findings.lost([...path, at], 'must be MODEL: [MODEL, …]');
    }
}

function readAliases(value: unknown, path: Path, { settings, findings }: Reading): void {
  for (const [name, given] of Object.entries(isObject(value) ? value : {})) {
    const model = isObject(given) ? given.model : given;
    if (typeof model === 'string') settings.aliases.set(name, model);
    else findings.lost([...path, name], 'must be the name of a model');
  }
}

function generalRules(general: Fields, { config, findings }: Reading): Readonly<Record<string, FieldRule>> {
  return {
    master_key: (_, path) => {
      const key = general.text('master_key');
      if (key === undefined) return;
      config.accounts.master = { keys: [isVariableAlone(key) ? { value: key } : { sha256: hashKey(key) }] };
      findings.check(
        path,
        'is the key of the account master, without limits and without the rights of an operator',
      );
    },
    database_url: (_, path) => {
      config.stores.records = 'sqlite:./sluice.db';
      findings.check(
        path,
        'records are in a file: set stores.records to a database of its own for several instances, not to that of LiteLLM',
      );
    },
    database_type: null,
    completion_model: (value, path) =>
      findings.lost(
        path,
        `requests name their model; ${typeof value === 'string' ? expressionOf(value) : 'this one'} was asked otherwise`,
      ),
  };
}
