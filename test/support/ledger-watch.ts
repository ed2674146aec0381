import { post } from './chain-app.ts';
import { ask } from './gateway-under-test.ts';
import type { RecordsPlace } from './records-place.ts';
import { until } from './until.ts';

/** A sidecar, in whatever process. */
interface Watched {
  readonly url: string;
  readonly adminUrl: string;
}

/** Sends so many requests, one after the other, and returns their statuses. */
export async function sendRequests({ url }: Watched, count: number): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < count; at++) {
    const reply = await post(`${url}/v1/chat/completions`, ask('Hello'));
    await reply.arrayBuffer();
    statuses.push(reply.status);
  }
  return statuses;
}

/** What `/readyz` answers, once it matches. Rejects with what it answered last. */
export async function readinessLike({ adminUrl }: Watched, pattern: RegExp): Promise<string> {
  let text = '';
  const matches = async () => {
    const reply = await fetch(`${adminUrl}/readyz`);
    text = `${reply.status} ${await reply.text()}`;
    return pattern.test(text);
  };
  await until(matches, 30_000).catch(cause => {
    throw new Error(`/readyz did not come to match ${pattern}: ${text}`, { cause });
  });
  return text;
}

/** The operations of the records store that fail, as the gauge has it. */
export async function recordsDown({ adminUrl }: Watched): Promise<string[]> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  const samples = text.matchAll(/^sluice_store_up\{store="records",operation="(\w+)"\} (\d)/gm);
  return [...samples].flatMap(([, operation = '', up]) => (up === '0' ? [operation] : []));
}

/** Age of the oldest row that is not in the ledger, in seconds. */
export async function oldestRow_s({ adminUrl }: Watched): Promise<number> {
  const text = await (await fetch(`${adminUrl}/metrics`)).text();
  return Number(/^sluice_ledger_oldest_row_age_seconds (.+)$/m.exec(text)?.[1]);
}

/** How many rows the ledger has, which must be as many as its sums say. */
export const ledgerRows = (place: RecordsPlace): Promise<number> =>
  place.look(async store => {
    const rows = await store.ledger.list({ limit: 100_000 });
    const [sum] = await store.usage.sum({ by: [] });
    if ((sum?.requests ?? 0) !== rows.length)
      throw new Error(`${rows.length} rows, but a sum of ${sum?.requests}`);
    return rows.length;
  });

/** How often `text` is in what the process has printed. */
export const timesSaid = (sidecar: { output(): string }, text: string): number =>
  sidecar.output().split(text).length - 1;
