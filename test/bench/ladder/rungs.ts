/** The rungs of the ladder, from the bottom up. */
interface Rung {
  /** What it adds to the rung below. */
  readonly title: string;
  /** Why it costs what it costs; for rungs above 4 % of a request or an event. */
  readonly why?: string;
}

const described = <Name extends string>(all: Readonly<Record<Name, Rung>>) => all;

/** Each is a program that has the parts of all rungs up to its own; the last one is the command. */
export const rungs = described({
  spike: {
    title: 'written by hand: JSON both ways, zod, undici',
    why: "Node's HTTP server and undici's client, two JSON texts read and two written, zod over the request: what every gateway of this kind does.",
  },
  inbound: {
    title: 'route, request id, body limits',
    why: 'an id and the object of the exchange, listeners on the response, and a pass over the bytes that counts values and levels before JSON is parsed.',
  },
  dialect: {
    title: 'canonical form, identity of replies',
    why: 'the request is built again in the canonical form without unknown fields; the reply gets an id, a time and a model of its own.',
  },
  outbound: {
    title: 'writers: headers, commit, heartbeat, back-pressure',
    why: 'of a stream every chunk is shaped, with its role first and its usage last, and framed for the socket; heartbeat and slow readers are watched by timers.',
  },
  exchange: {
    title: 'the runner, with an empty chain',
    why: 'the runner awaits headers, body, reply and settlement one after another, counts the tokens of the reply, and sets a time limit.',
  },
  auth: {
    title: '`error-envelope` and `auth`',
    why: "the key's digest is looked up among the accounts; both stages are timed.",
  },
  validation: {
    title: '`validation`',
    why: 'the parameters are compared with what the model and the interface allow, and the prompt with the context window.',
  },
  limits: {
    title: '`rate-limit`, in memory',
    why: 'requests, tokens, concurrency and money are reserved before the upstream is asked, settled after the reply, and written into headers.',
  },
  rewrite: {
    title: '`request-rewrite`, `stream-rechunk`, `reasoning-split`',
    why: 'three more stages are entered and timed; every chunk of a stream passes the two that change streams.',
  },
  routing: {
    title: 'adapter, load balancer, attempts',
    why: 'an attempt has a permit, a report to the circuit breaker, time limits, size limits and a record; the request is fitted to its upstream and encoded.',
  },
  metering: {
    title: 'usage of streams',
    why: 'the words of every chunk are counted, so that a stream without usage can be billed.',
  },
  settlement: {
    title: 'price, outcome',
    why: 'the exact price in decimals, and the record of what happened.',
  },
  metrics: {
    title: 'metrics',
    why: 'about thirty series are found by their labels and counted, and the own time of every hook.',
  },
  ledger: {
    title: 'rows of the ledger, in memory',
    why: 'a row of forty fields with an id in order of time, added to the sums in batches.',
  },
  logs: {
    title: 'the log, from `warn` on',
    why: 'no line is written; levels are asked for, and a child log is made where an exchange needs one.',
  },
  sidecar: {
    title: 'the command: listeners, reloads, signals',
    why: "checks of the Host header, the handler of reloads, and the listener's own metrics.",
  },
});

export type RungName = keyof typeof rungs;

export const rungNames = Object.keys(rungs) as RungName[];

/** Whether the rung `name` has the part that `part` adds. */
export const has = (name: RungName, part: RungName): boolean =>
  rungNames.indexOf(name) >= rungNames.indexOf(part);
