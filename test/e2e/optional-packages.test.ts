import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import { type ProductionInstall, productionInstall } from '../support/production-install.ts';
import { sidecarConfig } from '../support/sidecar-process.ts';

const oidc = {
  issuer: 'https://id.example.com',
  client_id: 'sluice',
  client_secret: 'secret-of-the-client',
  roles: { ann: 'operator' },
} as const;
const postgres = { records: 'postgres://127.0.0.1:1/x' };

describe('an install without optional packages', () => {
  let install: ProductionInstall;
  beforeAll(async () => {
    install = await productionInstall();
  });
  afterAll(() => install.remove());

  const fileOf = async (sections: Parameters<typeof sidecarConfig>[1]): Promise<string> => {
    const file = join(install.directory, 'sluice.yaml');
    await writeFile(file, stringify(sidecarConfig('http://127.0.0.1:9/v1', sections)));
    return file;
  };
  const command = (...args: string[]) => install.run('src/cli/sidecar.ts', ...args);

  it('checks a configuration that needs none of them', async () => {
    const { code, output } = await command('check', '--config', await fileOf({}));
    expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining('ok; ') });
  });

  it('names every option that needs a package, and what to install', async () => {
    const file = await fileOf({
      admin: { port: 0, oidc },
      stores: { ...postgres, state: 'redis://127.0.0.1:1' },
      usage: { estimator: 'gpt-tokenizer' },
    });
    const { code, output } = await command('check', '--config', file);
    expect(code).toBe(1);
    const lines = output.split('\n').filter(line => line.includes('npm install'));
    expect(lines.map(line => line.trim().replace(/ \(line \d+\)/, ''))).toEqual([
      'stores.records: needs the package pg, which is not installed: npm install pg',
      'stores.state: needs the package @redis/client, which is not installed: npm install @redis/client',
      'admin.oidc: needs the package openid-client, which is not installed: npm install openid-client',
      'usage.estimator: needs the package gpt-tokenizer, which is not installed: npm install gpt-tokenizer',
    ]);
  });

  it('says in doctor to install a package that is missing, not to correct the configuration', async () => {
    const { output } = await command('doctor', '--config', await fileOf({ stores: postgres }));
    expect(output).toMatch(/npm install pg\n +→ install it beside sluice/);
  });

  it('says which package the commands for records need', async () => {
    const { code, output } = await command('keys', 'list', '--config', await fileOf({ stores: postgres }));
    expect({ code, output }).toEqual({
      code: 1,
      output:
        'postgres://127.0.0.1:1/x cannot be used: needs the package pg, which is not installed: npm install pg\n',
    });
  });

  it('refuses to open a state store in Redis from code, and opens one in memory', async () => {
    const program = `
      import { openStateStore } from 'sluice';
      await openStateStore({ state: 'memory' }).close();
      try { openStateStore({ state: 'redis://127.0.0.1:1' }); } catch ({ name, message }) { console.log(name, message); }`;
    expect((await install.run('--input-type=module', '--eval', program)).output).toBe(
      'ConfigError openStateStore: 1 mistake\n  state: needs the package @redis/client, which is not installed: npm install @redis/client\n',
    );
  });
});
