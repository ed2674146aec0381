import { Command } from 'commander';
import type { GatewayConfig } from '../config/schema.ts';
import { notOneOf } from '../diagnostics/config-error.ts';
import { suggested } from '../diagnostics/suggestion.ts';
import { type Voice, withConfig } from './command.ts';
import { type DemoPorts, demoConfig, invitation } from './demo.ts';
import { CommandMistake } from './mistake.ts';
import type { Sidecar } from './serve.ts';
import { onSignal } from './signals.ts';

interface ServeOptions {
  readonly config?: string;
  readonly port?: number;
  readonly adminPort?: number;
}

/** `sluice serve`, which is also `sluice` without a command. */
export const serveCommand = ({ print }: Voice): Command =>
  new Command('serve')
    .description('serve a configuration, or a demo without one')
    .option('-c, --config <FILE>', 'the configuration')
    .option('--port <N>', 'the port of the demo, 0 for a free one', text => portOf('--port', text))
    .option('--admin-port <N>', 'the admin port of the demo', text => portOf('--admin-port', text))
    .allowExcessArguments()
    .action(async (options: ServeOptions, { args, parent }: Command) => {
      if (args.length > 0) throw unknownCommand(args[0]!, parent!);
      const { config, ...ports } = options;
      if (config === undefined) return serveDemo(ports, print);
      if (Object.keys(ports).length > 0)
        throw new CommandMistake(
          '--port and --admin-port are for the demo; a configuration has server.port and admin.port',
        );
      await serveConfig(config, print);
    });

/** What is not a command arrives at the default one. */
function unknownCommand(given: string, program: Command): CommandMistake {
  const known = program.commands.map(command => command.name());
  if (known.includes(given)) return new CommandMistake(`options follow the command: sluice ${given} …`);
  const suggestion = suggested(given, known, `there are: ${known.join(', ')}`);
  return new CommandMistake(`there is no command '${given}'${suggestion}\n\n${program.helpInformation()}`);
}

/** `sluice check`. */
export const checkCommand = ({ print }: Voice): Command =>
  withConfig(new Command('check'))
    .description('list everything that is wrong with a configuration')
    .action(async ({ config }: { config: string }) => {
      const { loadConfig } = await import('../config/load.ts');
      const { models, providers, stages, warnings } = await loadConfig(config);
      for (const warning of warnings) print(`warning: ${warning}`);
      const names = stages.map(stage => stage.name).join(', ');
      print(`${config}: ok; ${models.length} models, ${providers.length} providers, stages: ${names}`);
    });

/** `sluice schema`. */
export const schemaCommand = ({ print }: Voice): Command =>
  new Command('schema').description("print the configuration's JSON Schema, for editors").action(async () => {
    const { configJsonSchema } = await import('../config/json-schema.ts');
    print(JSON.stringify(configJsonSchema(), null, 2));
  });

function portOf(flag: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new CommandMistake(`${flag} must be a number from 0 to 65535, not '${text}'`);
}

async function serveConfig(config: string, print: Voice['print']): Promise<void> {
  const { sidecar, endTracing } = await started(config);
  // A reader of the line may send the signal at once.
  closeOnSignal(sidecar, endTracing);
  print(`sluice is listening on ${sidecar.url} (admin: ${sidecar.adminUrl})`);
}

/** Loads the gateway only now: commands that end by themselves start in half the time without it. */
async function started(config: string | GatewayConfig) {
  const [{ serve }, { startTracing }, { Registry }] = await Promise.all([
    import('./serve.ts'),
    import('../telemetry/sdk.ts'),
    import('prom-client'),
  ]);
  const registry = new Registry();
  const endTracing = await startTracing(process.env, registry);
  return { sidecar: await serve(config, { registry }), endTracing };
}

async function serveDemo(ports: DemoPorts, print: Voice['print']): Promise<void> {
  const { UPSTREAM_URL, UPSTREAM_KEY, UPSTREAM_ADAPTER } = process.env;
  const simulator = UPSTREAM_URL ? undefined : await startDemoSimulator();
  const upstream = simulator?.url ?? UPSTREAM_URL!;
  const { config, key, password } = demoConfig(upstream, adapterOf(UPSTREAM_ADAPTER), UPSTREAM_KEY, ports);
  const { sidecar, endTracing } = await started(config);
  const described = simulator
    ? `SIMULATED, at ${upstream}: its answers are made up. For a real server: UPSTREAM_URL=http://…/v1 npm start`
    : upstream;
  closeOnSignal(sidecar, async () => {
    await simulator?.close();
    await endTracing();
  });
  print(invitation({ url: sidecar.url, adminUrl: sidecar.adminUrl, key, password, upstream: described }));
}

function adapterOf(name = 'vllm'): 'vllm' | 'openai' {
  if (name === 'vllm' || name === 'openai') return name;
  throw new CommandMistake(`UPSTREAM_ADAPTER ${notOneOf(name, ['vllm', 'openai'])}`);
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
