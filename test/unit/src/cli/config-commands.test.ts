import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { runCommandLine } from '../../../../src/cli/program.ts';

/** What the command prints for the example that comes with the package. */
async function printed(...options: readonly string[]): Promise<string> {
  const lines: string[] = [];
  const voice = { print: (text: string) => void lines.push(text), remark: () => {} };
  await runCommandLine(['print-config', '--config', 'sluice.example.yaml', ...options], voice);
  return lines.join('\n');
}

describe('sluice print-config', () => {
  it('prints the configuration with its defaults as YAML or JSON, and variables by their names', async () => {
    process.env.DEMO_KEY = 'sk-canary-of-the-example';
    const yaml = await printed();
    const json = await printed('--format', 'json');
    delete process.env.DEMO_KEY;
    expect(parse(yaml)).toEqual(JSON.parse(json));
    expect(parse(yaml)).toMatchObject({
      server: { drain_ms: 30_000 },
      providers: { local: { idle_timeout_ms: 600_000 } },
      accounts: { demo: { keys: [{ value: '${DEMO_KEY}' }] } },
    });
    expect(yaml).not.toContain('canary');
  });
});
