import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { PrintingProcess } from '../support/printing-process.ts';
import { until } from '../support/until.ts';
import { runScenario } from '../tools/chaos/run.ts';
import { soak } from '../tools/chaos/scenarios/soak.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));

it('a short chaos run loses nothing, counts nothing twice and leaves nothing open', async () => {
  const { findings, checks } = await runScenario(soak, { seconds: 5, load: 0.4, seed: 20_261_120 });
  const { faults, records } = findings.comparison;
  expect(faults).toEqual([]);
  // How long clients wait is a measure of a machine of its own, which the drill takes: here other tests run beside.
  const asked = checks.filter(({ name }) => !name.includes('waits too long'));
  expect(asked.length).toBe(checks.length - 1);
  expect(asked.filter(({ holds }) => !holds)).toEqual([]);
  // A busy machine makes few.
  expect(records).toBeGreaterThan(20);
}, 180_000);

/** Processes with the variable in their environment or the directory as theirs. */
const processesOf = (directory: string): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => pid > 0 && pid !== process.pid && isOf(pid, directory));

function isOf(pid: number, directory: string): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`).startsWith(directory)) return true;
    return readFileSync(`/proc/${pid}/environ`, 'latin1').includes(`SLUICE_CHAOS=${directory}`);
  } catch {
    return false;
  }
}

it('leaves no process and no file of a chaos runner behind that is killed', async () => {
  const args = ['drill', 'chaos', '--scenario', 'soak', '--minutes', '10'];
  const command = ['--conditions=sluice-source', 'test/tools/run.ts', ...args];
  const runner = new PrintingProcess(process.execPath, command, { cwd: root });
  const [, directory = ''] = await runner.printed(/in (\S+)\n/, 30_000);
  // A gateway and a provider.
  await until(() => processesOf(directory).length >= 2, 30_000);
  runner.signal('SIGKILL');
  await until(() => processesOf(directory).length === 0, 30_000);
  await until(() => !existsSync(directory));
}, 180_000);
