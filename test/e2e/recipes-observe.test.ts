import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { boards } from '../../grafana/src/boards.ts';
import { pathOf } from '../support/programs.ts';
import { runRecipe } from '../support/recipes/recipe.ts';
import { fastRules } from '../tools/alerts/fast-rules.ts';
import { inhibitRules } from '../tools/alerts/inhibition.ts';

/** Commands that start a server on `port` which prints what it receives, without spaces between it, into `requests`. */
const receiver = (port: number, requests: string) => `
node -e 'require("http").createServer((request, response) => {
  const parts = [];
  request.on("data", part => parts.push(part)).on("end", () => {
    const { authorization = "" } = request.headers;
    fs.appendFileSync("${requests}", [request.method, request.url, authorization, Buffer.concat(parts).toString("latin1"), "\\n"].join(" "));
    response.setHeader("content-type", "application/json").end("{}");
  });
}).listen(${port}, "127.0.0.1")' &
wait_for ${port}
`;

describe('a recipe for seeing what a gateway does', () => {
  let folder = '';
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'sluice-rules-'));
    writeFileSync(join(folder, 'rules.yaml'), fastRules());
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('shows an alert of the shipped rules firing in Prometheus, and imports every dashboard', async () => {
    // The page's own Prometheus and configuration, with shorter times.
    const prometheus = `
      sed -i "s/: 15s/: 1s/g; s#node_modules/sluice/grafana/alerts/sluice.rules.yaml#$FAST_RULES#" prometheus.yml
      exec ${pathOf('prometheus')} "$@"`;
    const { output } = await runRecipe('docs/how-to/grafana-and-alerts.md', {
      needs: ['prometheus', 'promtool'],
      programs: { prometheus },
      environment: { FAST_RULES: join(folder, 'rules.yaml') },
      before: receiver(3000, 'grafana.txt'),
      after: `cut -c 1-100 grafana.txt | grep -o '^POST [^ ]* Basic [^ ]*'
        grep -oE '"uid":"sluice-[a-z]+"' grafana.txt | sort -u
        echo 'alertmanager:'; cat alertmanager.yml; echo ':alertmanager'`,
    });
    expect(output).toContain('SUCCESS: 60 rules found');
    expect(output).toMatch(/sluice_build_info\{.*job="sluice"/);
    const posts = output.match(/^POST .*$/gm);
    const credentials = Buffer.from('admin:admin').toString('base64');
    expect(posts).toEqual([
      `POST /api/datasources Basic ${credentials}`,
      ...boards.map(() => `POST /api/dashboards/db Basic ${credentials}`),
    ]);
    for (const { uid } of boards) expect(output).toContain(`"uid":"${uid}"`);
    const [, alertmanager = ''] = /alertmanager:\n(.*)\n:alertmanager/s.exec(output) ?? [];
    expect(parse(alertmanager)).toMatchObject({
      route: { group_by: ['alertname', 'job'] },
      inhibit_rules: inhibitRules,
    });
  });

  it('leads from the id of a request to its cost, its cause and its trace', async () => {
    const { output } = await runRecipe('docs/how-to/find-a-request.md', {
      before: receiver(4318, 'spans.txt'),
      environment: { OTEL_BSP_SCHEDULE_DELAY: '100', OTEL_EXPORTER_OTLP_COMPRESSION: 'none' },
      after: `tries=0
        until grep -aq 'sluice.request_id' spans.txt; do tries=$((tries + 1)); [ $tries -lt 200 ]; sleep 0.05; done
        grep -ao 'POST /v1/traces' spans.txt | head -1; grep -ao 'try-1' spans.txt | head -1`,
    });
    const trace = /"trace_id":"(\w{32})"/.exec(output)?.[1];
    expect(output).toContain(`"trace_id": "${trace}"`);
    expect(output).toMatch(/POST \/v1\/traces\ntry-1\n/);
  });

  it('lets operators in to the dashboard by name and role, and has the pages that it names', async () => {
    const visitor = fileURLToPath(new URL('../support/dashboard-visitor.ts', import.meta.url));
    const { output } = await runRecipe('docs/how-to/dashboard.md', {
      after: `wait_for 8081
        cat > visit.mjs <<'END'
        import { DashboardVisitor } from '${visitor}';
        for (const name of ['olga', 'ops']) {
          const visitor = new DashboardVisitor('http://127.0.0.1:8081/dashboard/');
          await visitor.signIn(process.env.OPS_PASSWORD, name);
          const pages = ['', 'requests', 'in-flight', 'providers', 'accounts', 'keys', 'usage', 'models', 'playground', 'audit'];
          for (const page of pages) console.log(name, page, (await visitor.get(page)).status);
        }
END
        node visit.mjs; sluice audit --config sluice.yaml`,
    });
    const statuses = (name: string) => [...output.matchAll(new RegExp(`^${name} (\\S*) (\\d+)$`, 'gm'))];
    expect(statuses('olga').map(([, , status]) => status)).toEqual(Array(10).fill('200'));
    expect(
      statuses('ops')
        .filter(([, , status]) => status !== '200')
        .map(([, page]) => page),
    ).toEqual(['audit']);
    expect(output).toMatch(/ ops {2}.*sign-in\.accept.*\n.* olga {2}.*sign-in\.accept/);
  });
});
