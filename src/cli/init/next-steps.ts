import { first_account } from './config-text.ts';

/** What the next steps depend on. */
interface Written {
  readonly file: string;
  /** Where the gateway will listen. */
  readonly server: { readonly host: string; readonly port: number };
  /** The variable with the provider's key, if it is not set yet. */
  readonly unset: string | undefined;
  /** The id of a model of the catalog. */
  readonly model: string;
  readonly program: string;
}

/** The commands from the written file to the first streamed reply, for a shell. */
export function nextSteps({ file, server, unset, model, program }: Written): string {
  const config = quoted(file);
  const body = {
    model,
    stream: true,
    messages: [{ role: 'user', content: 'Why do rivers bend?' }],
  };
  return [
    ...(unset === undefined ? [] : [`export ${unset}=…   # the key of the provider`]),
    `export SLUICE_KEY=$(${program} keys create --account ${first_account} --config ${config})`,
    `${program} --config ${config} &`,
    `curl -N --retry 20 --retry-connrefused --retry-delay 1 http://${hostOf(server.host)}:${server.port}/v1/chat/completions \\`,
    `  -H "Authorization: Bearer $SLUICE_KEY" -H 'Content-Type: application/json' \\`,
    `  -d ${quoted(JSON.stringify(body))}`,
  ].join('\n');
}

/** A host to connect to, where the gateway listens at every address as well. */
function hostOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/** A word for a shell. */
const quoted = (text: string): string =>
  /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
