import Fastify from 'fastify';
import { createGateway } from 'sluice';

const app = Fastify();
app.get('/', () => 'the application\n');
app.get('/broken', () => {
  throw new Error('an error of the application');
});

const gateway = await createGateway(process.argv[2] ?? 'sluice.yaml');
await app.register(async scope => {
  // The gateway reads the body itself, within its own limits.
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', (_request, _body, done) => done(null));
  scope.all('/v1/*', (request, reply) => {
    reply.hijack();
    // Fastify keeps the headers of its plugins, such as @fastify/cors and @fastify/helmet, to itself.
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? '');
    gateway(request.raw, reply.raw);
  });
});
// Running requests may finish; Fastify refuses new ones. It ignores an error of this hook.
app.addHook('preClose', async () => {
  await gateway.close().catch(err => {
    gateway.log.error({ err }, 'failed to close');
    process.exitCode = 1;
  });
});

const url = await app.listen({ port: Number(process.env.PORT ?? 8080), host: '127.0.0.1' });
process.stdout.write(`listening on ${url}\n`);

process.once('SIGTERM', () => {
  process.on('SIGTERM', () => gateway.close(0).catch(() => {})); // a second one ends running requests
  app.close();
});
