import { setTimeout as after } from 'node:timers/promises';
import { type Child, load_core } from './children.ts';
import { type CrowdGateway, House } from './crowd-house.ts';
import type { CrowdAnswer, CrowdJob, CrowdResult } from './crowd-jobs.ts';
import { rssBytesOf } from './crowd-memory.ts';
import type { Crowd, CrowdOptions } from './crowd-options.ts';
import { readVitals } from './soak-vitals.ts';

/** How many streams are opened in a second; a client that opens them all at once measures only that. */
const opened_per_second = 400;
const warmup_ms = 2000;
/** Longer than any job that the options allow. */
const patience_ms = 30 * 60_000;

/** One crowd with and without the gateway. */
export interface CrowdRow {
  readonly crowd: Crowd;
  readonly direct: CrowdResult | undefined;
  readonly through: CrowdResult | undefined;
  /** Of the gateway's process before the first stream, when its code has been compiled. */
  readonly idle_rss_bytes: number;
  readonly faults: readonly string[];
}

/** Every crowd, first straight to the upstream and then through a gateway of its own. */
export async function measureCrowds(
  { crowds, seconds }: CrowdOptions,
  say: (text: string) => void,
): Promise<CrowdRow[]> {
  const house = new House();
  try {
    await house.open();
    const client = house.children.startOwn(load_core, 'crowd-client.ts');
    await client.message();
    const rows: CrowdRow[] = [];
    for (const crowd of crowds) {
      say(`${crowd.streams} streams at ${crowd.tokens_per_second} tokens per second`);
      rows.push(await measureCrowd(crowd, seconds * 1000, house, client));
    }
    return rows;
  } finally {
    await house.close();
  }
}

async function measureCrowd(
  crowd: Crowd,
  measure_ms: number,
  house: House,
  client: Child,
): Promise<CrowdRow> {
  const faults: string[] = [];
  const job = {
    ...crowd,
    open_ms: Math.max(1000, (crowd.streams / opened_per_second) * 1000),
    warmup_ms,
    measure_ms,
    upstream_pid: house.simulator.pid,
  };
  const run = async (way: string, more: Pick<CrowdJob, 'port' | 'gateway_pid'>) => {
    const answer = await answerOf(client, { ...job, ...more });
    if ('result' in answer) return answer.result;
    faults.push(`${way}: ${answer.fault}`);
    return undefined;
  };
  const direct = await run('without the gateway', { port: house.simulatorPort, gateway_pid: undefined });
  const gateway = await house.startGateway();
  const at = { port: gateway.port, gateway_pid: gateway.child.pid };
  await answerOf(client, { ...job, ...at, ...warming });
  await after(1000);
  const idle_rss_bytes = rssBytesOf(gateway.child.pid);
  const through = await run('through the gateway', at);
  faults.push(...(await remains(gateway)));
  await house.stopGateway(gateway);
  return { crowd, direct, through, idle_rss_bytes, faults };
}

/** A small crowd in which the code is compiled. */
const warming = { streams: 50, tokens_per_second: 40, open_ms: 500, warmup_ms: 500, measure_ms: 1000 };

/** What must not be left of a crowd that has gone. */
async function remains({ adminUrl }: CrowdGateway): Promise<string[]> {
  await after(500);
  const { in_flight } = await readVitals(adminUrl);
  return in_flight === 0 ? [] : [`${in_flight} exchanges are still in flight`];
}

async function answerOf(client: Child, job: CrowdJob): Promise<CrowdAnswer> {
  const answer = client.message(patience_ms);
  client.send(job);
  return (await answer) as CrowdAnswer;
}
