import { readdirSync } from 'node:fs';
import { setTimeout as after } from 'node:timers/promises';
import { faultyKinds } from '../clients/faulty.ts';
import { everydayKinds } from '../clients/healthy.ts';
import { cutKinds } from '../clients/hostile.ts';
import type { Deployment } from '../deployment.ts';
import { check, type Scenario } from '../scenario.ts';
import { soak } from './soak.ts';

const clients = 48;
/** Time between two deaths, at least. */
const pause_ms = 3000;
/** A worker hands its rows over within 50 ms, but where other programs take the cores in that time. */
const lost_ms = 500;

/** Workers are killed under load, clients leave and upstreams fail. */
export const workers: Scenario = {
  name: 'workers',
  what: 'One of two workers is killed every few seconds, beside clients that leave and upstreams that fail.',
  servers: {
    config: (config, options) => {
      const given = soak.servers!.config!(config, options);
      // What dead workers kept of it would soon refuse requests.
      const plans = { wide: { ...given.plans!.wide, concurrent_requests: 4 * clients } };
      return { ...given, plans, server: { ...given.server, workers: 2 } };
    },
  },
  clients: [
    { count: clients / 2, kinds: everydayKinds },
    { count: clients / 2, kinds: [...cutKinds, ...faultyKinds] },
  ],
  drive: killWorkers,
  alarms: /^worker ended, another one is started$/,
  checks: ({ figures, comparison }) => {
    const [before, now] = String(figures['descriptors of the primary']).split(' → ').map(Number);
    const { count, oldest_ms } = comparison.lost_with_instances;
    return [
      check('the primary keeps no descriptor of dead workers', now! <= before! + 2, `${before}, then ${now}`),
      check(
        'a worker takes its last rows along',
        oldest_ms <= lost_ms,
        `${count}, up to ${oldest_ms} ms old`,
      ),
    ];
  },
};

async function killWorkers({ gateways: [gateway], options }: Deployment) {
  const descriptors = () => readdirSync(`/proc/${gateway!.pid}/fd`).length;
  const ends_ms = performance.now() + options.seconds * 1000 - pause_ms;
  await after(pause_ms);
  const before = descriptors();
  let [killed, slowest_ms] = [0, 0];
  for (; performance.now() < ends_ms; killed++) {
    const killed_ms = performance.now();
    await gateway!.replaceWorker(gateway!.workers[0]!);
    slowest_ms = Math.max(slowest_ms, Math.round(performance.now() - killed_ms));
    await after(pause_ms);
  }
  await after(pause_ms / 2);
  return {
    'workers killed': String(killed),
    'replaced within ms': String(slowest_ms),
    'descriptors of the primary': `${before} → ${descriptors()}`,
  };
}
