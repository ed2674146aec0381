import { type HttpBindings, serve } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { createGateway } from 'sluice';

const app = new Hono<{ Bindings: HttpBindings }>();
app.get('/', c => c.text('the application\n'));
app.get('/broken', () => {
  throw new Error('an error of the application');
});

const gateway = await createGateway(process.argv[2] ?? 'sluice.yaml');
app.all('/v1/*', async c => {
  const { incoming, outgoing } = c.env;
  // Hono keeps the headers of its middleware, such as cors(), to itself.
  c.res.headers.forEach((value, name) => void outgoing.setHeader(name, value));
  const closed = new Promise(resolve => outgoing.once('close', resolve));
  gateway(incoming, outgoing);
  await closed;
  return RESPONSE_ALREADY_SENT;
});

const port = Number(process.env.PORT ?? 8080);
const server = serve({ fetch: app.fetch, port, hostname: '127.0.0.1' }, ({ port }) => {
  process.stdout.write(`listening on http://127.0.0.1:${port}\n`);
});

process.once('SIGTERM', async () => {
  // Running exchanges may finish; new ones are refused.
  await gateway.close();
  server.close();
});
