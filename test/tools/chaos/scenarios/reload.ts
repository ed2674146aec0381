import { setTimeout as after } from 'node:timers/promises';
import type { GatewayConfig } from '../../../../src/config/schema.ts';
import { Dice } from '../../../../src/simulator/seed.ts';
import { isAnswer, type Reply } from '../clients/checks.ts';
import { Client, kept_connection } from '../clients/client.ts';
import { chat, kind, streaming } from '../clients/request.ts';
import type { Deployment } from '../deployment.ts';
import type { LedgerComparison } from '../ledger-comparison.ts';
import { check, type Scenario, type Step } from '../scenario.ts';

/** Requests per second, half of them streams, whether or not those before them are answered. */
const per_second = 500;
/** Above this the machine cannot follow: the rate is lower then, and the report says it. */
const most_running = 1000;

/** Short answers, so that the machine is busy with many requests and not with long ones; streams last for half a second. */
const served = (name: string, directives: string, body?: object) => ({
  ...kind(name, 1, ['completed'], (_, id) => {
    const answer = `Answer ${id}: rivers bend slowly.`;
    const asked = chat(`Question ${id} [[sim:reasoning=none ${directives} say=${answer}]]`, body);
    return { ...asked, check: isAnswer(answer) };
  }),
  good: true as const,
});
const kinds = [served('stream', 'tps=30', streaming), served('whole reply', 'ttft=20')];

type Change = (config: GatewayConfig) => GatewayConfig;

/** The other provider first: attempts that run end at the one before. */
const otherProvider: Change = config => ({
  ...config,
  models: config.models.map(model => ({ ...model, upstreams: model.upstreams.toReversed() })),
});
/** Other options of both providers, each in the place of the one before. */
const otherOptions: Change = ({ providers, ...config }) => ({
  ...config,
  providers: Object.fromEntries(
    Object.entries(providers).map(([name, provider]) => [name, { ...provider, max_concurrent: 5000 }]),
  ),
});
const otherPlans: Change = config => ({
  ...config,
  plans: { ...config.plans, narrow: { requests_per_minute: 1 } },
});
const otherAccounts: Change = config => ({
  ...config,
  accounts: { ...config.accounts, late: { plan: 'wide' } },
});
const otherLimits: Change = config => ({ ...config, server: { ...config.server, max_background: 7 } });

const reloadTo = (what: string, change: Change): Step => ({
  after: 0.1,
  what: `reload: ${what}`,
  act: ({ gateways: [gateway] }) => gateway!.reload(change),
});
const handOver: Step = {
  after: 0.1,
  what: 'restart with reuse_port',
  act: ({ gateways: [gateway] }) => gateway!.handOver(),
};

/** Five reloads and two restarts of one address under a steady load. */
export const reload: Scenario = {
  name: 'reload',
  what: `${per_second} requests per second, half of them streams, over five reloads and two restarts.`,
  servers: {
    providers: 2,
    postgres: true,
    config: config => ({ ...config, server: { ...config.server, reuse_port: true, unready_ms: 1000 } }),
  },
  clients: [],
  steps: [
    reloadTo('the other provider first', otherProvider),
    reloadTo('other options of the providers', otherOptions),
    handOver,
    reloadTo('another plan', otherPlans),
    reloadTo('another account', otherAccounts),
    handOver,
    reloadTo('another limit of the server', otherLimits),
  ],
  drive,
  checks: ({ figures, comparison }) => {
    const [again, sent] = [Number(figures['sent again']), comparison.rows];
    // A busy machine lets clients use many kept connections at once, after a pause.
    const most = 5 + sent / 200;
    return [check('few connections are closed while they are used', again <= most, `${again} of ${sent}`)];
  },
};

async function drive(deployment: Deployment, comparison: LedgerComparison) {
  const { seconds, seed, load } = deployment.options;
  const over = new AbortController();
  const client = new Client(over.signal);
  const dice = new Dice(seed);
  const running = new Set<Promise<void>>();
  let [sent, again] = [0, 0];
  const send = async (n: number) => {
    const [id, of] = [`x0-${n}`, kinds[n % kinds.length]!];
    const request = of.make(dice, id);
    const gateway = deployment.pickGateway();
    const recorded = comparison.begin(id, of, request, gateway);
    let reply = await client.send(request, id, gateway.url, recorded);
    // Every keep-alive connection may be closed in the moment in which it is used again: client libraries send again then, twice at most.
    // Had the gateway taken the first one, it would have a record too many.
    for (let tries = 0; tries < 2 && isAgain(reply); tries++) {
      again++;
      reply = await client.send(request, id, gateway.url, recorded);
    }
    comparison.end(id, reply);
  };
  const begun_ms = performance.now();
  const elapsed_s = () => (performance.now() - begun_ms) / 1000;
  // Steps take their time beside the pauses between them: the load goes on until the last one is over.
  while (elapsed_s() < seconds || deployment.steps_left > 0) {
    for (const due = elapsed_s() * per_second * load; sent < due && running.size < most_running; sent++) {
      const pending = send(sent).finally(() => running.delete(pending));
      running.add(pending);
    }
    await after(5);
  }
  const lasted_s = elapsed_s();
  await Promise.all(running);
  client.close();
  return { 'requests per second': (sent / lasted_s).toFixed(0), 'sent again': String(again) };
}

/** A new connection is reset that waited in the queue of a process that hands its port over, without `net.ipv4.tcp_migrate_req`. */
const isAgain = ({ status, fault }: Reply): boolean =>
  status === 0 && (fault?.endsWith(kept_connection) === true || fault === 'read ECONNRESET');
