/** The rungs of the ladder, from the bottom up. */
interface Rung {
  /** What it adds to the rung below. */
  readonly title: string;
}

const described = <Name extends string>(all: Readonly<Record<Name, Rung>>) => all;

/** Each is a program that has the parts of all rungs up to its own; the last one is the command. */
export const rungs = described({
  spike: {
    title: 'written by hand: JSON both ways, zod, undici',
  },
  inbound: {
    title: 'route, request id, body limits',
  },
  dialect: {
    title: 'canonical form, identity of replies',
  },
  outbound: {
    title: 'writers: headers, commit, heartbeat, back-pressure',
  },
  exchange: {
    title: 'the runner, with an empty chain',
  },
  auth: {
    title: '`error-envelope` and `auth`',
  },
  validation: {
    title: '`validation`',
  },
  limits: {
    title: '`rate-limit`, in memory',
  },
  rewrite: {
    title: '`request-rewrite`, `stream-rechunk`, `reasoning-split`',
  },
  routing: {
    title: 'adapter, load balancer, attempts',
  },
  metering: {
    title: 'usage of streams',
  },
  settlement: {
    title: 'price, outcome',
  },
  metrics: {
    title: 'metrics',
  },
  ledger: {
    title: 'rows of the ledger, in memory',
  },
  logs: {
    title: 'the log, from `warn` on',
  },
  sidecar: {
    title: 'the command: listeners, reloads, signals',
  },
});

export type RungName = keyof typeof rungs;

export const rungNames = Object.keys(rungs) as RungName[];

/** Whether the rung `name` has the part that `part` adds. */
export const has = (name: RungName, part: RungName): boolean =>
  rungNames.indexOf(name) >= rungNames.indexOf(part);
