import type { IncomingMessage, ServerResponse } from 'node:http';
import { createGateway } from 'sluice';

// The gateway reads the body itself, and Next.js must not wait for an answer of its own.
export const config = { api: { bodyParser: false, externalResolver: true } };

const opened = createGateway(process.env.SLUICE_CONFIG ?? 'sluice.yaml');
process.once('SIGTERM', async () => {
  const gateway = await opened;
  process.on('SIGTERM', () => gateway.close(0).catch(() => {})); // a second one ends running requests
  await gateway.close().catch(err => {
    gateway.log.error({ err }, 'failed to close');
    process.exitCode = 1;
  });
});

/** Serves `/api/v1/…`. */
export default async function handler(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const gateway = await opened;
  const closed = new Promise<void>(resolve => response.once('close', () => resolve()));
  request.url = request.url?.slice('/api'.length) ?? '/';
  gateway(request, response);
  await closed;
}
