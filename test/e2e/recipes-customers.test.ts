import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { root } from '../support/documents/blocks.ts';
import { startOpenidProvider } from '../support/openid-provider.ts';
import { runRecipe } from '../support/recipes/recipe.ts';
import { selfSigned } from '../support/self-signed-certificate.ts';
import { startSmtp } from '../support/smtp-server.ts';

/** `vllm serve MODEL --port N`, by the simulator. */
const vllm = 'exec sluice simulate --models "$2" "${@:3}"';

/** The configuration of a reader who has one: a model at $2 and $10 per million tokens, in front of the simulator. */
const configured = (more = 'accounts: { me: {} }') => `
sluice simulate --port 8000 --models Qwen/Qwen3-8B &
cat > sluice.yaml <<'END_OF_CONFIGURATION'
providers:
  local: { adapter: vllm, base_url: http://127.0.0.1:8000/v1 }
models:
  - id: Qwen/Qwen3-8B
    name: Qwen3 8B
    date: 2026-01-01
    context_length: 32768
    max_completion_tokens: 4096
    pricing:
      prompt: "0.000002"
      completion: "0.00001"
    reasoning: false
    tool_calls: true
    reasoning_effort: { supported: false, levels: [], default: null }
    upstreams:
      - provider: local
        model: Qwen/Qwen3-8B
stores:
  records: sqlite:./sluice.db
usage_api: { enabled: true }
${more}
END_OF_CONFIGURATION
`;

/** The same with a gateway that runs. */
const running = (more?: string) => `${configured(more)}
sluice --config sluice.yaml > sluice.log &
`;

/** A customer of it with a key. */
const customer = (options = '', name = 'production') => `
sluice accounts create acme ${options} --config sluice.yaml
export ACME_KEY=$(sluice keys create --account acme --name ${name} --config sluice.yaml)
curl -s -o /dev/null http://127.0.0.1:8081/healthz
`;

/** A request of that customer. */
const asked = (id: string, max_tokens: number) => `
curl -s -o /dev/null http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $ACME_KEY" -H 'Content-Type: application/json' -H 'x-request-id: ${id}' \\
  -d '{"model":"Qwen/Qwen3-8B","max_tokens":${max_tokens},"messages":[{"role":"user","content":"Why do rivers bend?"}]}'
`;

describe('a recipe for customers', () => {
  it('gives each customer a budget, refuses what does not fit and raises it until a time', async () => {
    const { output } = await runRecipe('docs/how-to/customer-budgets.md', { programs: { vllm } });
    const statuses = [...output.matchAll(/^HTTP\/1\.1 (\d+)/gm)].map(([, status]) => Number(status));
    expect(statuses).toEqual([429, 200]);
    expect(output).toContain('after the raise: 200');
    expect(output).toMatch(/^acme +\d+ +\d+ .* 0\.00\d+$/m);
  });

  it('finds a leaked key by its last characters, revokes it and shows what it was used for', async () => {
    const leaked = `${customer()}${asked('of-a-thief', 20)}\nprintf '%s\\n' "$ACME_KEY" > leaked.txt`;
    const { output } = await runRecipe('docs/how-to/leaked-key.md', {
      before: running() + leaked,
      after: `curl -s -o /dev/null -w 'new key: %{http_code}\\n' http://127.0.0.1:8080/v1/limits -H "Authorization: Bearer $NEW_KEY"`,
    });
    expect(output).toMatch(/new key: 200/);
    expect(output).toMatch(/^ +1 "client_address"/m);
  });

  it('bills new prices from a reload on, keeps old costs and counts what the provider is paid', async () => {
    const { output } = await runRecipe('docs/how-to/prices.md', {
      before: running('admin: { socket: ./admin.sock }') + customer(),
    });
    const costs = [...output.matchAll(/"cost_usd": "([\d.]+)"/g)].map(([, usd]) => Number(usd));
    expect(costs[1]! - costs[0]!).toBeCloseTo(50 * 0.000_002, 9);
    const [, all] = /^all +(.*)$/m.exec(output)!;
    const [cost, requests, paid, margin] = all!.trim().split(/ +/).slice(-4).map(Number);
    // Of the request before the reload it is not known.
    expect(requests).toBe(1);
    expect(cost).toBeCloseTo(costs[0]! + costs[1]!, 9);
    expect(paid).toBeGreaterThan(50 * 0.000_008);
    expect(costs[1]! - paid!).toBeCloseTo(margin!, 9);
  });

  it('explains a 429 by its text, its line in the log, the ledger and the limits, and helps', async () => {
    const key = 'admin-0123456789-0123456789-0123456789';
    await runRecipe('docs/how-to/explain-a-429.md', {
      environment: { SLUICE_ADMIN_KEY: key },
      before:
        running(`admin_api: { enabled: true, keys: [{ name: ops, role: admin, value: ${key} }] }`) +
        customer(`--limits '{"usd_per_month": "0.01"}'`) +
        asked('complaint-1', 2000) +
        'until sluice ledger find complaint-1 --config sluice.yaml > /dev/null; do :; done',
    });
  });

  it('shares a budget among teams and keys, and says which limit refused', async () => {
    // Two keys, each with what it was admitted, which the ledger has a moment later.
    const after = `until usage=$(sluice usage --by account --by key --config sluice.yaml) && [ "$(grep -c ' 0.000522' <<< "$usage")" = 2 ]; do :; done
echo "$usage"`;
    const { output } = await runRecipe('docs/how-to/teams.md', { before: running(), after });
    expect(output).toMatch(/(^acme-sales +key_\w+ .* 0\.000522.*\n){2}/m);
  });

  it('prints the bill of a month, and splits it by tags that were set afterwards', async () => {
    const { output } = await runRecipe('docs/how-to/statements.md', {
      before: [
        running('admin: { socket: ./admin.sock }'),
        customer('', 'search-app'),
        asked('one', 20),
        asked('two', 20),
        'GATEWAY=$!',
      ].join('\n'),
      after: `kill -TERM $GATEWAY; kill -INT $GATEWAY; wait $GATEWAY || true
        sluice --config sluice.yaml > restarted.log &
        curl -s --retry 9 -o /dev/null -w 'restarted: %{http_code}\n' http://127.0.0.1:8081/readyz
        echo 'configuration:'; cat sluice.yaml; echo ':configuration'`,
    });
    expect(output).toContain('restarted: 200');
    const [, configuration = ''] = /configuration:\n(.*)\n:configuration/s.exec(output) ?? [];
    expect(parse(configuration).stores).toEqual({
      records: 'sqlite:./sluice.db',
      retention: { rows: '365d' },
    });
    const [, billed] = /^20[\d-]+,acme,.*,([\d.]+)$/m.exec(output)!;
    const tagged = /^acme +search +2 .*$/m.exec(output)![0].split(/ +/);
    expect(Number(tagged.at(-1))).toBe(Number(billed));
  });

  it('counts what new limits would refuse before they do', async () => {
    const { output } = await runRecipe('docs/how-to/try-limits.md', {
      before: running('admin: { socket: ./admin.sock }') + customer(),
    });
    expect(output).not.toMatch(/^429$/m);
  });

  it('lets customers see their own account at the portal, by invitation, password and OpenID, and only those', async () => {
    const host = 'login.example.com';
    const provider = await startOpenidProvider(host);
    const verified = { email_verified: true };
    provider.people = [
      { ...verified, email: 'ben@example.com' },
      { ...verified, email: 'cleo@example.com', tenant: 'acme' },
      { ...verified, email: 'dora@example.com' },
    ];
    try {
      const { output } = await runRecipe('docs/how-to/customer-portal.md', {
        servers: [{ host, ...provider }],
        prepare: ports => provider.open(`http://127.0.0.1:${ports[8080]}/portal/sign-in-callback`),
        before: `${configured()}sluice accounts create acme --config sluice.yaml
          echo ${provider.client_secret} > oidc.secret`,
        after: `until grep -q 'configuration reloaded' sluice.log; do sleep 0.05; done
          node ${root}test/support/recipes/portal-visit.ts http://127.0.0.1:8081/dashboard/ http://127.0.0.1:8080/portal/ "$DASHBOARD_PASSWORD" acme "$(cat anna.password)"`,
      });
      const visits = output.slice(output.indexOf('accepted')).split('\n');
      expect(visits.slice(0, 7)).toEqual([
        'accepted: 303',
        'ann@example.com: 200, names its account: true',
        'anna@example.com: 200, names its account: true',
        'ben@example.com: 200, names its account: true',
        'cleo@example.com: 200, names its account: true',
        'dora@example.com: 303, names its account: false',
        'stranger: 303, names its account: false',
      ]);
    } finally {
      await provider.close();
    }
  });

  it('tells a webhook, signed, and people by mail that half of a limit is used', async () => {
    const host = 'smtp.example.com';
    const tls = selfSigned(new Date(Date.now() + 86_400_000), [host]);
    const smtp = await startSmtp(tls);
    try {
      const { output } = await runRecipe('docs/how-to/notices.md', {
        servers: [{ host, port: smtp.port, certificate: tls.cert }],
        before: configured(),
        after: `until curl -s http://127.0.0.1:8081/metrics | grep 'deliveries_total{kind="mail",result="sent"} 3'; do sleep 0.05; done
          cat receiver.log`,
      });
      expect(output).toMatch(/"type":"test"/);
      expect(output).toMatch(/ limit\.threshold_reached +account:acme +mail:ann@acme\.example /);
      const [test, ...others] = smtp.mails.map(({ to, data }) => [
        ...to,
        /^Subject: (.*)\r$/m.exec(data)![1],
      ]);
      expect(test).toEqual(['ops@example.com', expect.any(String)]);
      const subject = '[sluice] acme: 50 % of Requests per day used';
      expect(others.toSorted()).toEqual([
        ['ann@acme.example', subject],
        ['ops@example.com', subject],
      ]);
      for (const { from, auth, isEncrypted } of smtp.mails) {
        expect([from, isEncrypted]).toEqual(['sluice@example.com', true]);
        expect(Buffer.from(auth!, 'base64').toString()).toBe('\0sluice\0your-password');
      }
    } finally {
      smtp.close();
    }
  });

  it('sells prepaid credit, refuses what it does not cover and adds what is paid', async () => {
    const { output } = await runRecipe('docs/how-to/prepaid-credit.md', { before: running() });
    expect(output).toMatch(/"used":"0\.00[\d]+","remaining":"24\.99/);
  });
});
