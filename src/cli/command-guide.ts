import type { Command } from 'commander';

/** What the help of a command says beside its options. */
interface Guide {
  /** When the exit code is 1, as the end of a sentence. */
  readonly fails: string;
  readonly examples: readonly string[];
}

const store = 'the records store is down, or';

/** The guide of every command, by its name below `sluice`. */
export const guides: Readonly<Record<string, Guide>> = {
  serve: {
    fails: 'the configuration has mistakes, an address is taken, or the shutdown was cut short',
    examples: ['sluice serve --config sluice.yaml', 'sluice serve --port 0 --admin-port 0'],
  },
  init: {
    fails: 'the server cannot be asked or has no such model, or the file exists already',
    examples: [
      'sluice init',
      'sluice init --adapter vllm --url http://gpu:8000/v1 --yes',
      'sluice init router.yaml --adapter openrouter --key-env OPENROUTER_API_KEY --models openai/gpt-5,z-ai/glm-5 --yes',
    ],
  },
  check: {
    fails: 'the configuration has mistakes or cannot be read',
    examples: ['sluice check --config sluice.yaml', 'sluice check --config sluice.yaml --format json'],
  },
  doctor: {
    fails: 'a fault was found; warnings alone are no fault',
    examples: [
      'sluice doctor --config sluice.yaml',
      'sluice doctor --generate --format json --config sluice.yaml',
    ],
  },
  reload: {
    fails: 'the configuration has mistakes or no admin.socket, or no process answers there',
    examples: ['sluice reload --config sluice.yaml'],
  },
  'print-config': {
    fails: 'the configuration has mistakes or cannot be read',
    examples: [
      'sluice print-config --config sluice.yaml',
      'sluice print-config --format json --config sluice.yaml',
    ],
  },
  models: {
    fails: 'the provider is not configured, cannot be reached or lists no models',
    examples: ['sluice models --config sluice.yaml --provider local'],
  },
  schema: { fails: 'never', examples: ['sluice schema > sluice.schema.json'] },
  simulate: {
    fails: 'its address is taken, or its options contradict each other',
    examples: ['sluice simulate --port 8000', 'sluice simulate --port 0 --reasoning tags'],
  },
  'keys create': {
    fails: `${store} there is no such account`,
    examples: [
      'sluice keys create --account acme --name laptop --expires 30d --config sluice.yaml',
      'sluice keys create --account acme --limits \'{"requests_per_minute": 5}\' --config sluice.yaml',
    ],
  },
  'keys set-limits': {
    fails: `${store} there is no such key`,
    examples: ['sluice keys set-limits key_123 \'{"requests_per_minute": 5}\' --config sluice.yaml'],
  },
  'keys set-expiry': {
    fails: `${store} there is no such key`,
    examples: ['sluice keys set-expiry key_123 never --config sluice.yaml'],
  },
  'keys list': {
    fails: 'the records store is down',
    examples: ['sluice keys list --account acme --all --format csv --config sluice.yaml'],
  },
  'keys rotate': {
    fails: `${store} there is no such key that works`,
    examples: ['sluice keys rotate key_123 --overlap 7d --config sluice.yaml'],
  },
  'keys revoke': {
    fails: `${store} there is no such key; those before it are revoked`,
    examples: ['sluice keys revoke key_123 key_456 --config sluice.yaml'],
  },
  'accounts create': {
    fails: 'the records store is down, the name is taken, or there is no such plan or model',
    examples: ['sluice accounts create acme --plan free --config sluice.yaml'],
  },
  'accounts set-plan': {
    fails: `${store} there is no such account or plan`,
    examples: ['sluice accounts set-plan acme standard --config sluice.yaml'],
  },
  'accounts set-limits': {
    fails: `${store} there is no such account or model`,
    examples: ['sluice accounts set-limits acme \'{"usd_per_month": 20}\' --config sluice.yaml'],
  },
  'accounts set-display-name': {
    fails: `${store} there is no such account`,
    examples: ["sluice accounts set-display-name acme 'ACME Inc.' --config sluice.yaml"],
  },
  'accounts disable': {
    fails: `${store} there is no such account`,
    examples: ['sluice accounts disable acme --config sluice.yaml'],
  },
  'accounts enable': {
    fails: `${store} there is no such account`,
    examples: ['sluice accounts enable acme --config sluice.yaml'],
  },
  'accounts list': {
    fails: 'the records store is down',
    examples: ['sluice accounts list --plan free --format json --config sluice.yaml'],
  },
  usage: {
    fails: 'the records store is down',
    examples: ['sluice usage --by day --by model --from 2026-11-01 --config sluice.yaml'],
  },
  'ledger import': {
    fails: `${store} a row of the log cannot be imported`,
    examples: ['sluice ledger import sluice.log --config sluice.yaml'],
  },
  'ledger find': {
    fails: `${store} it has no such request`,
    examples: ['sluice ledger find req_123 --config sluice.yaml'],
  },
  audit: {
    fails: 'the records store is down',
    examples: ['sluice audit --action key.revoke --from 2026-11-01 --config sluice.yaml'],
  },
  'hash-password': {
    fails: 'the password is too short',
    examples: ['sluice hash-password < password.txt'],
  },
  completion: { fails: 'never', examples: ['sluice completion bash >> ~/.bashrc', 'sluice completion fish'] },
};

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
