import type { ConfigIssue } from './issue.ts';
import type { CheckedConfig } from './schema.ts';

/** What no schema sees: names that point nowhere, and names given twice. */
export function checkReferences(config: CheckedConfig): ConfigIssue[] {
  return [...checkModels(config), ...checkAccounts(config)];
}

function* checkModels({ models, providers }: CheckedConfig): Generator<ConfigIssue> {
  const known = Object.keys(providers);
  const seen = new Set<string>();
  for (const [at, model] of models.entries()) {
    if (seen.has(model.id)) yield { path: ['models', at, 'id'], message: `${model.id} is listed twice` };
    seen.add(model.id);
    for (const [number, { provider }] of model.upstreams.entries()) {
      if (known.includes(provider)) continue;
      const path = ['models', at, 'upstreams', number, 'provider'];
      yield {
        path,
        message: `there is no provider '${provider}'; there are: ${known.join(', ') || '(none)'}`,
      };
    }
    for (const level of Object.keys(model.effort_map)) {
      if (model.reasoning_effort.levels.includes(level)) continue;
      yield { path: ['models', at, 'effort_map', level], message: 'is not one of reasoning_effort.levels' };
    }
  }
}

function* checkAccounts({ accounts, plans }: CheckedConfig): Generator<ConfigIssue> {
  const owners = new Map<string, string>();
  for (const [id, { plan, keys }] of Object.entries(accounts)) {
    if (plan !== undefined && !Object.hasOwn(plans, plan)) {
      yield {
        path: ['accounts', id, 'plan'],
        message: `there is no plan '${plan}'; there are: ${Object.keys(plans).join(', ') || '(none)'}`,
      };
    }
    for (const [at, key] of keys.entries()) {
      const digest = JSON.stringify(key);
      const owner = owners.get(digest);
      if (owner !== undefined)
        yield {
          path: ['accounts', id, 'keys', at],
          message: `the same key belongs to account '${owner}' already`,
        };
      owners.set(digest, id);
    }
  }
}
