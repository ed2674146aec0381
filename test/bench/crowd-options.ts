import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

export const usage = `npm run crowd -- [options]

  --seconds N        length of the measurement of each crowd (default 10)
  --crowds A,B       streams x tokens per second of each stream (default 1000x20,5000x1)
  --readers N        instead: N clients that open endless streams and never read; the kernel holds about 8 MB for each

Linux with taskset and two cores: the sidecar alone on one, clients and a simulated upstream on the other. One Markdown table on
stdout, progress on stderr.
`;

/** Streams that run at the same time, each at the same pace. */
export interface Crowd {
  readonly streams: number;
  readonly tokens_per_second: number;
}

export interface CrowdOptions {
  readonly seconds: number;
  readonly crowds: readonly Crowd[];
  /** Clients that never read; 0: measure the crowds. */
  readonly readers: number;
}

/** The options of a command line, or `undefined` when it asks for help. Throws an Error that says what is wrong. */
export function crowdOptionsOf(argv: string[]): CrowdOptions | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      seconds: { type: 'string', default: '10' },
      crowds: { type: 'string', default: '1000x20,5000x1' },
      readers: { type: 'string', default: '0' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  const options = {
    seconds: numberOf('seconds', values.seconds, 1, 600),
    crowds: values.crowds.split(',').map(crowdOf),
    readers: numberOf('readers', values.readers, 0, 20_000),
  };
  checkFiles(Math.max(options.readers, ...options.crowds.map(({ streams }) => streams)));
  return options;
}

function crowdOf(text: string): Crowd {
  const [, streams, pace] = /^\s*(\d+)x([\d.]+)\s*$/.exec(text) ?? [];
  if (!(Number(streams) > 0 && Number(pace) > 0))
    throw new Error(`--crowds: must be such as 1000x20,5000x1, not '${text}'`);
  return { streams: Number(streams), tokens_per_second: Number(pace) };
}

function numberOf(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < low || value > high)
    throw new Error(`--${name}: must be an integer from ${low} to ${high}, not '${text}'`);
  return value;
}

/** The sidecar holds two connections for every stream; Node raises the soft limit to the hard one by itself. */
function checkFiles(streams: number): void {
  const limit = Number(/^Max open files\s+\S+\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]);
  const needed = 2 * streams + 200;
  if (limit < needed)
    throw new Error(
      `${streams} streams need ${needed} open files, and the hard limit is ${limit} (ulimit -Hn)`,
    );
}
