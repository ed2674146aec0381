import { Registry } from 'prom-client';
import { configJsonSchema } from '../config/json-schema.ts';
import { loadConfig } from '../config/load.ts';
import { ConfigError, notOneOf } from '../diagnostics/config-error.ts';
import { startTracing } from '../telemetry/sdk.ts';
import { type DemoPorts, demoConfig, invitation } from './demo.ts';
import { flagsOf, noSuchCommand } from './flags.ts';
import { runModels } from './models-command.ts';
import { type Sidecar, serve } from './serve.ts';
import { ignoreHangUp, onSignal } from './signals.ts';
import { keepGarbageYoung } from './v8-flags.ts';

const usage = `sluice: middleware in front of LLM inference providers

  sluice                       serve a demo: the example catalog in front of a simulated server
  sluice --port N --admin-port N   the demo at other ports than 8080 and 8081; 0 takes a free one
  sluice --config FILE         serve a configuration
  sluice check --config FILE   say everything that is wrong with a configuration
  sluice models --config FILE --provider NAME   print the models that a provider offers, to paste into a configuration
  sluice schema                print the configuration's JSON Schema, for editors
  sluice simulate --port N     run the simulated inference server alone (sluice simulate --help)

  sluice keys create | list | revoke        API keys in the records store (sluice keys --help)
  sluice accounts create | list | set-plan | set-limits   its accounts (sluice accounts --help)
  sluice usage --account A     what the ledger adds up to (sluice usage --help)
  sluice ledger import         enters ledger rows that are only in the log (sluice ledger --help)
  sluice hash-password         the hash of a password, for who may sign in to the dashboard

Environment:
  UPSTREAM_URL   serve the example catalog in front of this OpenAI-compatible server instead of the simulated one
  UPSTREAM_KEY   the key to send to it
  UPSTREAM_ADAPTER   how to speak to it: vllm (default) or openai
  OTEL_EXPORTER_OTLP_ENDPOINT   where traces go, with OpenTelemetry's other OTEL_* variables; no traces without it
`;

const print = (text: string): void => {
  process.stdout.write(`${text}\n`);
};

async function main(argv: string[]): Promise<void> {
  keepGarbageYoung();
  ignoreHangUp();
  const [command] = argv;
  if (command === 'simulate') return simulate(argv.slice(1));
  if (command === 'models') return runModels(argv.slice(1), print);
  if (isOperatorCommand(command)) return runOperatorCommand(command, argv.slice(1));
  const { values, positionals } = flagsOf('sluice', argv, {
    config: { type: 'string', short: 'c' },
    port: { type: 'string' },
    'admin-port': { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  });
  const name = positionals[0] ?? 'serve';
  if (values.help) return print(usage);
  if (positionals.length > 1 || !['serve', 'check', 'schema'].includes(name))
    throw noSuchCommand(positionals.join(' '), commands, usage);
  if (name === 'schema') return print(JSON.stringify(configJsonSchema(), null, 2));
  const ports = {
    ...(values.port !== undefined && { port: portOf('--port', values.port) }),
    ...(values['admin-port'] !== undefined && { adminPort: portOf('--admin-port', values['admin-port']) }),
  };
  if (Object.keys(ports).length > 0 && (name === 'check' || values.config !== undefined))
    throw new Error(
      '--port and --admin-port are for the demo; a configuration has server.port and admin.port',
    );
  if (name === 'check') return check(values.config);
  if (values.config === undefined) return serveDemo(ports);
  const registry = new Registry();
  const endTracing = await startTracing(process.env, registry);
  const sidecar = await serve(values.config, { registry });
  // Whoever reads the line may send the signal at once.
  closeOnSignal(sidecar, endTracing);
  print(`sluice is listening on ${sidecar.url} (admin: ${sidecar.adminUrl})`);
}

async function check(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Error('check: --config FILE is missing');
  const { models, providers, stages, warnings } = await loadConfig(file);
  for (const warning of warnings) print(`warning: ${warning}`);
  print(
    `${file}: ok; ${models.length} models, ${providers.length} providers, stages: ${stages.map(stage => stage.name).join(', ')}`,
  );
}

/** Commands for operators; what they need is loaded only for them. */
const operatorCommands = {
  keys: async () => (await import('./keys-command.ts')).keysCommand,
  accounts: async () => (await import('./accounts-command.ts')).accountsCommand,
  ledger: async () => (await import('./ledger-command.ts')).ledgerCommand,
  usage: async () => (await import('./usage-command.ts')).usageCommand,
  'hash-password': async () => (await import('./hash-password-command.ts')).hashPasswordCommand,
};

const commands = ['serve', 'check', 'schema', 'models', 'simulate', ...Object.keys(operatorCommands)];

const isOperatorCommand = (name: string | undefined): name is keyof typeof operatorCommands =>
  name !== undefined && Object.hasOwn(operatorCommands, name);

async function runOperatorCommand(
  name: keyof typeof operatorCommands,
  args: readonly string[],
): Promise<void> {
  const run = await operatorCommands[name]();
  await run(args, { print, remark: text => process.stderr.write(`${text}\n`) });
}

async function simulate(argv: string[]): Promise<void> {
  const { runSimulate } = await import('../simulator/command.ts');
  const simulator = await runSimulate(argv, print);
  if (simulator) onSignal({ close: () => simulator.close() });
}

function portOf(flag: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new Error(`${flag} must be a number from 0 to 65535, not '${text}'`);
}

function adapterOf(name = 'vllm'): 'vllm' | 'openai' {
  if (name === 'vllm' || name === 'openai') return name;
  throw new Error(`UPSTREAM_ADAPTER ${notOneOf(name, ['vllm', 'openai'])}`);
}

async function serveDemo(ports: DemoPorts): Promise<void> {
  const given = process.env.UPSTREAM_URL;
  const simulator = given ? undefined : await startDemoSimulator();
  const upstream = given ?? simulator!.url;
  const adapter = adapterOf(process.env.UPSTREAM_ADAPTER);
  const { config, key, password } = demoConfig(upstream, adapter, process.env.UPSTREAM_KEY, ports);
  const registry = new Registry();
  const endTracing = await startTracing(process.env, registry);
  const sidecar = await serve(config, { registry });
  const described = simulator
    ? `SIMULATED, at ${upstream}: it makes up its answers. For a real server: UPSTREAM_URL=http://…/v1 npm start`
    : upstream;
  closeOnSignal(sidecar, async () => {
    await simulator?.close();
    await endTracing();
  });
  print(invitation({ url: sidecar.url, adminUrl: sidecar.adminUrl, key, password, upstream: described }));
}

async function startDemoSimulator() {
  const { startSimulator } = await import('../simulator/server.ts');
  // The pace of a mid-sized model, so that the stream can be seen.
  return startSimulator({ ttft_ms: 200, tokens_per_second: 40 });
}

function closeOnSignal(sidecar: Sidecar, after: () => Promise<void>): void {
  onSignal({
    close: async signal => {
      try {
        await (signal === 'SIGINT' ? sidecar.close(0) : sidecar.close());
      } finally {
        await after();
      }
    },
    abort: () => sidecar.abort(),
  });
}

function fail(error: unknown): never {
  const text =
    error instanceof ConfigError ? error.message : error instanceof Error ? error.message : String(error);
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

main(process.argv.slice(2)).catch(fail);
