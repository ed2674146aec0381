import { setTimeout as sleep } from 'node:timers/promises';
import type { LedgerRow } from '../../src/gateway/settlement/ledger-entry.ts';
import { Dice } from '../../src/simulator/seed.ts';
import { sampleRow } from '../unit/src/mount/ledger/sample-row.ts';
import type { GatewayUnderTest } from './gateway-under-test.ts';

const day_ms = 86_400_000;
const models = ['aion-labs/aion-3.5', 'aion-labs/aion-3.5-mini', 'aion-labs/aion-2.0'] as const;
const prices = [3, 0.7, 0.8] as const;

/** Exchanges of the `days` before now, fewer at weekends and more of late, for pictures: the same in every run of a day. */
export function pastRows(accounts: readonly string[], days: number, now_ms: number): LedgerRow[] {
  const rows: LedgerRow[] = [];
  const dice = new Dice(7);
  const random = () => dice.roll();
  for (let ago = days; ago > 0; ago--) {
    const day = new Date(now_ms - ago * day_ms).getUTCDay();
    const count = Math.round((day % 6 === 0 ? 60 : 130) * (1.6 - ago / days) * (0.8 + random() * 0.4));
    for (let at = 0; at < count; at++) {
      const model = Math.floor(models.length * random() ** 1.5);
      const account = accounts[Math.floor(accounts.length * random() ** 2)]!;
      const started_ms = Math.floor(now_ms - (ago - random()) * day_ms);
      rows.push(madeUpRow(account, models[model]!, prices[model]!, started_ms, random));
    }
  }
  return rows;
}

/** A row as an exchange leaves it, one in fifty failed. `price` is USD of a million prompt tokens. */
export function madeUpRow(
  account: string,
  model: string,
  price: number,
  started_ms: number,
  random: () => number,
): LedgerRow {
  const failed = random() < 0.02;
  const prompt_tokens = 200 + Math.floor(random() * 6000);
  const completion_tokens = failed ? 0 : 100 + Math.floor(random() * 1200);
  const first_token_ms = Math.round(120 + 500 * random() ** 4 + prompt_tokens / 30);
  const duration_ms = failed ? 1500 : first_token_ms + completion_tokens * 9;
  const attempt = {
    provider: 'upstream',
    model,
    offset_ms: 2,
    wait_ms: 1,
    first_token_ms: failed ? null : first_token_ms,
    duration_ms,
    status: failed ? 503 : 200,
    outcome: failed ? ('failed' as const) : ('completed' as const),
    kind: failed ? 'status' : null,
    error_message: failed ? 'upstream status 503: the engine is restarting' : null,
  };
  const micro_usd = Math.round(price * (prompt_tokens + 2 * completion_tokens));
  return {
    ...sampleRow({ started_ms }),
    request_id: `req_${started_ms}`,
    account,
    model,
    provider: 'upstream',
    error_message: failed ? 'The upstream provider returned an error.' : null,
    attempts_made: [attempt],
    stages: [],
    duration_ms,
    first_token_ms: attempt.first_token_ms,
    status: failed ? 502 : 200,
    error_type: failed ? 'provider_error' : null,
    end_reason: failed ? 'upstream_failed' : 'completed',
    prompt_tokens,
    completion_tokens,
    cached_tokens: Math.floor(prompt_tokens * random() * 0.6),
    reasoning_tokens: Math.floor(completion_tokens * 0.4),
    estimated: random() < 0.01,
    cost_usd: (micro_usd / 1_000_000).toFixed(6),
  };
}

/** Streams to a gateway for `length_ms`, several in a second and at times more, one in twenty with a mistake; waits until all have ended. */
export async function traffic(
  { url }: GatewayUnderTest,
  keys: readonly string[],
  length_ms: number,
): Promise<void> {
  const began_ms = performance.now();
  const sent: Promise<unknown>[] = [];
  for (let at = 0; performance.now() - began_ms < length_ms; at++) {
    const body = JSON.stringify({
      model: at % 20 === 19 ? 'aion-labs/none' : models[at % 3],
      stream: true,
      max_tokens: 60 + ((at * 37) % 150),
      messages: [{ role: 'user', content: 'Why do rivers bend?' }],
    });
    const key = keys[at % keys.length]!;
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    sent.push(
      fetch(`${url}/v1/chat/completions`, { method: 'POST', headers, body }).then(reply => reply.text()),
    );
    await sleep(220 + 130 * Math.sin(at / 14) + ((at * 53) % 60));
  }
  await Promise.all(sent);
}
