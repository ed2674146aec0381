/** An extension: what each account has used this month, as JSON for operators, and how ready the service is, as a page for clients. */
import { defineExtension } from 'sluice/plugin';
import { z } from 'zod';

export default defineExtension({
  name: 'usage-report',
  schema: z.strictObject({
    title: z.string().default('Service status').describe('Title of the page for clients.'),
  }),
  open({ clock, records, server, metrics, settings }, options) {
    let { title } = options;
    const asked = metrics.counter({ name: 'requests_total', help: 'Requests to the report.' });
    return {
      // GET /usage-report on the admin listener.
      async admin(_request, response) {
        asked.inc();
        const month = new Date(clock.epoch_ms()).toISOString().slice(0, 7);
        const used = await records.store.usage.sum({ by: ['account'], from_day: `${month}-01` });
        const plans = Object.fromEntries(
          Object.entries(settings.accounts).map(([id, { plan }]) => [id, plan]),
        );
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(used.map(sum => ({ ...sum, plan: plans[sum.account ?? ''] ?? null }))));
      },
      // GET /usage-report on the listener for clients.
      async public(_request, response) {
        const { ready } = await server.all();
        response.setHeader('content-type', 'text/html; charset=utf-8');
        response.end(
          `<!doctype html><title>${title}</title><p>${ready ? 'All is well.' : 'We are restarting.'}</p>`,
        );
      },
      configure(next) {
        title = next.title;
      },
    };
  },
});
