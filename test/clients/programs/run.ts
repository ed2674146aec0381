import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { startSimulator } from '../../../src/simulator/server.ts';
import { clientKey } from '../../support/gateway-under-test.ts';
import { sidecarConfig, startSidecar } from '../../support/sidecar-process.ts';
import { install } from './install.ts';
import { type Outcome, outcomeOf } from './outcome.ts';
import { model, type Program, programs } from './programs.ts';
import { type ProgramFacts, results_file } from './results.ts';

const inside = 'SLUICE_CLIENTS_INSIDE';
const print = (line: string) => process.stdout.write(`${line}\n`);

/** Runs the programs of these names, or else all that are not large, and keeps what they have shown. */
export async function runPrograms(named: readonly string[]): Promise<void> {
  const names = named.length > 0 ? named : Object.keys(programs).filter(name => !programs[name]?.large);
  const unknown = names.filter(name => !programs[name]);
  if (unknown.length > 0)
    throw new Error(`unknown: ${unknown.join(', ')}; there are: ${Object.keys(programs).join(', ')}`);
  await (process.env[inside] ? runAll(names) : prepare(names));
}

/** Installs everything, and starts the script again where nothing but loopback can be reached. */
async function prepare(names: readonly string[]): Promise<void> {
  for (const name of names) {
    print(`installing ${name}`);
    await install(programs[name]!);
  }
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const up = 'ip link set lo up && exec "$0" "$@"';
  const command = ['sh', '-c', up, process.execPath, ...process.execArgv, process.argv[1]!, ...names];
  const options = { stdio: 'inherit', env: { ...process.env, [inside]: '1' } } as const;
  const { status, error } = spawnSync('unshare', ['--net', ...asRoot, '--', ...command], options);
  if (error) throw error;
  process.exitCode = status ?? 1;
}

async function runAll(names: readonly string[]): Promise<void> {
  const simulator = await startSimulator({ cached_tokens: 0.5, recorded_requests: 10_000 });
  const sections = {
    server: { non_stream_timeout_ms: 2000 },
    messages: { enabled: true },
    responses: { websocket: true },
    aliases: { 'gpt-*': model },
  };
  const sidecar = await startSidecar(sidecarConfig(simulator.url, sections));
  const through = { url: `${sidecar.url}/v1`, key: clientKey };
  try {
    for (const name of names) {
      const program = programs[name]!;
      const direct =
        program.endpoint === '/v1/chat/completions'
          ? await outcomeOf(program, { ...through, url: simulator.url }, simulator)
          : undefined;
      const outcome = await outcomeOf(program, through, simulator);
      const slow =
        program.is_driver && !outcome.always_streams
          ? await outcomeOf(program, through, simulator, 'Hello [[sim:ttft=4000]]')
          : undefined;
      report(name, direct, outcome);
      keep(factsOf(name, program, outcome, slow));
    }
  } finally {
    await sidecar.stop();
    await simulator.close();
  }
}

function report(name: string, direct: Outcome | undefined, outcome: Outcome): void {
  const said = (result: Outcome) => (result.works ? 'works' : 'fails');
  const { output, ...seen } = outcome;
  print(`${name}: ${said(outcome)}${direct ? `, ${said(direct)} without the gateway` : ''}`);
  print(`  ${JSON.stringify(seen)}`);
  if (direct) print(`  ${JSON.stringify({ ...direct, output: undefined })} without the gateway`);
  if (outcome.works) return;
  process.exitCode = 1;
  print(output.slice(-3000));
}

function factsOf(
  name: string,
  { client, packages, endpoint, why, needs, answer }: Program,
  outcome: Outcome,
  slow: Outcome | undefined,
): ProgramFacts {
  const { works, shows_reasoning, shows_usage, returns_reasoning, always_streams } = outcome;
  return {
    name,
    client,
    version: /.@(.+)/.exec(packages[0] ?? '')?.[1] ?? '',
    package: (packages[0] ?? '').replace(/(.)@.+/, '$1'),
    endpoint,
    why,
    ...(needs !== undefined && { needs }),
    works,
    shows_reasoning,
    shows_usage,
    calls_tools: works && !answer,
    returns_reasoning,
    always_streams,
    ...(slow && { repeats_after_524: slow.requests > 1 }),
  };
}

/** Puts the facts in the place of earlier ones of the same name. */
function keep(facts: ProgramFacts): void {
  const all = JSON.parse(readFileSync(results_file, 'utf8')) as ProgramFacts[];
  const order = Object.keys(programs);
  const kept = [...all.filter(({ name }) => name !== facts.name), facts];
  kept.sort((one, other) => order.indexOf(one.name) - order.indexOf(other.name));
  writeFileSync(results_file, `${JSON.stringify(kept, null, 2)}\n`);
}
