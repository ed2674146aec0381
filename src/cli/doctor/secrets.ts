import type { Finding } from '../../common/finding.ts';
import { severalHostsOf } from '../../common/several-hosts.ts';
import type { Environment } from '../../config/environment.ts';
import type { Settings } from '../../config/load.ts';
import { keysOf } from '../../gateway/upstream/http/key-file.ts';

/** Shorter ones would be found in every text. */
const min_characters = 6;

/** The findings with every secret of the configuration and of the collector's headers masked, also where a server repeats it. */
export function withoutSecrets(
  findings: readonly Finding[],
  settings: Settings | undefined,
  environment: Environment,
): readonly Finding[] {
  const secrets = [...(settings ? secretsOf(settings) : []), ...collectorSecrets(environment)]
    .filter(text => text.length >= min_characters)
    .toSorted((a, b) => b.length - a.length);
  const clean = (text: string) => secrets.reduce((told, secret) => told.replaceAll(secret, '[secret]'), text);
  return findings.map(finding => ({
    ...finding,
    found: clean(finding.found),
    ...(finding.remedy !== undefined && { remedy: clean(finding.remedy) }),
  }));
}

function secretsOf({ providers, stores, admin, portal }: Settings): string[] {
  return [
    ...providers.flatMap(({ config }) => [
      ...keysOrNone(config),
      ...Object.values(config.headers),
      ...passwordsIn(config.base_url),
    ]),
    ...passwordsIn(stores.state),
    ...passwordsIn(stores.records),
    ...[admin.oidc, portal.oidc].flatMap(oidc => oidc?.client_secret ?? []),
  ];
}

function keysOrNone(config: Parameters<typeof keysOf>[0]): readonly string[] {
  try {
    return keysOf(config);
  } catch {
    // The file has gone since the configuration was checked.
    return [];
  }
}

/** The passwords of a URL, as they are written there and as they are meant. */
function passwordsIn(address: string): string[] {
  const { password = '', searchParams } = severalHostsOf(address)?.url ?? {};
  const ofSentinels = searchParams?.get('sentinel_password') ?? '';
  return [password, decodedOr(password), ofSentinels, encodeURIComponent(ofSentinels)];
}

function decodedOr(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const collectorSecrets = (environment: Environment): string[] =>
  ['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_EXPORTER_OTLP_TRACES_HEADERS'].flatMap(name =>
    (environment[name] ?? '').split(',').map(pair => pair.slice(pair.indexOf('=') + 1).trim()),
  );
