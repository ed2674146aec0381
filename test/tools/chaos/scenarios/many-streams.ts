import { availableParallelism } from 'node:os';
import { measureStreams, streamLength_ms } from '../../bench/stream-load.ts';
import { gateway_core, load_core, moveTo, startStopwatch } from '../../machine.ts';
import { chat, continuous, kind } from '../clients/request.ts';
import type { Deployment } from '../deployment.ts';
import type { LedgerComparison } from '../ledger-comparison.ts';
import { readMetrics } from '../process-metrics.ts';
import { check, type Scenario } from '../scenario.ts';

/** How many streams are opened in a second; a client that opens them all at once measures only that. */
const opened_per_second = 400;
const pacedStream = { ...kind('paced stream', 1, ['completed'], () => chat('')), good: true } as const;

/** Streams that run at the same time, each at the same pace; the gateway alone on its core, where there are two. */
const manyAtOnce = (name: string, streams: number, tokens_per_second: number): Scenario => ({
  name,
  what: `${streams} streams of ${tokens_per_second} tokens per second: what the gateway adds to a provider that is asked directly.`,
  clients: [],
  peak_rss_mb: 1500,
  // They last as long as the provider makes them.
  slowest_good_ms: Number.POSITIVE_INFINITY,
  drive: (deployment, comparison) =>
    measure(deployment, comparison, Math.ceil(streams * deployment.options.load), tokens_per_second),
  checks: ({ comparison: { rows, sent } }) => {
    const [asked = 0] = sent.values();
    return [check('every stream came whole', rows === asked, `${rows} rows of ${asked}`)];
  },
});

export const manyStreams = [manyAtOnce('many-streams', 1000, 20), manyAtOnce('many-slow-streams', 5000, 1)];

async function measure(
  deployment: Deployment,
  comparison: LedgerComparison,
  streams: number,
  tokens_per_second: number,
) {
  const {
    gateways: [gateway],
    providers: [provider],
    options,
  } = deployment;
  const open_ms = Math.max(500, (streams / opened_per_second) * 1000);
  const measure_ms = Math.max(1000, options.seconds * 500 - streamLength_ms({ open_ms, measure_ms: 0 }));
  const pace = { streams, tokens_per_second, open_ms, measure_ms };
  place(gateway!.pid, gateway_core);
  for (const pid of [process.pid, provider!.pid]) place(pid, load_core);
  try {
    const direct = await measurePaced(deployment, undefined, 'direct', pace);
    await measurePaced(deployment, comparison, 'x0', {
      streams: 50,
      tokens_per_second: 40,
      open_ms: 500,
      measure_ms: 500,
    });
    const before = await readMetrics(gateway!.adminUrl);
    const through = await measurePaced(deployment, comparison, 'x1', pace);
    const due_events = streams * tokens_per_second * through.seconds;
    return {
      'events per second': (through.events / through.seconds).toFixed(0),
      'CPU µs per event': ((through.cpu_s / through.events) * 1e6).toFixed(1),
      "gateway's core": `${((100 * through.cpu_s) / through.seconds).toFixed(0)} %`,
      'memory per stream KiB': ((through.rss_bytes - before.rss_bytes) / streams / 1024).toFixed(1),
      'p99 gap direct ms': direct.gap_p99_ms.toFixed(1),
      'p99 gap through ms': through.gap_p99_ms.toFixed(1),
      'faults without the gateway': direct.fault ?? 'none',
      'kept pace': `${((100 * through.events) / due_events).toFixed(0)} %`,
    };
  } finally {
    place(process.pid, `0-${availableParallelism() - 1}`);
  }
}

/** Streams through the gateway, or without a comparison directly from the provider. */
function measurePaced(
  { gateways: [gateway], providers: [provider] }: Deployment,
  comparison: LedgerComparison | undefined,
  prefix: string,
  pace: { streams: number; tokens_per_second: number; open_ms: number; measure_ms: number },
) {
  const { tokens_per_second } = pace;
  const tokens = Math.ceil((streamLength_ms(pace) / 1000) * tokens_per_second);
  // A gateway asks for both; asked directly, vLLM gives running usage only together with the final one.
  const stream_options = { include_usage: true, ...continuous.stream_options };
  return measureStreams({
    ...pace,
    origin: new URL(comparison ? gateway!.url : provider!.url).origin,
    patience_ms: 60_000 + streamLength_ms(pace),
    withGaps: true,
    // The tokens, `[DONE]`, and at least the role before them.
    isWhole: events => events >= tokens + 2,
    requestOf(at) {
      const id = `${prefix}-${at}`;
      const directives = `reasoning=none tokens=${tokens} tps=${tokens_per_second}`;
      const request = chat(`Tell me about rivers, ${id}. [[sim:${directives}]]`, {
        stream: true,
        stream_options,
      });
      void comparison?.begin(id, pacedStream, request, gateway!);
      const { path, headers, body } = request;
      return { path, method: 'POST', headers: { ...headers, 'x-request-id': id }, body };
    },
    onEnd: (at, fault) =>
      comparison?.end(`${prefix}-${at}`, { status: 200, text: '', complete: true, fault }),
    start: () => {
      const stop = startStopwatch(gateway!.pid, provider!.pid);
      return async () => ({ ...stop(), ...(await readMetrics(gateway!.adminUrl)) });
    },
  });
}

function place(pid: number, cores: number | string): void {
  try {
    moveTo(availableParallelism() > 1 ? cores : 0, pid);
  } catch {
    // Without taskset everything shares what there is.
  }
}
