import { decodePath } from '../../common/decode-path.ts';
import type { Finding } from '../../common/finding.ts';
import { min_secret_characters, secretsIn } from '../../config/effective-config.ts';
import type { Environment } from '../../config/environment.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { ProviderSettings } from '../../config/load-provider.ts';
import { keysOf } from '../../gateway/upstream/http/key-file.ts';
import { given } from '../../telemetry/otel-variables.ts';

/** The findings with every secret of the configuration and of the collector's headers masked, also where a server repeats it. */
export function withoutSecrets(
  findings: readonly Finding[],
  loaded: LoadedConfig | undefined,
  environment: Environment,
): readonly Finding[] {
  const ofConfig = loaded ? [...secretsIn(loaded), ...loaded.settings.providers.flatMap(keysOrNone)] : [];
  const secrets = [...ofConfig, ...collectorSecrets(environment)]
    .filter(text => text.length >= min_secret_characters)
    .toSorted((a, b) => b.length - a.length);
  const clean = (text: string) => secrets.reduce((told, secret) => told.replaceAll(secret, '[secret]'), text);
  return findings.map(finding => ({
    ...finding,
    found: clean(finding.found),
    ...(finding.remedy !== undefined && { remedy: clean(finding.remedy) }),
  }));
}

/** The keys of a provider, also those that are in a file. */
function keysOrNone({ config }: ProviderSettings): readonly string[] {
  try {
    return keysOf(config);
  } catch {
    // The file has gone since the configuration was checked.
    return [];
  }
}

/** The collector's headers, as they are written and as they are sent. */
const collectorSecrets = (environment: Environment): string[] =>
  ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS']
    .flatMap(name => given(environment, name).split(','))
    .map(pair => pair.slice(pair.indexOf('=') + 1).trim())
    .flatMap(value => [value, decodePath(value)]);
