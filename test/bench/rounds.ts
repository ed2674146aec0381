import type { Child } from './children.ts';
import type { Gateway, StreamVariant } from './contestants/contestant.ts';
import type { Entry } from './entry.ts';
import { type Answer, events_per_second, type Job, type RequestResult, type StreamResult } from './jobs.ts';
import type { Options } from './options.ts';

/** Until the contestant's code is compiled and its connections are open. */
const warmup_ms = 1000;
const open_ms = 1000;
/** Streams go on this much longer than they are measured. */
const reserve_ms = 500;
/** For everything in a job beside what was planned. */
const patience_ms = 20_000;

/** The processes at the other core. */
export interface Laboratory {
  readonly generator: Child;
  readonly upstream: Child;
  readonly options: Options;
  say(text: string): void;
}

/**
 * All measurements, in rounds: whatever else happens on the machine hits every contestant alike. Round 0 is thrown away: a second
 * of warm-up is not enough for code to be compiled that has never run.
 */
export async function measureAll(entries: readonly Entry[], laboratory: Laboratory): Promise<void> {
  const { rounds, streams } = laboratory.options;
  for (let round = 0; round <= rounds; round++) {
    for (const entry of entries) await measureRequests(entry, laboratory, round);
  }
  if (streams === 0) return;
  for (let round = 0; round <= rounds; round++) {
    for (const entry of entries) await measureStreams(entry, laboratory, round);
  }
}

async function measureRequests(entry: Entry, laboratory: Laboratory, round: number): Promise<void> {
  if (!entry.gateway || entry.fault) return;
  const { seconds, connections } = laboratory.options;
  const job = {
    ...baseOf(entry.gateway, laboratory),
    kind: 'requests',
    task: entry.contestant.task,
    connections,
  } as const;
  const result = await run<RequestResult>(entry, laboratory, job, seconds * 1000);
  if (!result) return;
  entry.replies += result.replies;
  if (round > 0) entry.requests.push(result);
  const per_second = Math.round(result.requests / result.seconds);
  laboratory.say(`${shown(round, laboratory)} ${entry.contestant.name}: ${per_second} requests/s`);
}

async function measureStreams(entry: Entry, laboratory: Laboratory, round: number): Promise<void> {
  for (const { variant, results } of entry.streamed) {
    if (!entry.gateway || entry.fault) return;
    const job = streamJob(entry.gateway, laboratory, variant);
    const result = await run<StreamResult>(entry, laboratory, job, job.open_ms + job.measure_ms);
    if (!result) return;
    if (round > 0) results.push(result);
    const per_second = Math.round(result.events / result.seconds);
    laboratory.say(
      `${shown(round, laboratory)} ${entry.contestant.name}${variant.suffix}: ${per_second} events/s`,
    );
  }
}

const shown = (round: number, { options }: Laboratory): string =>
  round === 0 ? 'rehearsal' : `round ${round}/${options.rounds}`;

function baseOf({ port, pid, headers }: Gateway, { options, upstream }: Laboratory) {
  return {
    port,
    headers: headers ?? {},
    warmup_ms,
    measure_ms: options.seconds * 1000,
    gateway_pid: pid,
    upstream_pid: upstream.pid,
  };
}

function streamJob(gateway: Gateway, laboratory: Laboratory, variant: StreamVariant) {
  const base = baseOf(gateway, laboratory);
  const length_ms = open_ms + base.warmup_ms + base.measure_ms + reserve_ms;
  const max_tokens = Math.ceil((length_ms / 1000) * events_per_second);
  return {
    ...base,
    kind: 'streams',
    streams: laboratory.options.streams,
    open_ms,
    wish: { max_tokens, stream_options: variant.stream_options },
    events_per_stream: max_tokens + variant.frame_events + 1,
  } as const;
}

/** Has the generator do a job. A contestant whose replies are wrong is out. */
async function run<R>(
  entry: Entry,
  { generator, say }: Laboratory,
  job: Job,
  planned_ms: number,
): Promise<R | undefined> {
  const answered = generator.message(planned_ms + patience_ms);
  generator.send(job);
  const answer = (await answered) as Answer;
  if ('result' in answer) return answer.result as R;
  entry.fault = answer.fault;
  say(`${entry.contestant.name} is out: ${answer.fault}`);
  return undefined;
}
