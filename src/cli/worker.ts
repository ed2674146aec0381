import { collectDefaultMetrics, Registry } from 'prom-client';
import type { ConfigSource } from '../config/load.ts';
import { type Gateway, openGateway } from '../mount/gateway.ts';
import { Channel } from '../mount/workers/channel.ts';
import type { Closing } from '../mount/workers/worker-process.ts';
import { ListenerMetrics } from '../telemetry/listener-metrics.ts';
import { registerLogMetrics } from '../telemetry/log.ts';
import { isTracingWanted, startTracing } from '../telemetry/sdk.ts';
import { logSdkDiagnostics } from '../telemetry/sdk-diagnostics.ts';
import { sourceOf, type WorkerConfig, type WorkerStart } from './primary.ts';
import { ProcessLog } from './process-log.ts';
import { PublicListener } from './public-listener.ts';
import { exit } from './signals.ts';

/** Longest time for running exchanges to end with an error when the primary process is gone. */
const orphan_ms = 3000;

/**
 * Serves the public address as one of several processes, until the primary process asks this one to end or is gone. Signals are the
 * primary's: a terminal and systemd send them to all processes.
 */
export async function serveAsWorker(): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => {});
  const channel = new Channel(process);
  const log = new ProcessLog();
  log.watchProcess();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  registerLogMetrics(registry);
  // While it does not serve yet.
  let endAlone = () => exit(1);
  channel.handle('close', () => exit(0)).onClosed(() => void endAlone());
  try {
    if (isTracingWanted(process.env)) logSdkDiagnostics(process.env, () => log.current);
    const endTracing = await startTracing(process.env, registry);
    const start = (await channel.request('start')) as WorkerStart;
    const { gateway, listener } = await serve(start, registry, channel);
    log.follow(gateway);
    channel
      .handle('alive', () => true)
      .handle('reload', config => gateway.reload(sourceOf(config as WorkerConfig) as ConfigSource))
      .handle('abort', () => listener.abort())
      .handle('close', closing => void end(listener, closing as Closing, endTracing, log));
    endAlone = () => endOrphan(gateway, endTracing);
    channel.notify('ready', listener.url);
  } catch (thrown) {
    await channel
      .request('failed', thrown instanceof Error ? thrown.message : String(thrown))
      .catch(() => {});
    await exit(1);
  }
}

async function serve(
  { config, listener: { address, options } }: WorkerStart,
  registry: Registry,
  primary: Channel,
) {
  const fixed = { ...config.fixed, server: options };
  let listener: PublicListener | undefined;
  const { gateway } = await openGateway(
    sourceOf(config),
    { terminal: true, registry, publicUrl: () => listener?.url },
    () => ({ primary, fixed }),
  );
  listener = new PublicListener(gateway, new ListenerMetrics(registry));
  await listener.listen(address, true);
  return { gateway, listener };
}

async function end(
  listener: PublicListener,
  closing: Closing,
  endTracing: () => Promise<void>,
  log: ProcessLog,
): Promise<void> {
  try {
    await listener.close(closing);
    await endTracing();
    await exit(0);
  } catch (thrown) {
    log.failed(thrown, 'shutdown failed');
    await exit(1);
  }
}

/** Without the primary nothing can be settled: running exchanges end with an error. */
async function endOrphan(gateway: Gateway, endTracing: () => Promise<void>): Promise<void> {
  setTimeout(() => process.exit(1), orphan_ms);
  gateway.log.fatal('the primary process has ended, and this worker with it');
  await Promise.allSettled([gateway.close(0), endTracing()]);
  await exit(1);
}
