import { isDeepStrictEqual } from 'node:util';
import { textsIn } from '../../../common/json-object.ts';
import { CommandMistake } from '../../command.ts';
import { catalogEntry, type ImportedUpstream } from '../catalog-entry.ts';
import { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { Imported } from '../imported.ts';
import { canBeAlias, ImportedConfig } from '../imported-config.ts';
import { defaultsIn, type ModelDefaults } from '../model-defaults.ts';
import { attempts, mergedUpstreams } from '../upstream-list.ts';
import { readWritten } from '../written-file.ts';
import { type Deployment, deploymentsIn } from './deployment.ts';
import { importKeys } from './import-keys.ts';
import { KnownModels } from './known-models.ts';
import { factsOf, infoRules, modeOf, pathsOf } from './model-facts.ts';
import { ModelNames } from './model-names.ts';
import { paramRules } from './param-rules.ts';
import { providerSettings } from './provider-settings.ts';
import { type FallbackReason, type Settings, settingsIn } from './settings.ts';

/** The deployments of one name, with the upstreams that they become. */
interface Group {
  readonly name: string;
  readonly first: Deployment;
  readonly all: readonly Deployment[];
  readonly upstreams: readonly ImportedUpstream[];
}

/** Files beside the configuration. */
export interface FurtherFiles {
  /** An export of its keys. */
  readonly keys?: string | undefined;
  /** Its list of prices. */
  readonly prices?: string | undefined;
}

interface Reading {
  readonly config: ImportedConfig;
  readonly findings: Findings;
  readonly known: KnownModels;
}

/**
 * Reads LiteLLM's `config.yaml`, and what stands beside it. `names` are models that clients use, for wildcards. Throws a CommandMistake for a file that cannot be read,
 * and for one without a model that can be served.
 */
export function importLiteLlm(file: string, names: readonly string[], more: FurtherFiles = {}): Imported {
  const { value, findings } = readWritten(file);
  const root = new Fields(value, [], findings);
  const config = new ImportedConfig();
  const { keys, prices } = more;
  const known = new KnownModels(prices);
  const reading = new LiteLlmImport(settingsIn(root, config, findings), { config, findings, known });
  reading.addModels(root, names);
  if (config.models.length === 0)
    throw new CommandMistake(
      `${file}: no model came over; those that were made in LiteLLM's pages are in its database\n${findings.text}`,
    );
  const ofKeys = keys === undefined ? [] : [importKeys(keys, config, reading.modelNames, Date.now())];
  reading.addRest();
  return { config, findings: [findings, ...ofKeys] };
}

/** One run of the import. */
class LiteLlmImport {
  readonly #settings: Settings;
  readonly #config: ImportedConfig;
  readonly #findings: Findings;
  readonly #known: KnownModels;
  /** Ids of the models, by all names that clients have for them. */
  readonly #ids = new Map<string, string>();

  /** Models by the name of an access group. */
  readonly #accessGroups = new Map<string, readonly string[]>();

  constructor(settings: Settings, { config, findings, known }: Reading) {
    this.#settings = settings;
    this.#config = config;
    this.#findings = findings;
    this.#known = known;
  }

  /** The models that came over. */
  get modelNames(): ModelNames {
    return new ModelNames(this.#ids, this.#accessGroups);
  }

  addModels(root: Fields, names: readonly string[]): void {
    const { aliases, fallbacks } = this.#settings;
    const mentioned = Object.values(fallbacks).flatMap(byModel => [...byModel].flat(2));
    const deployments = deploymentsIn(root, [...names, ...aliases.values(), ...mentioned], this.#findings);
    const groups = this.#groupsOf(deployments);
    for (const { name, first } of groups)
      this.#ids.set(name, this.#config.idFor(name, first.vendor.replaceAll('_', '-')));
    this.#addAliases();
    for (const group of groups) this.#addModel(group);
  }

  addRest(): void {
    const { routing, accounts, stores } = this.#config;
    const { num_retries } = this.#settings;
    if (num_retries !== undefined) routing.max_attempts = attempts(num_retries + 1);
    if (num_retries) routing.retries_per_upstream = Math.min(5, Math.ceil(num_retries));
    if (Object.keys(accounts).length > 0) return;
    stores.records ??= 'sqlite:./sluice.db';
    this.#findings.check(
      ['general_settings', 'master_key'],
      'is not in the file: no key comes over, and without one every request is answered 401; sluice keys create makes some',
    );
  }

  #groupsOf(deployments: readonly Deployment[]): readonly Group[] {
    return [...Map.groupBy(deployments, ({ group }) => group)].flatMap(([name, all]) => {
      const served = all.flatMap(deployment => {
        const upstream = this.#upstreamOf(deployment);
        return upstream ? [{ deployment, upstream }] : [];
      });
      const upstreams = mergedUpstreams(served.map(({ upstream }) => upstream));
      return served.length === 0 ? [] : [{ name, first: served[0]!.deployment, all, upstreams }];
    });
  }

  #upstreamOf(deployment: Deployment): ImportedUpstream | undefined {
    const { params, info, vendor, model } = deployment;
    params.follow(paramRules);
    info.follow(infoRules);
    const own = providerSettings(deployment, this.#findings);
    if (!own) return undefined;
    const { breaker, ...times } = this.#settings.provider;
    const provider = this.#config.provider(vendor.replaceAll('_', '-'), {
      ...own,
      idle_timeout_ms: own.idle_timeout_ms ?? times.idle_timeout_ms,
      first_token_timeout_ms: own.first_token_timeout_ms ?? times.first_token_timeout_ms,
      breaker,
    });
    const [rpm, tpm] = [params.count('rpm'), params.count('tpm')];
    // Without a weight LiteLLM shares by what each may take.
    const weight = params.number('weight') ?? rpm ?? tpm;
    const limits = { ...(rpm && { requests_per_minute: rpm }), ...(tpm && { tokens_per_minute: tpm }) };
    return { provider, model, priority: params.count('order'), ...(weight && { weight }), limits };
  }

  #addModel({ name, first, all, upstreams }: Group): void {
    for (const path of pathsOf(modeOf(first))) this.#config.passthrough.add(path);
    for (const group of textsIn(first.info.list('access_groups')))
      this.#accessGroups.set(group, [...(this.#accessGroups.get(group) ?? []), name]);
    const adapters = upstreams.map(({ provider }) => this.#config.settingsOf(provider)!.adapter);
    const num_retries = first.params.number('num_retries');
    const isRetried = num_retries !== undefined && num_retries > 0;
    this.#config.add(
      catalogEntry({
        id: this.#ids.get(name)!,
        name,
        facts: factsOf(first, this.#known),
        upstreams,
        adapters,
        defaults: this.#defaultsOf(all),
        fallbacks: this.#fallbacksOf(name),
        ...(isRetried && {
          routing: {
            max_attempts: attempts(num_retries + 1),
            retries_per_upstream: Math.min(5, Math.ceil(num_retries)),
          },
        }),
      }),
    );
  }

  /** Those of the first entry, which all have to share. */
  #defaultsOf(all: readonly Deployment[]): ModelDefaults {
    const [first, ...others] = all.map(({ params }) => [params, defaultsIn(params, this.#findings)] as const);
    for (const [params, defaults] of others)
      if (!isDeepStrictEqual(defaults, first![1]))
        this.#findings.lost(
          params.path,
          'has other parameters than the first entry of the model, whose defaults count',
        );
    return first![1];
  }

  /** Those by the reason, or else those for all reasons, each with those that they have themselves: here they are not followed. */
  #fallbacksOf(name: string): Record<string, readonly string[]> {
    const { fallbacks } = this.#settings;
    const found: Record<string, readonly string[]> = {};
    for (const reason of Object.keys(fallbacks) as FallbackReason[]) {
      const ids = this.#followed(name, reason, new Set([name])).map(other => this.#ids.get(other)!);
      const others = [...new Set(ids)].filter(id => id !== this.#ids.get(name));
      if (others.length > 0) found[reason] = others;
    }
    return found;
  }

  #followed(name: string, reason: FallbackReason, seen: Set<string>): readonly string[] {
    const { [reason]: own, unavailable: general } = this.#settings.fallbacks;
    const named = own.get(name) ?? own.get('*') ?? general.get(name) ?? general.get('*') ?? [];
    return named.flatMap(other => {
      if (seen.has(other)) return [];
      seen.add(other);
      if (this.#ids.has(other)) return [other, ...this.#followed(other, reason, seen)];
      this.#findings.lost(['router_settings', 'fallbacks'], `there is no model ${other}, for ${name}`);
      return [];
    });
  }

  #addAliases(): void {
    const { aliases } = this.#config;
    for (const [name, model] of this.#settings.aliases) {
      const id = this.#ids.get(model);
      if (id === undefined)
        this.#findings.lost(['router_settings', 'model_group_alias', name], `there is no model ${model}`);
      else if (!this.#ids.has(name)) {
        aliases.set(name, id);
        this.#ids.set(name, id);
      }
    }
    for (const [name, id] of aliases)
      if (!canBeAlias(name))
        this.#findings.lost(
          ['model_list'],
          `a name of more than 256 characters, or with a star or \${ in it, cannot be an alias: clients ask for ${id}`,
        );
  }
}
