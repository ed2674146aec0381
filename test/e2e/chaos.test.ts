import { spawn } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { until } from '../support/until.ts';
import { runScenario } from '../tools/chaos/run.ts';
import { scenarios } from '../tools/chaos/scenarios/index.ts';

const root = fileURLToPath(new URL('../../', import.meta.url));
const short = ['client-cuts', 'redis-killed', 'locked-tables', 'reload'];

describe('a short chaos run', () => {
  it.each(scenarios.filter(({ name }) => short.includes(name)))(
    '$name: loses nothing, counts nothing twice and leaves nothing open',
    async scenario => {
      const { findings, checks } = await runScenario(scenario, {
        seconds: 4,
        seed: 1,
        load: scenario.name === 'reload' ? 0.1 : 0.5,
      });
      expect(findings.comparison.faults).toEqual([]);
      expect(checks.filter(({ holds }) => !holds)).toEqual([]);
    },
    180_000,
  );
});

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

describe('a killed chaos runner', () => {
  it.each(['SIGINT', 'SIGKILL'] as const)(
    'leaves no process and no file behind after %s',
    async signal => {
      const args = ['drill', 'chaos', '--scenario', 'redis-stopped', '--minutes', '10'];
      const runner = spawn(process.execPath, ['--conditions=sluice-source', 'test/tools/run.ts', ...args], {
        cwd: root,
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      let said = '';
      runner.stderr.setEncoding('utf8').on('data', text => (said += text));
      await until(() => /in (\S+)\n/.test(said), 30_000);
      const [, directory = ''] = /in (\S+)\n/.exec(said)!;
      // Redis, two gateways and two providers.
      await until(() => processesOf(directory).length >= 5, 30_000);
      runner.kill(signal);
      await until(() => processesOf(directory).length === 0, 30_000);
      await until(() => !existsSync(directory));
    },
    180_000,
  );
});
