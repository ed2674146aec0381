import { afterEach, describe, expect, it } from '@jest/globals';
import { stringify } from 'yaml';
import {
  configFile,
  type SidecarProcess,
  serveFile,
  sidecarConfig,
  startDemo,
} from '../support/sidecar-process.ts';

let sidecar: SidecarProcess;
afterEach(() => sidecar.stop());

const hostOf = (url: string): string => new URL(url).hostname;

describe('a sidecar in a container', () => {
  it('serves the demo at HOST, with its admin listener on loopback', async () => {
    sidecar = await startDemo({ HOST: '127.0.0.2' });
    expect([sidecar.url, sidecar.adminUrl].map(hostOf)).toEqual(['127.0.0.2', '127.0.0.1']);
    expect((await fetch(`${sidecar.url}/v1/models`)).status).toBe(200);
  });

  it('serves a configuration without an address at PORT, and ignores a HOST that is a name', async () => {
    const { server: _, ...config } = sidecarConfig('http://127.0.0.1:9/v1');
    const { file, remove } = await configFile(stringify(config));
    sidecar = await serveFile(file, { HOST: 'my-laptop', PORT: '0' });
    await remove();
    expect(hostOf(sidecar.url)).toBe('127.0.0.1');
    expect(new URL(sidecar.url).port).not.toBe('8080');
    expect((await fetch(`${sidecar.url}/v1/models`)).status).toBe(200);
    expect(sidecar.output()).toContain('HOST is not an IP address and is ignored');
  });
});
