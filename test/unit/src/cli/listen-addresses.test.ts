import { describe, expect, it } from '@jest/globals';
import { type AddressChoice, listenAddresses } from '../../../../src/cli/listen-addresses.ts';
import { loadConfig } from '../../../../src/config/load.ts';
import { mistakesOf, sampleConfig } from '../config/sample-config.ts';

/** Where a configuration with this `server` listens; the admin listener is left as it is. */
async function addresses(server: object, choice: AddressChoice): Promise<unknown> {
  const stages = Object.hasOwn(server, 'open') ? { stages: ['validation'] } : {};
  return listenAddresses(await loadConfig(sampleConfig({ server, ...stages })), choice);
}
const [host, port] = ['127.0.0.1', 8080];
const admin = { host, port: 8081 };
const at = (server: object) => ({ server: { host, port, ...server }, admin, ignoredHost: undefined });

describe('the addresses of the listeners', () => {
  it.each<[string, object, Record<string, string>, object]>([
    ['nothing', {}, {}, {}],
    ['PORT', {}, { PORT: '3000' }, { port: 3000 }],
    ['PORT of 0', {}, { PORT: '0' }, { port: 0 }],
    ['HOST and PORT', {}, { HOST: '0.0.0.0', PORT: '3000' }, { host: '0.0.0.0', port: 3000 }],
    ['an IPv6 HOST', {}, { HOST: '::' }, { host: '::' }],
    ['empty variables', {}, { HOST: '', PORT: '' }, {}],
    [
      'PORT beside a host that is written',
      { host: '10.0.0.1' },
      { HOST: '::', PORT: '1' },
      { host: '10.0.0.1', port: 1 },
    ],
    ['HOST beside a port that is written', { port: 9 }, { HOST: '::', PORT: 'x' }, { host: '::', port: 9 }],
    ['a default that is written', { host, port }, { HOST: '::', PORT: '1' }, {}],
  ])('are those of %s', async (_, server, environment, expected) => {
    expect(await addresses(server, { environment })).toEqual(at(expected));
  });

  it('are those of the flags before all others', async () => {
    const flags = { host: '::1', port: 1, adminPort: 2 };
    const environment = { HOST: '0.0.0.0', PORT: '3000' };
    expect(await addresses({ host: '10.0.0.1', port: 9 }, { flags, environment })).toEqual({
      server: { host: '::1', port: 1 },
      admin: { host, port: 2 },
      ignoredHost: undefined,
    });
  });

  it.each(['my-laptop', 'x86_64-conda-linux-gnu', 'http://0.0.0.0', '*'])(
    'leave out a HOST that is no address: %s',
    async HOST => {
      expect(await addresses({}, { environment: { HOST } })).toEqual({ ...at({}), ignoredHost: HOST });
    },
  );

  it.each(['http', '-1', '65536', '80.5', ' 80', 'tcp://10.0.0.1:80'])('refuse PORT=%j', async PORT => {
    await expect(addresses({}, { environment: { PORT } })).rejects.toThrow(
      `PORT in the environment must be a number from 0 to 65535, not '${PORT}'`,
    );
  });

  it('refuse a HOST that would serve every network without a key, unless it is chosen for that', async () => {
    const open = { open: true };
    await expect(addresses(open, { environment: { HOST: '0.0.0.0' } })).rejects.toThrow(/server\.open/);
    expect(await addresses(open, { environment: { HOST: '127.0.0.2' } })).toEqual(at({ host: '127.0.0.2' }));
    expect(await addresses(open, { flags: { host: '0.0.0.0' } })).toEqual(at({ host: '0.0.0.0' }));
    expect(await addresses({ ...open, host: '0.0.0.0' }, {})).toEqual(at({ host: '0.0.0.0' }));
  });

  it('refuse the port of the admin listener', async () => {
    await expect(addresses({}, { environment: { PORT: '8081' } })).rejects.toThrow(/^admin\.port: .*8081/);
  });

  it('refuse an empty address, which would be every one', async () => {
    const message = 'must be an address; 0.0.0.0 and :: are all of this machine';
    expect(await mistakesOf(sampleConfig({ server: { host: '${NONE:-}' }, admin: { host: '' } }))).toEqual([
      `server.host: ${message}`,
      `admin.host: ${message}`,
    ]);
  });
});
