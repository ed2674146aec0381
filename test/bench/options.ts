import { parseArgs } from 'node:util';

export const usage = `npm run bench -- [options]

  --seconds N     length of one measurement (default 4)
  --rounds N      measurements per contestant, interleaved; the table has their medians (default 3)
  --connections N closed loop of this many connections (default 32)
  --streams N     streams at the same time, 20 events per second each; 0 measures none (default 200)
  --tables A,B    only these of the tables gateways, passthrough and parts
  --only A,B      only these contestants, by the names that progress is told with
  --json FILE     write every single measurement to FILE as well

Linux with taskset and two cores; about seven minutes. Markdown tables on stdout, progress on stderr. Portkey is fetched from npm
into the user's cache; without network its row stays empty.
`;

export interface Options {
  readonly seconds: number;
  readonly rounds: number;
  readonly connections: number;
  readonly streams: number;
  /** Names of tables; all without it. */
  readonly tables: readonly string[] | undefined;
  /** Names of contestants; all without it. */
  readonly only: readonly string[] | undefined;
  readonly json: string | undefined;
}

/** The options of a command line, or `undefined` when it asks for help. Throws an Error that says what is wrong. */
export function optionsOf(argv: string[]): Options | undefined {
  const { values } = parseArgs({
    args: argv,
    options: {
      seconds: { type: 'string', default: '4' },
      rounds: { type: 'string', default: '3' },
      connections: { type: 'string', default: '32' },
      streams: { type: 'string', default: '200' },
      tables: { type: 'string' },
      only: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return undefined;
  return {
    seconds: numberOf('seconds', values.seconds, 1, 60),
    rounds: numberOf('rounds', values.rounds, 1, 50),
    connections: numberOf('connections', values.connections, 1, 1000),
    streams: numberOf('streams', values.streams, 0, 5000),
    tables: namesIn(values.tables),
    only: namesIn(values.only),
    json: values.json,
  };
}

const namesIn = (text: string | undefined): string[] | undefined => text?.split(',').map(name => name.trim());

function numberOf(name: string, text: string, low: number, high: number): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < low || value > high)
    throw new Error(`--${name}: must be an integer from ${low} to ${high}, not '${text}'`);
  return value;
}
