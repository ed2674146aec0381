/** The clients of a crowd, a process of its own: one job at a time, told and answered as messages. */
import { setTimeout as after } from 'node:timers/promises';
import type { CrowdAnswer, CrowdJob, CrowdResult } from './crowd-jobs.ts';
import { rssBytesOf } from './crowd-memory.ts';
import { CrowdStream, crowdRequest, type Tally } from './crowd-stream.ts';
import { cpuSecondsOf } from './process-cpu.ts';
import { quantile } from './statistics.ts';

/** How much later than planned the last stream may end. */
const patience_ms = 20_000;
/** Streams go on for so long after the measurement. */
const spare_ms = 1500;
/** How many are opened in one turn. */
const together = 10;

async function measure(job: CrowdJob): Promise<CrowdResult> {
  const { port, streams, tokens_per_second, open_ms, warmup_ms, measure_ms } = job;
  const lasting_ms = open_ms + warmup_ms + measure_ms + spare_ms;
  const tokens = Math.ceil((lasting_ms / 1000) * tokens_per_second);
  const request = crowdRequest(port, tokens, tokens_per_second);
  const tally: Tally = { measuring: false, events: 0, gaps_ms: [], fault: undefined };
  const crowd: CrowdStream[] = [];
  try {
    const start_ms = performance.now();
    while (crowd.length < streams) {
      const due = Math.ceil(((performance.now() - start_ms) / open_ms) * streams);
      while (crowd.length < Math.min(due, streams)) crowd.push(new CrowdStream(port, request, tokens, tally));
      await after((open_ms * together) / streams);
    }
    await after(warmup_ms);
    const result = await measured(job, tally);
    if (crowd.some(({ ended }) => ended)) throw new Error(tally.fault ?? 'a stream ended too early');
    await untilAllEnded(crowd, tally, lasting_ms);
    return result;
  } finally {
    for (const stream of crowd) stream.close();
  }
}

async function measured(job: CrowdJob, tally: Tally): Promise<CrowdResult> {
  const { streams, tokens_per_second, gateway_pid, upstream_pid } = job;
  const read = () => ({
    at_ms: performance.now(),
    events: tally.events,
    gateway_s: gateway_pid === undefined ? 0 : cpuSecondsOf(gateway_pid),
    upstream_s: cpuSecondsOf(upstream_pid),
    client_s: cpuSecondsOf(process.pid),
  });
  const from = read();
  tally.measuring = true;
  await after(job.measure_ms);
  tally.measuring = false;
  const to = read();
  const seconds = (to.at_ms - from.at_ms) / 1000;
  const gaps = Float64Array.from(tally.gaps_ms).sort();
  return {
    seconds,
    events: to.events - from.events,
    due_events: streams * tokens_per_second * seconds,
    gateway_cpu_s: to.gateway_s - from.gateway_s,
    upstream_cpu_s: to.upstream_s - from.upstream_s,
    client_cpu_s: to.client_s - from.client_s,
    gateway_rss_bytes: gateway_pid === undefined ? 0 : rssBytesOf(gateway_pid),
    gap_p50_ms: quantile(gaps, 0.5),
    gap_p99_ms: quantile(gaps, 0.99),
  };
}

async function untilAllEnded(crowd: readonly CrowdStream[], tally: Tally, lasting_ms: number): Promise<void> {
  const deadline_ms = performance.now() + lasting_ms + patience_ms;
  while (crowd.some(({ ended }) => !ended)) {
    if (performance.now() > deadline_ms) throw new Error('streams are missing their end');
    await after(50);
  }
  if (tally.fault) throw new Error(tally.fault);
}

async function answerTo(job: CrowdJob): Promise<CrowdAnswer> {
  try {
    return { result: await measure(job) };
  } catch (thrown) {
    return { fault: thrown instanceof Error ? thrown.message : String(thrown) };
  }
}

process.on('message', async (job: CrowdJob) => process.send?.(await answerTo(job)));
process.on('disconnect', () => process.exit());
process.send?.({ ready: true });
