import type { AddressInfo } from 'node:net';
import type { Express } from 'express';

/** Serves `app` on a free port of loopback, tells the parent process which, and ends with the parent. */
export function announce(app: Express): void {
  const server = app.listen(0, '127.0.0.1', () => {
    process.send?.({ port: (server.address() as AddressInfo).port });
  });
  process.on('disconnect', () => process.exit());
}
