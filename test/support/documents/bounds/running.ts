import { globSync } from 'node:fs';
import { levels } from 'pino';
import { closing_patience_ms } from '../../../../src/gateway/outbound/reply-limits.ts';
import { ledgerDefaults } from '../../../../src/mount/ledger/ledger.ts';
import { read, root } from '../blocks.ts';
import { constantIn, numbersIn, seconds } from '../constants.ts';
import { defaultOf } from '../names.ts';
import type { Bound } from '../numbers.ts';

const pool = 'src/mount/workers/worker-pool.ts';
/** Replies have a moment to end, and then the ledger to be written. */
const end_s = (closing_patience_ms + ledgerDefaults.close_ms) / 1000;
const all_s = (defaultOf('server.unready_ms') + defaultOf('server.drain_ms')) / 1000 + end_s;

/** The clients of the generated table, of which some are tried in several ways. */
function testedClients(): number {
  const table = /<!-- table: clients -->[\s\S]*?<!-- end -->/.exec(read('docs/reference/clients.md'))![0];
  const names = [...table.matchAll(/^\| ([\w .]+?)(?:,| as for | that |:)/gm)].map(([, name]) => name);
  return new Set(names).size;
}

const [node] = numbersIn('package.json', /"node": ">=(\d+)"/) as [number];
const init = 'src/cli/init/config-text.ts';

const linesOf = (file: string): number => read(file).trimEnd().split('\n').length;

/** The numbers of processes, and of what the repository has. */
export const runningBounds: readonly Bound[] = [
  { says: '`server.drain_ms`, {} s by default', is: defaultOf('server.drain_ms') / 1000 },
  { says: '`drain_ms` + {} s before the process is killed, {} s with the defaults', is: [end_s, all_s] },
  // Five messages to the primary process, for a busy event loop.
  {
    says: 'the ledger rows of its last {} ms',
    is: 5 * constantIn('src/mount/records/start-ledger.ts', 'flush_ms'),
  },
  { says: 'is replaced after {} s', is: constantIn(pool, 'hung_looks') * seconds(pool, 'look_ms') },
  {
    says: '`LimitNOFILE`: {} files for each running request',
    is: constantIn('src/cli/doctor/machine-check.ts', 'files_per_stream'),
  },
  {
    says: '{} series for each account, and one for each further status',
    is: read('src/telemetry/account-metrics.ts').match(/\.labels\(label\b/g)!.length,
  },
  ...[
    'You need Node {} or newer',
    'Linux machine with Node {}',
    'With a Node below {},',
    'Node ≥ {}, `npx',
  ].map(says => ({
    says,
    is: node,
  })),
  { says: 'If port {} or {} is in use', is: [defaultOf('server.port'), defaultOf('admin.port')] },
  {
    says: 'finds llama-server at port {} and gives the gateway the port {}',
    is: [constantIn(init, 'usual_port'), constantIn(init, 'other_port')],
  },
  {
    says: '`fatal` {}, `error` {} (needs an operator), `warn` {} (may need one), `info` {} (each exchange, refused ones too; starts and reloads), `debug` {}',
    is: ['fatal', 'error', 'warn', 'info', 'debug'].map(level => levels.values[level]!),
  },
  {
    says: 'from {} seconds of load: one provider fails {} times in {}',
    is: [
      constantIn('test/tools/pictures/grafana.ts', 'seconds'),
      10 * constantIn('test/support/faulty-load.ts', 'fail_rate'),
      10,
    ],
  },
  { says: '{} client libraries and programs', is: testedClients() },
  {
    says: '{} dashboards, alert rules',
    is: globSync('grafana/dashboards/*.json', { cwd: root }).length,
  },
  {
    says: 'a goal each, at most {} lines',
    is: numbersIn('test/unit/documents.test.ts', /\.length > (\d+)\)\)\.toEqual/),
  },
  { says: 'fails above {} ms', is: constantIn('test/tools/bench/dashboard.ts', 'bound_ms') },
  { says: '`node_modules` may have {} MiB', is: constantIn('build/release/fresh-install.ts', 'max_mib') },
  {
    says: 'a gateway of {} lines',
    is: 10 * Math.round(linesOf('test/tools/bench/hand-written-gateway.ts') / 10),
  },
];
