import { CommandMistake } from '../../command.ts';
import { catalogEntry, type ImportedUpstream } from '../catalog-entry.ts';
import { Fields } from '../fields.ts';
import type { Findings } from '../findings.ts';
import type { Imported } from '../imported.ts';
import { canBeAlias, ImportedConfig } from '../imported-config.ts';
import { attempts, mergedUpstreams, withFallbacks } from '../upstream-list.ts';
import { readWritten } from '../written-file.ts';
import { type Deployment, deploymentsIn } from './deployment.ts';
import { factsOf, infoRules, modeOf, pathsOf } from './model-facts.ts';
import { paramRules } from './param-rules.ts';
import { providerSettings } from './provider-settings.ts';
import { type Settings, settingsIn } from './settings.ts';

/** The deployments of one name, with the upstreams that they become. */
interface Group {
  readonly name: string;
  readonly first: Deployment;
  readonly upstreams: readonly ImportedUpstream[];
}

/**
 * Reads LiteLLM's `config.yaml`. `names` are models that clients use, for wildcards. Throws a CommandMistake for a file that cannot be read,
 * and for one without a model that can be served.
 */
export function importLiteLlm(file: string, names: readonly string[]): Imported {
  const { value, findings } = readWritten(file);
  const root = new Fields(value, [], findings);
  const config = new ImportedConfig();
  const settings = settingsIn(root, config, findings);
  const wanted = new Set([...names, ...settings.aliases.values(), ...[...settings.fallbacks].flat(2)]);
  const deployments = deploymentsIn(root, [...wanted], findings);
  const groups = groupsOf(deployments, { settings, config, findings });
  if (groups.size === 0)
    throw new CommandMistake(
      `${file}: no model came over; those that were made in LiteLLM's pages are in its database\n${findings.text}`,
    );
  const ids = new Map(
    [...groups.values()].map(group => [group.name, addModel(group, groups, { settings, config, findings })]),
  );
  addAliases(settings, ids, { config, findings });
  addRouting(settings, config);
  if (Object.keys(config.accounts).length === 0) {
    config.stores.records ??= 'sqlite:./sluice.db';
    findings.check(
      ['general_settings', 'master_key'],
      'is not in the file: no key comes over, and without one every request is answered 401; sluice keys create makes some',
    );
  }
  return { config, findings };
}

interface Import {
  readonly settings: Settings;
  readonly config: ImportedConfig;
  readonly findings: Findings;
}

function groupsOf(deployments: readonly Deployment[], given: Import): ReadonlyMap<string, Group> {
  const groups = new Map<string, Group>();
  for (const [name, all] of Map.groupBy(deployments, ({ group }) => group)) {
    const served = all.flatMap(deployment => {
      const upstream = upstreamOf(deployment, given);
      return upstream ? [{ deployment, upstream }] : [];
    });
    const [first] = served;
    if (!first) continue;
    groups.set(name, {
      name,
      first: first.deployment,
      upstreams: mergedUpstreams(served.map(({ upstream }) => upstream)),
    });
  }
  return groups;
}

function upstreamOf(
  deployment: Deployment,
  { settings, config, findings }: Import,
): ImportedUpstream | undefined {
  const { params, info, vendor, model } = deployment;
  params.follow(paramRules);
  info.follow(infoRules);
  const own = providerSettings(deployment, findings);
  if (!own) return undefined;
  const idle_timeout_ms = own.idle_timeout_ms ?? settings.provider.idle_timeout_ms;
  const first_token_timeout_ms = own.first_token_timeout_ms ?? settings.provider.first_token_timeout_ms;
  const { breaker } = settings.provider;
  const provider = config.provider(vendor.replaceAll('_', '-'), {
    ...own,
    idle_timeout_ms,
    first_token_timeout_ms,
    breaker,
  });
  // Without a weight LiteLLM shares by what each may take.
  const weight = params.number('weight') ?? params.number('rpm') ?? params.number('tpm');
  return { provider, model, priority: params.count('order'), ...(weight && { weight }) };
}

function addModel(
  { name, first, upstreams }: Group,
  groups: ReadonlyMap<string, Group>,
  { settings, config, findings }: Import,
): string {
  const id = config.idFor(name, first.vendor.replaceAll('_', '-'));
  const mode = modeOf(first);
  for (const path of pathsOf(mode)) config.passthrough.add(path);
  const others = fallbacksOf(name, settings).flatMap(other => {
    const group = groups.get(other);
    if (!group) findings.lost(['fallbacks', name], `there is no model ${other}`);
    return group ? [group.upstreams] : [];
  });
  const all = withFallbacks(upstreams, others);
  const adapters = all.map(({ provider }) => config.settingsOf(provider)!.adapter);
  const max_attempts =
    all.length > upstreams.length
      ? attempts((settings.num_retries ?? 2) + 1 + all.length - upstreams.length)
      : undefined;
  config.add(
    catalogEntry({
      id,
      name,
      facts: factsOf(first),
      upstreams: all,
      adapters,
      ...(max_attempts && { routing: { max_attempts } }),
    }),
  );
  return id;
}

/** The other models that are asked when one fails, in order, with those that they name themselves. */
function fallbacksOf(name: string, { fallbacks }: Settings, seen = new Set([name])): string[] {
  const next = (fallbacks.get(name) ?? fallbacks.get('*') ?? []).filter(other => !seen.has(other));
  for (const other of next) seen.add(other);
  return next.flatMap(other => [other, ...fallbacksOf(other, { fallbacks } as Settings, seen)]);
}

function addAliases(
  settings: Settings,
  ids: ReadonlyMap<string, string>,
  { config, findings }: Omit<Import, 'settings'>,
): void {
  for (const [name, model] of settings.aliases) {
    const id = ids.get(model);
    if (id === undefined)
      findings.lost(['router_settings', 'model_group_alias', name], `there is no model ${model}`);
    else config.aliases.set(name, id);
  }
  for (const [name, id] of config.aliases)
    if (!canBeAlias(name))
      findings.lost(
        ['model_list'],
        `a name of more than 256 characters, or with a star or \${ in it, cannot be an alias: clients ask for ${id}`,
      );
}

function addRouting({ num_retries }: Settings, config: ImportedConfig): void {
  if (num_retries === undefined) return;
  config.routing.max_attempts = attempts(num_retries + 1);
  if (num_retries > 0) config.routing.retries_per_upstream = Math.min(5, Math.round(num_retries));
}
