import { randomBytes } from 'node:crypto';
import { defaultModels } from './catalog/default-models.ts';
import type { GatewayConfig } from './config/schema.ts';

/** Where the demo listens, if not at the configuration's default ports; 0 takes a free one. */
export interface DemoPorts {
  readonly port?: number;
  readonly adminPort?: number;
}

/** A configuration for trying out: the example catalog in front of one server, and a key made now. */
export function demoConfig(
  upstream_url: string,
  adapter: 'openai' | 'vllm',
  api_key: string | undefined,
  { port, adminPort }: DemoPorts = {},
): { config: GatewayConfig; key: string } {
  const key = `sk-demo-${randomBytes(18).toString('base64url')}`;
  const provider = { adapter, base_url: upstream_url, ...(api_key && { api_key }) };
  const config = {
    log: { level: 'warn' },
    ...(port !== undefined && { server: { port } }),
    ...(adminPort !== undefined && { admin: { port: adminPort } }),
    providers: { upstream: provider },
    models: defaultModels('upstream'),
    accounts: { demo: { keys: [{ value: key }] } },
  };
  return { config: config as GatewayConfig, key };
}

/** What a newcomer types next. */
export function invitation(url: string, adminUrl: string, key: string, upstream: string): string {
  return `
sluice is listening on ${url} (admin: ${adminUrl}).
Upstream: ${upstream}

Try it, a streamed completion with its reasoning and its running usage:

curl -N ${url}/v1/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '{"model":"aion-labs/aion-3.5","stream":true,"stream_options":{"continuous_usage_stats":true},"messages":[{"role":"user","content":"Why do rivers bend?"}]}'

Then: curl ${url}/v1/models, curl ${adminUrl}/metrics, and your own configuration with --config FILE (sluice.example.yaml).
Ctrl-C stops it.
`;
}
