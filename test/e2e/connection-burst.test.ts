import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type SidecarProcess, sidecarConfig, startSidecar } from '../support/sidecar-process.ts';
import { until } from '../support/until.ts';

/** More than the 511 that Node lets wait by default. */
const clients = 700;
const request = 'GET /v1/models HTTP/1.1\r\nhost: sluice\r\nconnection: close\r\n\r\n';
const sockets: Socket[] = [];
let sidecar: SidecarProcess;
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sidecar.signal('SIGCONT');
  await sidecar.stop();
});

describe('a burst of connections to a paused gateway', () => {
  it('is accepted and answered completely, without overflowing the accept queue', async () => {
    sidecar = await startSidecar(
      sidecarConfig('http://127.0.0.1:9/v1', { server: { unready_ms: 1 } } as object),
    );
    sidecar.signal('SIGSTOP');
    let connected = 0;
    let answered = 0;
    for (let n = 0; n < clients; n++) {
      const socket = connect({ host: '127.0.0.1', port: Number(new URL(sidecar.url).port) });
      sockets.push(socket);
      socket.once('connect', () => connected++).on('error', () => {});
      socket.once('data', (data: Buffer) => (answered += data.toString().startsWith('HTTP/1.1 200') ? 1 : 0));
      socket.write(request);
    }
    await until(() => connected === clients, 20_000);
    sidecar.signal('SIGCONT');
    await until(() => answered === clients, 20_000);
    expect(answered).toBe(clients);
  });
});
