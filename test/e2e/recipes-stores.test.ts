import { dirname } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenidProvider } from '../support/openid-provider.ts';
import { type PostgresServer, startPostgres } from '../support/postgres-server.ts';
import { pathOf } from '../support/programs.ts';
import { runRecipe } from '../support/recipes/recipe.ts';
import { configured } from '../support/recipes/settings.ts';
import { startRedis } from '../support/redis-server.ts';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres?.stop());

describe('a recipe for the stores and the people of a gateway', () => {
  it('backs up both stores while they are in use, upgrades, and restores what was there at the backup', async () => {
    const DATABASE_URL = await postgres.createDatabase('upgrade');
    const withPostgres = "sed 's|sqlite:./sluice.db|${DATABASE_URL}|' sluice.yaml > postgres.yaml";
    const { output } = await runRecipe('docs/how-to/upgrade.md', {
      needs: ['postgres', 'pg_dump', 'pg_restore', 'psql'],
      environment: { DATABASE_URL },
      before: `
export PATH="${dirname(pathOf('pg_dump'))}:$PATH"
${configured}
${withPostgres}
for store in sluice postgres; do sluice accounts create before-it --config $store.yaml; done
sluice --config sluice.yaml > sluice.log &
curl -s http://127.0.0.1:8081/readyz
`,
      after: `
stat --format 'mode %a' sluice-backup.db
sluice accounts list --config postgres.yaml
psql "$DATABASE_URL" --command 'SELECT count(*) AS newer FROM sluice_newer.accounts'
node -e "new (require('node:sqlite').DatabaseSync)('sluice.db').exec(\\"VACUUM INTO 'sluice-backup.db'\\")" || echo not overwritten
`,
    });
    expect(output.match(/^before-it /gm)).toHaveLength(2);
    expect(output).toContain('mode 600');
    expect(output).toMatch(/output file already exists[\s\S]*not overwritten/);
    expect(output).toMatch(/newer\s+-+\s+1/);
  });

  it('shares a limit between two gateways by Redis and their accounts by Postgres', async () => {
    const redis = await startRedis();
    const DATABASE_URL = await postgres.createDatabase('shared');
    try {
      const { output } = await runRecipe('docs/how-to/several-instances.md', {
        environment: { REDIS_URL: redis.url, DATABASE_URL },
        before: configured,
        after: 'cat answer.json; sluice usage --by key --config sluice.yaml',
      });
      expect(output).toContain('"type":"rate_limit_error"');
    } finally {
      await redis.stop();
    }
  });

  it('lets an operator sign in with OpenID Connect, with the role of a group, and records it', async () => {
    const provider = await startOpenidProvider();
    provider.next = { name: 'Olga', email: 'olga@example.com', email_verified: true, groups: ['support'] };
    try {
      const { output } = await runRecipe('docs/how-to/operator-sign-in.md', {
        environment: { OIDC_ISSUER: provider.issuer, OIDC_SECRET: provider.client_secret },
        prepare: ports => provider.open(`http://127.0.0.1:${ports[8081]}/dashboard/sign-in-callback`),
        before: configured,
        after: `
curl -sL -c cookies -b cookies -o page.html http://127.0.0.1:8081/dashboard/sign-in-oidc
curl -s -b cookies -o page.html -w 'dashboard %{http_code}\\n' http://127.0.0.1:8081/dashboard/
sluice audit --config sluice.yaml
`,
      });
      expect(output).toContain('dashboard 200');
      expect(output).toMatch(/olga@example\.com.* sign-in\.accept/);
    } finally {
      await provider.close();
    }
  });
});
