import { describe, expect, it } from '@jest/globals';
import { SpanKind } from '@opentelemetry/api';
import { startPostgres } from '../support/postgres-server.ts';
import { runRecipe } from '../support/recipes/recipe.ts';

describe('a recipe for an application', () => {
  it('mounts the gateway in Express beside its routes, its log and its metrics, and lets a stream finish after SIGTERM, or ends it after a second one', async () => {
    const body = JSON.stringify({
      ...{ model: 'vllm/small', stream: true },
      messages: [{ role: 'user', content: '[[sim:tokens=10 tps=20]]' }],
    });
    const endless = body.replace('tokens=10', 'tokens=endless');
    const { output } = await runRecipe('docs/how-to/mount-in-express.md', {
      after: `
        app=$! JSON='-H Content-Type:application/json'
        echo "without the gateway's key: $(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8080/v1/chat/completions $JSON -d '${body}')"
        command curl -sN http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" $JSON -d '${body}' > slow.txt &
        until grep -qs content slow.txt; do sleep 0.02; done
        kill -TERM $app
        wait $app && echo "the application has ended with $?"
        wait $! && tail -n 2 slow.txt
        grep -c '"part":"gateway".*POST /v1/chat/completions 200' server.log
        node server.ts >> server.log & app=$!
        curl -sN http://127.0.0.1:8080/v1/chat/completions -H "Authorization: Bearer $SLUICE_KEY" $JSON -H 'x-request-id: cut' -d '${endless}' > cut.txt &
        until grep -qs content cut.txt; do sleep 0.02; done
        kill -TERM $app
        until command curl -s http://127.0.0.1:8080/v1/models | grep -q server_error; do sleep 0.02; done
        kill -TERM $app
        wait $app && echo "the second signal has ended it with $?"
        tail -n 4 cut.txt
        sluice ledger find cut --config sluice.yaml`,
    });
    expect(output).toMatch(
      /without the gateway's key: 401\nthe application has ended with 0\ndata: \[DONE\]\n+2\n/,
    );
    const [, afterSecond = ''] = output.split('the second signal has ended it with 0\n');
    expect(afterSecond).toMatch(/^data: .*"error":\{/m);
    expect(afterSecond).toContain('"end_reason": "shutdown"');
  });

  it('mounts the gateway in node:http, Fastify, Koa and Hono, beside the routes of the application', async () => {
    const { output } = await runRecipe('docs/how-to/mount-elsewhere.md');
    expect(output.match(/^the application\ndata: \[DONE\]$/gm)).toHaveLength(4);
  });

  it('puts stages in front of a proxy, which gets what they let through, with a key of its own', async () => {
    const { output } = await runRecipe('docs/how-to/in-front-of-a-proxy.md', { after: 'cat reply.json' });
    expect(output).toContain('"message":"Rate limit exceeded: 2 requests per minute.');
  });

  it("has the application's sign-in decide whose request it is, with limits, use, dashboard and portal of its customers", async () => {
    const { output } = await runRecipe('docs/how-to/own-sign-in.md', {
      after: `
        for page in ops/accounts portal/; do
          curl -sL "http://127.0.0.1:8080/$page" --cookie session=ada | grep -o acme | head -n 1 | sed "s|^|$page shows |"
        done
        curl -s -o /dev/null -w "an operator's page without a session: %{http_code}\\n" http://127.0.0.1:8080/ops/`,
    });
    expect(output).toMatch(/^ops\/accounts shows acme\nportal\/ shows acme$/m);
    expect(output).toMatch(/an operator's page without a session: 40[13]/);
  });

  it('signs customers up with credit and a key, refuses them when it is used, and takes payments', async () => {
    const { output } = await runRecipe('docs/how-to/sign-up.md', {
      after: `npx sluice audit --config sluice.yaml`,
    });
    expect(output).toMatch(/ app +account.create +ann /);
    expect(output).toContain('"amount_usd":"5"');
  });

  it("joins the trace of a request with the application's, down to the call of the provider", async () => {
    const { output } = await runRecipe('docs/how-to/join-traces.md', { after: 'cat server.log' });
    const spans = spansIn(output);
    expect(new Set(spans.map(({ trace_id }) => trace_id)).size).toBe(1);
    expect(output).toContain(`"trace_id":"${spans[0]!.trace_id}"`);
    const own = spans.find(({ kind }) => kind === SpanKind.SERVER);
    expect(own).toMatchObject({ name: 'POST /v1/chat/completions', parent: 'b7ad6b7169203331' });
    expect(own!.trace_id).toBe('0af7651916cd43dd8448eb211c80319c');
    const exchange = spans.find(({ parent }) => parent === own!.id);
    expect(exchange).toMatchObject({ name: 'POST /v1/chat/completions', kind: SpanKind.INTERNAL });
    const below = spans.filter(({ parent }) => parent === exchange!.id).map(({ name }) => name);
    expect(below).toEqual(
      expect.arrayContaining(['find customer', 'stage auth', 'stage rate-limit', 'chat small']),
    );
    expect(below).toHaveLength(spans.length - 2);
  });

  it("takes keys, plans and limits from the application's own database, and writes the ledger there", async () => {
    const postgres = await startPostgres();
    try {
      // Its role has the name of sluice's schema, in which names without one would be looked up first.
      const DATABASE_URL = `${postgres.url}?options=-c%20search_path%3Dpublic`;
      const needs = ['postgres', 'psql'];
      const count = `psql -At "$DATABASE_URL" -c 'SELECT count(*) FROM sluice.api_keys'`;
      const { output } = await runRecipe('docs/how-to/own-database.md', {
        ...{ needs, environment: { DATABASE_URL } },
        after: `echo "keys of sluice's own: $(${count})"`,
      });
      expect(output).toContain("keys of sluice's own: 0\n");
    } finally {
      await postgres.stop();
    }
  });

  it('tests an application against the simulator, which streams, calls a tool and fails by directives', async () => {
    const { output } = await runRecipe('docs/how-to/test-an-application.md', { before: 'npm init -y' });
    expect(output).toMatch(/^ℹ pass 3\nℹ fail 0$/m);
  });
});

/** Spans as the exporter `console` prints them. */
const spansIn = (output: string) =>
  [
    ...output.matchAll(
      /^ {2}traceId: '(\w+)',\n {2}parentSpanContext: (?:undefined|\{[^}]*?spanId: '(\w+)'[^}]*\}),[\s\S]*?^ {2}name: '(.+)',\n {2}id: '(\w+)',\n {2}kind: (\d)/gm,
    ),
  ].map(([, trace_id, parent, name, id, kind]) => ({ trace_id, parent, name, id, kind: Number(kind) }));
