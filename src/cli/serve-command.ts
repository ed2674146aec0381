import { Command } from 'commander';
import { notOneOf } from '../common/config-error.ts';
import { suggested } from '../common/suggestion.ts';
import { defaultModels } from '../config/example-models.ts';
import type { GatewayConfig } from '../config/schema.ts';
import { CommandMistake, programName, UsageMistake } from './command.ts';
import { type DemoServer, demoConfig, invitation } from './demo.ts';
import type { AddressChoice } from './listen-addresses.ts';
import type { ProcessLog } from './process-log.ts';
import type { Sidecar } from './serve.ts';
import { onSignal } from './signals.ts';
import { setV8Flags } from './v8-flags.ts';
import { watchStarter } from './watch-starter.ts';

type Flags = NonNullable<AddressChoice['flags']>;
type ServeOptions = Flags & { readonly config?: string };

/** `sluice serve`, which is also `sluice` without a command. */
export const serveCommand = (): Command =>
  new Command('serve')
    .description('serve a configuration, or a demo without one')
    .option('-c, --config <FILE>', 'the configuration')
    .option('--host <ADDRESS>', 'listen on this address, instead of server.host')
    .option('--port <N>', 'the port, instead of server.port; 0 for a free one', text =>
      portOf('--port', text),
    )
    .option('--admin-port <N>', 'the port for operators, instead of admin.port', text =>
      portOf('--admin-port', text),
    )
    .allowExcessArguments()
    .action(async (options: ServeOptions, { args, parent }: Command) => {
      if (args.length > 0) throw unknownCommand(args[0]!, parent!);
      const { config, ...flags } = options;
      if (flags.host === '') throw new UsageMistake('--host must be an address, such as 0.0.0.0');
      if (config === undefined) return serveDemo(flags);
      // Signals are listened to already: a reader of this line may send one at once.
      const { log, ...served } = await serveUntilSignal(config, flags);
      log.announce(...listening(served));
    });

/** Mistake for a word that is not a command: it arrives as an argument of the default one. */
function unknownCommand(given: string, program: Command): UsageMistake {
  const known = program.commands.map(command => command.name());
  if (known.includes(given)) return new UsageMistake(`options follow the command: sluice ${given} …`);
  const suggestion = suggested(given, known, `there are: ${known.join(', ')}`);
  return new UsageMistake(`there is no command '${given}'${suggestion}\n\n${program.helpInformation()}`);
}

function portOf(flag: string, text: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw new UsageMistake(`${flag} must be a number from 0 to 65535, not '${text}'`);
}

/** The line that says where a sidecar listens. */
const listening = ({
  url,
  adminUrl,
}: Pick<Sidecar, 'url' | 'adminUrl'>): [fields: object, message: string] => [
  { url, admin_url: adminUrl },
  `sluice is listening on ${url} (admin: ${adminUrl})`,
];

/**
 * Serves until a signal. Loads the gateway only now: commands that end by themselves start in half the time without it. With `endDemo`,
 * which ends what the demo has started beside the gateway, any signal ends running requests at once: a demo has no other users.
 */
async function serveUntilSignal(
  config: string | GatewayConfig,
  flags: Flags,
  endDemo?: () => Promise<void>,
): Promise<Sidecar & { readonly log: ProcessLog }> {
  const [{ serve }, { isTracingWanted, startTracing }, otel, { ProcessLog }, { Registry }] =
    await Promise.all([
      import('./serve.ts'),
      import('../telemetry/sdk.ts'),
      import('../telemetry/sdk-diagnostics.ts'),
      import('./process-log.ts'),
      import('prom-client'),
    ]);
  setV8Flags();
  const log = new ProcessLog();
  log.watchProcess();
  const registry = new Registry();
  if (isTracingWanted(process.env)) otel.logSdkDiagnostics(process.env, () => log.current);
  const endTracing = await startTracing(process.env, registry);
  const hangUps = typeof config === 'string' ? listenForHangUp() : undefined;
  const sidecar = await serve(config, { registry }, { flags, environment: process.env });
  log.follow(sidecar.gateway);
  otel.warnOfUnusedExporters(process.env, log.current);
  hangUps?.follow(sidecar.gateway);
  onSignal({
    close: async signal => {
      try {
        const closed = sidecar.close(signal === 'SIGINT' ? 0 : undefined);
        if (endDemo) sidecar.abort();
        await closed;
      } finally {
        await endDemo?.();
        await endTracing();
      }
    },
    abort: () => sidecar.abort(),
    failed: error => log.failed(error, 'shutdown failed'),
  });
  watchStarter(process.env);
  return { ...sidecar, log };
}

/** Reloads on SIGHUP. One that comes before the gateway serves reloads it then: it may have read the file already. */
function listenForHangUp(): { follow(gateway: Sidecar['gateway']): void } {
  let isWanted = false;
  let reload = () => void (isWanted = true);
  process.on('SIGHUP', () => reload());
  return {
    follow(gateway) {
      // The log has the mistakes.
      reload = () => void gateway.reload().catch(() => {});
      if (isWanted) reload();
    },
  };
}

async function serveDemo(flags: Flags): Promise<void> {
  const { UPSTREAM_URL, UPSTREAM_KEY, UPSTREAM_ADAPTER } = process.env;
  const adapter = adapterOf(UPSTREAM_ADAPTER);
  const simulator = UPSTREAM_URL ? undefined : await startDemoSimulator();
  const upstream = simulator?.url ?? UPSTREAM_URL!;
  const server: DemoServer = { base_url: upstream, adapter, api_key: UPSTREAM_KEY || undefined };
  const models = simulator
    ? defaultModels('upstream')
    : await (await import('./demo-models.ts')).demoModels(server);
  const { config, ...access } = demoConfig(server, models);
  const { log, url, adminUrl } = await serveUntilSignal(config, flags, async () => simulator?.close());
  const program = programName(process.env);
  const described = simulator
    ? `SIMULATED, at ${upstream}: its answers are made up. For a real server: UPSTREAM_URL=http://…/v1 ${program.replace(' --silent start --', ' start')}`
    : upstream;
  const [fields, message] = listening({ url, adminUrl });
  // The key and the password are new and end with the process, and the demo cannot be tried without them.
  const hints = { ...fields, ...access, upstream: described, dashboard: `${adminUrl}/dashboard/` };
  const model = config.models[0]!.id;
  log.announce(hints, message, invitation({ url, adminUrl, ...access, upstream: described, model, program }));
}

function adapterOf(name = 'vllm'): 'vllm' | 'openai' {
  if (name === 'vllm' || name === 'openai') return name;
  throw new CommandMistake(`UPSTREAM_ADAPTER ${notOneOf(name, ['vllm', 'openai'])}`);
}

async function startDemoSimulator() {
  const { startSimulator } = await import('../simulator/server.ts');
  // The speed of a mid-sized model, so that streaming is visible.
  return startSimulator({ ttft_ms: 200, tokens_per_second: 40 });
}
