import { parseArgs } from 'node:util';

export const usage = `npm run outage -- [options]

  --rate N         requests per second (default 500)
  --death HOW      how the first provider dies: killed, or stopped as if it hung (default killed)
  --before N       seconds until it dies (default 8)
  --dead N         seconds until it is back (default 12)
  --after N        seconds until the end (default 30)

A gateway in front of two simulated providers, each a process of its own. One of them dies under load and comes back. A summary in
Markdown on stdout; exit code 1 when a client saw an error that could be covered, got a text twice, or the provider was overrun when
it came back.
`;

export interface OutageOptions {
  readonly rate: number;
  readonly death: 'killed' | 'stopped';
  readonly before_ms: number;
  readonly dead_ms: number;
  readonly after_ms: number;
  /** Of the providers' breakers. */
  readonly open_ms: number;
  readonly ramp_ms: number;
}

/** The options of a command line, or `undefined` when it asks for help. Throws an Error that says what is wrong. */
export function outageOptionsOf(argv: string[]): OutageOptions | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      rate: { type: 'string', default: '500' },
      death: { type: 'string', default: 'killed' },
      before: { type: 'string', default: '8' },
      dead: { type: 'string', default: '12' },
      after: { type: 'string', default: '30' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const { death } = values;
  if (death !== 'killed' && death !== 'stopped')
    throw new Error(`--death: must be killed or stopped, not '${death}'`);
  return {
    rate: numberOf('rate', values.rate, 1, 5000),
    death,
    before_ms: 1000 * numberOf('before', values.before, 1, 3600),
    dead_ms: 1000 * numberOf('dead', values.dead, 1, 3600),
    after_ms: 1000 * numberOf('after', values.after, 1, 3600),
    open_ms: 1000,
    ramp_ms: 10_000,
  };
}

function numberOf(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (!(value >= low && value <= high))
    throw new Error(`--${name}: must be a number from ${low} to ${high}, not '${text}'`);
  return value;
}
