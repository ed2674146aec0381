import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import compression from 'compression';
import express from 'express';
import { createGateway } from 'sluice';

// An existing application.
const app = express();
app.use(compression());
app.use(express.json({ limit: '16mb' }));
app.get('/', (_request, response) => void response.send('the application\n'));
app.get('/broken', () => {
  throw new Error('an error of the application');
});

// The gateway takes /v1/models and /v1/chat/completions and leaves every other path alone. To have them
// below a path: app.use('/llm', gateway).
const gateway = await createGateway(join(import.meta.dirname, '../sidecar/sluice.yaml'));
app.use(gateway);
// Answers what express.json() refuses on these paths. Not needed where the gateway stands before it.
app.use(gateway.errorHandler);

// For operators only: protect it as other internal paths. Node's own metrics: docs/reference/in-code.md#metrics
app.get('/metrics', async (_request, response) => {
  response.type(gateway.registry.contentType).send(await gateway.registry.metrics());
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
