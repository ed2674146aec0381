import { ConfigError, shownIssue } from '../../common/config-error.ts';
import { type Finding, finding } from '../../common/finding.ts';
import { notInstalled } from '../../common/missing-package.ts';
import { printable } from '../../common/printable.ts';
import { type LoadedConfig, loadWritten, type Settings } from '../../config/load.ts';
import { faultOf } from '../../mount/provider-check/ask-server.ts';
import { checkProvider } from '../../mount/provider-check/provider-check.ts';
import { tryPlugins } from '../../mount/try-plugins.ts';
import { listenAddresses } from '../listen-addresses.ts';
import { workersOf } from '../workers-of.ts';
import { checkCollector } from './collector-check.ts';
import { checkIssuer } from './issuer-check.ts';
import { checkListener } from './listener-check.ts';
import { checkClock, checkNode, checkOpenFiles, checkWorkers } from './machine-check.ts';
import { withoutSecrets } from './secrets.ts';
import { checkRecords, checkState } from './store-checks.ts';

const { fault, ok, warning } = finding;

/** Checks `file` and all that it names, at the same time, each for a limited time. Changes nothing anywhere. */
export async function diagnose(file: string, generate: boolean): Promise<readonly Finding[]> {
  const machine = [...checkNode(), ...checkOpenFiles()];
  const collector = checked('OTLP collector', checkCollector(process.env));
  const { loaded, findings } = await checkedConfig(file);
  const all = [
    ...findings,
    ...(loaded ? await reached(loaded.settings, generate) : []),
    ...(await collector),
    ...machine,
  ];
  return withoutSecrets(all, loaded, process.env).map(({ found, remedy, ...finding }) => ({
    ...finding,
    found: printable(found),
    ...(remedy !== undefined && { remedy: printable(remedy) }),
  }));
}

async function checkedConfig(file: string): Promise<{ loaded?: LoadedConfig; findings: Finding[] }> {
  const thing = 'configuration';
  try {
    const loaded = await loadWritten(file, process.env);
    await tryPlugins(loaded.settings, file);
    const { models, providers, warnings } = loaded.settings;
    const good = ok(thing, `${file}; models: ${models.length}, providers: ${providers.length}`);
    const remedy = 'correct or remove it';
    return { loaded, findings: [good, ...warnings.map(text => warning(thing, text, remedy))] };
  } catch (thrown) {
    if (!(thrown instanceof ConfigError)) return { findings: [faultOf(thing, thrown, `correct ${file}`)] };
    return {
      findings: thrown.issues.map(issue => fault(thing, shownIssue(issue), remedyFor(issue.message, file))),
    };
  }
}

const remedyFor = (message: string, file: string): string =>
  message.includes(notInstalled) ? 'install it beside sluice, then ask again' : `correct ${file}`;

async function reached(settings: Settings, generate: boolean): Promise<Finding[]> {
  const { providers, models, records, admin, portal } = settings;
  const issuers = { admin: admin.oidc?.issuer, portal: portal.enabled ? portal.oidc?.issuer : undefined };
  const asked = Promise.all(providers.map(provider => checkProvider(provider, models, generate)));
  const others = await Promise.all([
    checked('state store', checkState(settings.stateServer)),
    checked('records store', checkRecords(records)),
    checked('addresses', checkListeners(settings)),
    ...Object.entries(issuers).flatMap(([section, issuer]) =>
      issuer === undefined ? [] : [checked(`OpenID issuer of ${section}`, checkIssuer(section, issuer))],
    ),
  ]);
  const answers = await asked;
  const skews_ms = answers.flatMap(({ skew_ms }) => skew_ms ?? []);
  return [
    ...answers.flatMap(({ findings }) => findings),
    ...others.flat(),
    ...checkWorkers(workersOf(settings)),
    ...checkClock(skews_ms),
  ];
}

/** Where the gateway would listen, `HOST` and `PORT` of the environment included. */
async function checkListeners(settings: Settings): Promise<Finding[]> {
  const { server, admin } = listenAddresses(settings, { environment: process.env });
  const found = await Promise.all([
    checkListener({ name: 'server', ...server, tls: settings.server.tls }),
    checkListener({ name: 'admin', ...admin, tls: settings.admin.tls }),
  ]);
  return found.flat();
}

/** A check that fails unexpectedly is a fault of its thing, and no end of the others. */
const checked = (thing: string, check: Promise<readonly Finding[]>): Promise<readonly Finding[]> =>
  check.catch(thrown => [
    faultOf(thing, thrown, 'look at the message; if it says nothing, report it as a bug'),
  ]);
