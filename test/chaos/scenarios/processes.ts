import { setTimeout as after } from 'node:timers/promises';
import { everydayKinds } from '../clients/healthy.ts';
import type { Scenario, Servers } from '../scenario.ts';
import type { World } from '../world.ts';

/** Two instances that share everything. */
const near: Servers = { gateways: 2, providers: 2, redis: 'one' };
const pair: Servers = { ...near, postgres: true };
/** How long a server is away. */
const away_ms = ({ options }: World): number => Math.min(8000, options.seconds * 250);
const state_alarms = /the state store is out/;
const records_alarms = /the records store is out/;

/** A server that leaves after a third of the run, and is back a quarter of it later. */
const absence = (
  name: string,
  what: string,
  servers: Servers,
  leave: (world: World) => unknown,
  comeBack: (world: World) => unknown,
  more: Partial<Scenario> = {},
): Scenario => ({
  name,
  what,
  servers,
  clients: [{ count: 12, kinds: everydayKinds }],
  steps: [
    { after: 0.3, what: 'it leaves', do: leave },
    { after: 0, what: 'it is back', do: world => after(away_ms(world)).then(() => comeBack(world)) },
  ],
  ...more,
});

/** Servers that are killed or stop answering under load, and come back. */
export const processScenarios: readonly Scenario[] = [
  absence(
    'gateway-killed',
    'SIGKILL of one of two instances: what it had in hand breaks, everything else goes on.',
    pair,
    ({ gateways: [first] }) => first!.kill(),
    ({ gateways: [first] }) => first!.start(),
    // What it had reserved stays counted.
    { exact_limits: false },
  ),
  absence(
    'gateway-stopped',
    'SIGSTOP and SIGCONT of one of two instances: its clients wait and are served.',
    pair,
    ({ gateways: [first] }) => first!.pause(),
    ({ gateways: [first] }) => first!.resume(),
    // Its timers are over when it goes on, whatever has been answered meanwhile.
    { alarms: /the (state|records) store is out/ },
  ),
  absence(
    'redis-killed',
    'SIGKILL of Redis: limits are held alone, and counted exactly once it is back.',
    near,
    ({ redis: [server] }) => server!.kill(),
    ({ redis: [server] }) => server!.restart(),
    { alarms: state_alarms },
  ),
  absence(
    'redis-stopped',
    'SIGSTOP and SIGCONT of Redis: no request waits for it, and each is counted once.',
    near,
    ({ redis: [server] }) => server!.pause(),
    ({ redis: [server] }) => server!.resume(),
    { alarms: state_alarms },
  ),
  absence(
    'postgres-killed',
    'SIGKILL of PostgreSQL: keys go on working, and the ledger waits on disk.',
    pair,
    ({ postgres }) => postgres!.kill(),
    ({ postgres }) => postgres!.start(),
    { alarms: records_alarms },
  ),
  absence(
    'postgres-stopped',
    'SIGSTOP and SIGCONT of PostgreSQL: no request waits for it, no row is lost or doubled.',
    pair,
    ({ postgres }) => postgres!.pause(),
    ({ postgres }) => postgres!.resume(),
    { alarms: records_alarms },
  ),
];
