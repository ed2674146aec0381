import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { cpuSecondsOf } from '../tools/machine.ts';
import { CountingUpstream } from '../support/counting-upstream.ts';
import { ask, clientKey } from '../support/gateway-under-test.ts';
import { type HostileBody, hostileBodies } from '../support/hostile-bodies.ts';
import { type RawReply, send } from '../support/raw-client.ts';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';

/** Of the process, for a body of up to 16 MiB: a quarter of 250 ms per MiB, and three times what the dearest takes on a slow core. */
const most_cpu_ms = 1000;
const most_memory_mib = 1024;
/** Of requests beside it, by the clock: 500 ms on a machine with a free core, and here others may be using it. */
const most_wait_ms = 5000;

const upstream = new CountingUpstream();
let sidecar: SidecarProcess;

beforeAll(async () => {
  await upstream.listen();
  const plans = { tokens: { tokens_per_minute: 1_000_000_000 } };
  const accounts = { tester: { plan: 'tokens', keys: [{ value: clientKey }] } };
  sidecar = await startSidecar(sidecarConfig(upstream.url, { plans, accounts }));
  for (let sent = 0; sent < 50; sent++) expect((await good()).status).toBe(200);
});

afterAll(async () => {
  const code = await sidecar?.stop();
  await upstream.close();
  expect(code).toBe(0);
  // Level 50 and above is the log of bugs.
  expect(sidecar.output()).not.toMatch(/"level":[56]0|Error:/);
});

const headers = { authorization: `Bearer ${clientKey}`, 'content-type': 'application/json' };

const good = (): Promise<RawReply> =>
  send(`${sidecar.url}/v1/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(ask('Hello')),
  });

const post = ({ path, encoding }: HostileBody, body: Buffer): Promise<RawReply> =>
  send(`${sidecar.url}${path}`, {
    method: 'POST',
    headers: { ...headers, ...(encoding !== undefined && { 'content-encoding': encoding }) },
    body,
  });

/** The most memory that the process has held since this was called before. */
function peakMemory_mib(): number {
  const status = readFileSync(`/proc/${sidecar.pid}/status`, 'latin1');
  writeFileSync(`/proc/${sidecar.pid}/clear_refs`, '5');
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Sends something again and again until it is stopped: the longest that any took, in milliseconds. */
function repeated(request: () => Promise<RawReply>): { stop(): Promise<number> } {
  let stopped = false;
  let slowest_ms = 0;
  const run = async () => {
    while (!stopped) {
      const began_ms = performance.now();
      expect((await request()).status).toBe(200);
      slowest_ms = Math.max(slowest_ms, performance.now() - began_ms);
      await sleep(10);
    }
    return slowest_ms;
  };
  const running = run();
  return {
    stop() {
      stopped = true;
      return running;
    },
  };
}

describe('a hostile request among four other clients', () => {
  it.each(hostileBodies.map(body => [`${body.path}: ${body.name}`, body] as const))(
    'is answered within CPU and memory limits and delays none of them: %s',
    async (_, hostile) => {
      const body = hostile.make();
      peakMemory_mib();
      const others = [good, good, good, good, () => send(`${sidecar.adminUrl}/healthz`)].map(repeated);
      const before_ms = cpuSecondsOf(sidecar.pid) * 1000;
      const { status, text } = await post(hostile, body);
      const cpu_ms = cpuSecondsOf(sidecar.pid) * 1000 - before_ms;
      const waits_ms = await Promise.all(others.map(other => other.stop()));
      expect(status).toBe(hostile.status);
      const { error } = JSON.parse(text) as { error?: { message: string; type: string } };
      if (status !== 200) expect(error?.type).toBe('invalid_request_error');
      expect(error?.message ?? '').toMatch(hostile.says);
      expect(error?.message.length ?? 0).toBeLessThan(300);
      expect(cpu_ms).toBeLessThan(most_cpu_ms);
      expect(peakMemory_mib()).toBeLessThan(most_memory_mib);
      expect(Math.max(...waits_ms)).toBeLessThan(most_wait_ms);
    },
    120_000,
  );
});
