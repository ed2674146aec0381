import type { Command } from 'commander';

/** What the help of a command says beside its options. */
interface Guide {
  /** When the exit code is 1, as the end of a sentence. */
  readonly fails: string;
  readonly examples: readonly string[];
}

/** The guide of every command: its name below `sluice`, when it fails, and below it its examples. */
const text = `
serve: the configuration has mistakes, an address is taken, or the shutdown was cut short
  sluice serve --config sluice.yaml
  sluice serve --port 0 --admin-port 0
init: the server cannot be asked or has no such model, or the file exists already
  sluice init
  sluice init --adapter vllm --url http://gpu:8000/v1 --yes
  sluice init router.yaml --adapter openrouter --key-env OPENROUTER_API_KEY --models openai/gpt-5,z-ai/glm-5 --yes
import litellm: the file cannot be read or has no model that can be served, a file exists already, or the configuration has to be corrected
  sluice import litellm config.yaml --output sluice.yaml
  sluice import litellm config.yaml --models gpt-4o,gpt-4o-mini --output sluice.yaml --report left-out.txt
import portkey: the file cannot be read or has no model that can be served, a file exists already, or the configuration has to be corrected
  sluice import portkey assistant.json --output sluice.yaml
  sluice import portkey balanced.json --models gpt-4o,gpt-4o-mini --output sluice.yaml
check: the configuration has mistakes or cannot be read
  sluice check --config sluice.yaml
  sluice check --config sluice.yaml --format json
doctor: a fault was found; warnings alone are no fault
  sluice doctor --config sluice.yaml
  sluice doctor --generate --format json --config sluice.yaml
reload: the configuration has mistakes or no admin.socket, or no process answers there
  sluice reload --config sluice.yaml
print-config: the configuration has mistakes or cannot be read
  sluice print-config --config sluice.yaml
  sluice print-config --format json --config sluice.yaml
models: the provider is not configured, cannot be reached or lists no models
  sluice models --config sluice.yaml --provider local
schema: never
  sluice schema > sluice.schema.json
simulate: its address is taken, or its options contradict each other
  sluice simulate --port 8000
  sluice simulate --port 0 --reasoning tags
keys create: the records store is down, or there is no such account
  sluice keys create --account acme --name laptop --expires 30d --config sluice.yaml
  sluice keys create --account acme --limits '{"requests_per_minute": 5}' --config sluice.yaml
keys import: the records store is down, the file is malformed, an account is not there, or a key is another's
  sluice keys import keys.jsonl --config sluice.yaml
keys set-models: the records store is down, or there is no such key
  sluice keys set-models key_123 aion-labs/aion-3.0 --config sluice.yaml
keys set-tags: the records store is down, or there is no such key
  sluice keys set-tags key_123 team=a,product=x --config sluice.yaml
keys set-limits: the records store is down, or there is no such key
  sluice keys set-limits key_123 '{"requests_per_minute": 5}' --config sluice.yaml
keys set-expiry: the records store is down, or there is no such key
  sluice keys set-expiry key_123 never --config sluice.yaml
keys list: the records store is down
  sluice keys list --account acme --all --format csv --config sluice.yaml
keys rotate: the records store is down, or there is no such key that works
  sluice keys rotate key_123 --overlap 7d --config sluice.yaml
keys revoke: the records store is down, or there is no such key; those before it are revoked
  sluice keys revoke key_123 key_456 --config sluice.yaml
accounts create: the records store is down, or the name is taken
  sluice accounts create acme --plan free --config sluice.yaml
accounts set-plan: the records store is down, or there is no such account
  sluice accounts set-plan acme standard --config sluice.yaml
accounts set-limits: the records store is down, or there is no such account
  sluice accounts set-limits acme '{"usd_per_month": 20}' --config sluice.yaml
accounts set-models: the records store is down, or there is no such account
  sluice accounts set-models acme 'aion-labs/*' --config sluice.yaml
accounts set-parent: the records store is down, there is no such account, or two are above the parent already
  sluice accounts set-parent ann acme-sales --config sluice.yaml
accounts set-display-name: the records store is down, or there is no such account
  sluice accounts set-display-name acme 'ACME Inc.' --config sluice.yaml
accounts set-contacts: the records store is down, or there is no such account
  sluice accounts set-contacts acme 'ann@acme.example' --config sluice.yaml
accounts credit: the records store is down, or there is no such account
  sluice accounts credit acme 25.00 --config sluice.yaml
accounts disable: the records store is down, or there is no such account
  sluice accounts disable acme --config sluice.yaml
accounts enable: the records store is down, or there is no such account
  sluice accounts enable acme --config sluice.yaml
accounts list: the records store is down
  sluice accounts list --plan free --format json --config sluice.yaml
providers list: the records store is down
  sluice providers list --config sluice.yaml
providers pause: the records store is down, or there is no such provider
  sluice providers pause openai --for 2h --reason 'their incident 4711' --config sluice.yaml
providers drain: the records store is down, or there is no such provider
  sluice providers drain gpu-7 --reason 'new cards' --config sluice.yaml
providers weight: the records store is down, or there is no such provider
  sluice providers weight gpu-7 0.2 --until 2099-01-31T18:00Z --config sluice.yaml
providers resume: the records store is down, or there is no such provider
  sluice providers resume gpu-7 --config sluice.yaml
admin-keys create: the records store is down, or a key that can be used has the name
  sluice admin-keys create deploy --role operator --expires 90d --config sluice.yaml
admin-keys list: the records store is down
  sluice admin-keys list --all --config sluice.yaml
admin-keys revoke: the records store is down, or there is no such key; those before it are revoked
  sluice admin-keys revoke admin_key_123 --config sluice.yaml
admin-api openapi: never
  sluice admin-api openapi > admin-api.json
usage: the records store is down
  sluice usage --by day --by model --from 2026-11-01 --config sluice.yaml
ledger import: the records store is down, or a row of the log cannot be imported
  sluice ledger import sluice.log --config sluice.yaml
ledger find: the records store is down, or it has no such request
  sluice ledger find req_123 --config sluice.yaml
audit: the records store is down
  sluice audit --action key.revoke --from 2026-11-01 --config sluice.yaml
notices test: the records store is down, or a receiver does not have it
  sluice notices test --config sluice.yaml
notices list: the records store is down
  sluice notices list --limit 20 --config sluice.yaml
hash-password: the password is too short
  sluice hash-password < password.txt
completion: never
  sluice completion bash >> ~/.bashrc
  sluice completion fish
`;

/** The guides by the names of the commands. */
export const guides: Readonly<Record<string, Guide>> = Object.fromEntries(
  text
    .trim()
    .split(/\n(?! )/)
    .map(guide => {
      const [head = '', ...examples] = guide.split('\n  ');
      const [name, fails] = head.split(': ') as [string, string];
      return [name, { fails, examples }];
    }),
);

/** Ends the help of `command`, and of those below it, with its exit codes and examples. */
export function addGuide(command: Command, above = ''): void {
  const name = `${above} ${command.name()}`.trim();
  for (const child of command.commands) addGuide(child, name);
  const guide = guides[name];
  if (!guide) return;
  const examples = guide.examples.map(line => `  ${line}`).join('\n');
  const codes = `Exit codes: 0 done; 1 ${guide.fails}; 2 the command line is wrong.`;
  command.addHelpText('after', `\n${codes}\n\nExamples:\n${examples}`);
}
