import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { createGateway } from 'sluice';

const app = new Koa();

const gateway = await createGateway(process.argv[2] ?? 'sluice.yaml');
app.use(
  (ctx, next) =>
    new Promise<void>((resolve, reject) => {
      ctx.respond = false;
      ctx.res.once('close', resolve);
      gateway(ctx.req, ctx.res, () => {
        // Not a path of the gateway.
        ctx.respond = true;
        next().then(resolve, reject);
      });
    }),
);

app.use(ctx => {
  if (ctx.path === '/') ctx.body = 'the application\n';
  if (ctx.path === '/broken') throw new Error('an error of the application');
});

const server = app.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});

// Running requests may finish; new ones are refused.
process.once('SIGTERM', async () => {
  process.on('SIGTERM', () => gateway.close(0).catch(() => {})); // a second one ends running requests
  await gateway.close().catch(err => {
    gateway.log.error({ err }, 'failed to close');
    process.exitCode = 1;
  });
  server.close();
});
