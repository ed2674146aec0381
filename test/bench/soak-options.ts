import { parseArgs } from 'node:util';

export const usage = `npm run soak -- [options]

  --minutes N      how long clients come (default 30)
  --clients N      how many at the same time (default 32)
  --seed N         what they do: the same seed, the same errands (default 1)

A gateway and a simulated upstream on loopback, and clients of every kind. A summary in Markdown on stdout; exit code 1 when
anything was wrong.
`;

export interface SoakOptions {
  readonly seconds: number;
  readonly concurrency: number;
  readonly seed: number;
  /** How often memory is looked at. */
  readonly sample_ms: number;
  /** How much more memory the last third of the run may need than the second. */
  readonly growth: { readonly ratio: number; readonly bytes: number };
  /** How long the gateway may take to be idle afterwards; it keeps connections for as long as the upstream says, which is 75 seconds. */
  readonly settling_ms: number;
  /** How many more files may be open then than at the start. */
  readonly spare_files: number;
}

/** The options of a command line, or `undefined` when it asks for help. Throws an Error that says what is wrong. */
export function soakOptionsOf(argv: string[]): SoakOptions | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      minutes: { type: 'string', default: '30' },
      clients: { type: 'string', default: '32' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const seconds = 60 * numberOf('minutes', values.minutes, 0.1, 1440);
  return {
    seconds,
    concurrency: Math.floor(numberOf('clients', values.clients, 1, 500)),
    seed: Math.floor(numberOf('seed', values.seed, 0, 1_000_000)),
    sample_ms: Math.min(5000, (seconds * 1000) / 60),
    // A short run is still warming up in its second third.
    growth: { ratio: 1.15, bytes: (seconds < 600 ? 128 : 24) * 1024 * 1024 },
    settling_ms: 120_000,
    spare_files: 4,
  };
}

function numberOf(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (!(value >= low && value <= high))
    throw new Error(`--${name}: must be a number from ${low} to ${high}, not '${text}'`);
  return value;
}
