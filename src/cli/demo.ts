import { randomBytes } from 'node:crypto';
import type { GatewayConfig } from '../config/schema.ts';

const operator = 'demo';

/** Plans for accounts created in the dashboard; the demo's own key is not limited. */
const demoPlans = {
  free: { requests_per_minute: 15, tokens_per_minute: 20_000, tokens_per_day: 20_000 },
  standard: {
    requests_per_minute: 100,
    tokens_per_minute: 1_000_000,
    concurrent_requests: 20,
    usd_per_month: 50,
  },
};

/** The server of a demo. */
export interface DemoServer {
  readonly base_url: string;
  readonly adapter: 'openai' | 'vllm';
  readonly api_key: string | undefined;
}

/** Configuration of the demo: `models` in front of one server, with a new key and password. */
export function demoConfig(
  { base_url, adapter, api_key }: DemoServer,
  models: unknown[],
): { config: GatewayConfig; key: string; operator: string; password: string } {
  const key = `sk-demo-${randomBytes(18).toString('base64url')}`;
  const password = randomBytes(12).toString('base64url');
  const provider = { adapter, base_url, ...(api_key && { api_key }) };
  const config = {
    log: { level: 'warn' },
    // No load balancer has to notice that a demo ends.
    server: { unready_ms: 0 },
    admin: { users: { [operator]: { password } } },
    providers: { upstream: provider },
    models,
    plans: demoPlans,
    accounts: { demo: { keys: [{ value: key }] } },
  };
  return { config: config as GatewayConfig, key, operator, password };
}

interface DemoPlace {
  readonly url: string;
  readonly adminUrl: string;
  readonly key: string;
  readonly password: string;
  readonly upstream: string;
  /** The id of a model to ask. */
  readonly model: string;
  /** How people call this program. */
  readonly program: string;
}

/** Text printed when the demo starts: what to try. */
export function invitation({ url, adminUrl, key, password, upstream, model, program }: DemoPlace): string {
  const messages = [{ role: 'user', content: 'Why do rivers bend?' }];
  const asked = { model, stream: true, stream_options: { continuous_usage_stats: true }, messages };
  const body = JSON.stringify(asked).replaceAll("'", "'\\''");
  return `Next: open ${adminUrl}/dashboard/ (name ${operator}, password ${password}), or paste the curl below.

Upstream: ${upstream}

Try it, a streamed completion with its running usage, and its reasoning if the model has one:

curl -N ${url}/v1/chat/completions \\
  -H 'Authorization: Bearer ${key}' \\
  -H 'Content-Type: application/json' \\
  -d '${body}'

Or in the browser: ${adminUrl}/dashboard/playground with the key ${key}. Name, password and key are for this run.

Then: curl ${url}/v1/models, curl ${adminUrl}/metrics, and your own configuration: ${program} init.
Ctrl-C stops it.
`;
}
