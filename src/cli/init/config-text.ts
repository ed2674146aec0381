import { stringify } from 'yaml';
import type { DiscoveredModel } from '../../mount/provider-check/discovered-model.ts';
import { catalogTemplate } from './catalog-template.ts';

/** What a first configuration is made of. */
export interface FirstConfig {
  readonly adapter: string;
  readonly base_url: string;
  /** The variable or the file that has the provider's key; neither for a server without keys. */
  readonly key_env?: string | undefined;
  readonly key_file?: string | undefined;
  readonly models: readonly DiscoveredModel[];
  readonly today: string;
}

/** The account of the first key. */
export const first_account = 'me';

const usual_port = 8080;
const other_port = 8090;

/** Port of the gateway: another one than usual where the provider has that on this machine. */
export function portOf({ base_url }: Pick<FirstConfig, 'base_url'>): number {
  const { hostname, port } = new URL(base_url);
  const isHere = ['localhost', '127.0.0.1', '[::1]', '0.0.0.0'].includes(hostname);
  return isHere && Number(port) === usual_port ? other_port : usual_port;
}

/** A configuration in YAML, with comments on what has to be checked. */
export function configText(config: FirstConfig): string {
  const { adapter, base_url, key_env, key_file, models, today } = config;
  const provider = {
    adapter,
    base_url,
    ...(key_env !== undefined && { api_key: `\${${key_env}}` }),
    ...(key_file !== undefined && { api_key_file: key_file }),
  };
  const port = portOf(config);
  return `# Made by sluice init on ${today}. Check it with: sluice check and sluice doctor.
# Editors know every option from the JSON Schema that sluice schema prints.

providers:
${indented(stringify({ [adapter]: provider }))}
# What the server does not report stands below a comment: correct it.
${catalogTemplate(adapter, models, today)}
# Its keys are made with: sluice keys create --account ${first_account}
accounts:
  ${first_account}: {}
  # With limits: ${first_account}: { limits: { requests_per_minute: 60, tokens_per_day: 1000000, usd_per_month: 20 } }

stores:
  # Keys and usage are in this file, beside the configuration. Several instances share postgres://… and state: redis://…
  records: sqlite:./sluice.db
${port === usual_port ? '' : `\nserver:\n  # ${usual_port} is the port of the provider.\n  port: ${port}\n`}
# The dashboard, at port 8081, once a user may sign in: sluice hash-password prints the hash.
# admin:
#   users: { operator: { password_hash: "scrypt:…" } }
`;
}

const indented = (text: string): string => text.replace(/^(?=.)/gm, '  ');
