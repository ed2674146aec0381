import { builtInProviders } from '../../plugins/index.ts';
import type { Model } from '../catalog/catalog.ts';
import { checkAccess } from '../chain/check-access.ts';
import { checkBodyBounds } from '../chain/check-body-bounds.ts';
import { checkReferences } from '../chain/check-references.ts';
import type { StagePlan } from '../chain/stage-plan.ts';
import type { ConfigIssue } from '../diagnostics/config-error.ts';
import { asObject } from '../json-object.ts';
import { loadGptCounter } from '../settlement/gpt-counter.ts';
import { type TokenCounter, TokenEstimator } from '../settlement/token-estimator.ts';
import { type RecordsSettings, recordsSettings } from '../stores/records/records-options.ts';
import { checkListeners } from './check-listeners.ts';
import { checkRouting } from './check-routing.ts';
import { checkPart } from './checked-part.ts';
import type { Environment } from './environment.ts';
import { checkProviderKeys, type ProviderSettings, providerOf } from './load-provider.ts';
import { loadStages, stagesOf } from './load-stages.ts';
import { readConfig } from './read-config.ts';
import { type CheckedConfig, configSchema, type GatewayConfig } from './schema.ts';
import { warningsOf } from './warnings.ts';

/** A configuration as an object, or the path of a YAML or JSON file. */
export type ConfigSource = GatewayConfig | string;

/** A checked configuration with its plugins loaded: everything a gateway is created from. */
export interface Settings extends Omit<CheckedConfig, 'models' | 'providers' | 'stages' | 'usage'> {
  readonly models: readonly Model[];
  readonly providers: readonly ProviderSettings[];
  readonly records: RecordsSettings;
  readonly stages: readonly StagePlan[];
  /** Creates counters for upstreams that report no usage. */
  readonly newCounter: () => TokenCounter;
  /** Warnings about valid options that have no effect. */
  readonly warnings: readonly string[];
}

/** Reads and checks a configuration. Throws a ConfigError that lists every mistake with its path, and its line if it has one. */
export async function loadConfig(
  source: ConfigSource,
  environment: Environment = process.env,
): Promise<Settings> {
  const written = readConfig(source);
  const { directory } = written;
  const { value, data, issues, report } = checkPart(configSchema, written.value, environment);
  report(checkReferences(value, builtInProviders));
  report(checkRouting(value));
  report(checkProviderKeys(value, directory));
  const stages = await loadStages(asObject(value).stages, directory, issues);
  // An unknown stage may have been meant to be auth.
  const areStages = issues.every(({ path }) => path[0] !== 'stages' || path.length > 3);
  if (data && areStages) issues.push(...checkStageAccess(data));
  if (data) issues.push(...checkListeners(data), ...checkBodyBounds(data.server, ['server']));
  const newCounter = await loadCounter(data?.usage.estimator, issues);
  if (issues.length > 0 || !data) throw written.error(issues);
  return { ...settingsOf(data, directory), stages, newCounter };
}

/** Checks that the stages enforce keys and limits, and in which order. */
function* checkStageAccess({ stages, accounts, plans, server }: CheckedConfig): Generator<ConfigIssue> {
  const listed = stagesOf(stages);
  const names = [...listed.keys()];
  yield* checkAccess(
    { stages: names, accounts, plans, open: server.open },
    { path: ['server', 'open'], written: 'server: { open: true }', mayBeInner: false },
  );
  for (const [stage, own] of Object.entries({ auth: 'accounts', 'rate-limit': 'plans' }))
    if (Object.hasOwn(listed.get(stage) ?? {}, own))
      yield {
        path: ['stages', names.indexOf(stage), stage, own],
        message: `belongs to ${own}, at the top level`,
      };
}

function settingsOf(config: CheckedConfig, directory: string): Omit<Settings, 'stages' | 'newCounter'> {
  const providers = Object.entries(config.providers).map(([name, given]) =>
    providerOf(name, given, directory),
  );
  const extra = new Map(providers.map(({ name, config: { extra_parameters } }) => [name, extra_parameters]));
  const models = config.models.map(model => ({
    ...model,
    extra_parameters: [...new Set(model.upstreams.flatMap(({ provider }) => extra.get(provider) ?? []))],
  }));
  const { stages: _, usage: __, ...rest } = config;
  const records = recordsSettings(config.stores, directory);
  return { ...rest, models, providers, records, warnings: [...warningsOf(config)] };
}

/** The estimator that is configured; the package is loaded only then. */
async function loadCounter(name: string | undefined, issues: ConfigIssue[]): Promise<() => TokenCounter> {
  if (name !== 'gpt-tokenizer') return () => new TokenEstimator();
  try {
    return await loadGptCounter();
  } catch (cause) {
    issues.push({
      path: ['usage', 'estimator'],
      message: `gpt-tokenizer cannot be loaded; npm install gpt-tokenizer (${(cause as Error).message.split('\n')[0]})`,
    });
    return () => new TokenEstimator();
  }
}
