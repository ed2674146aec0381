import { describe, expect, it } from '@jest/globals';
import { checkListeners } from '../../../../src/config/check-listeners.ts';
import { mistakesOf, sampleConfig } from './sample-config.ts';

const issues = (server: [string, number], admin: [string, number]) => [
  ...checkListeners({
    server: { host: server[0], port: server[1] },
    admin: { host: admin[0], port: admin[1] },
  }),
];

describe('the check of the two listeners', () => {
  it('rejects equal ports, and names both paths', async () => {
    expect(await mistakesOf(sampleConfig({ server: { port: '9000' }, admin: { port: 9000 } }))).toEqual([
      'admin.port: is the port of server.port as well, 9000, and admin.host 127.0.0.1 overlaps server.host 127.0.0.1; give each listener a port of its own',
    ]);
    expect(await mistakesOf(sampleConfig({ server: { port: 8081 } }))).toHaveLength(1);
  });

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['127.0.0.1', '::'],
    ['10.0.0.1', '0.0.0.0'],
    ['::', '0.0.0.0'],
    ['::', '::1'],
    ['', '10.0.0.1'],
    ['localhost', '127.0.0.1'],
    ['::1', 'LOCALHOST'],
    ['gateway', 'Gateway'],
  ])('rejects equal ports at %j and %j', (server, admin) => {
    expect(issues([server, 80], [admin, 80])).toHaveLength(1);
  });

  it.each([
    ['10.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '::1'],
    ['127.0.0.1', '::1'],
    ['gateway', '127.0.0.1'],
  ])('accepts equal ports at %j and %j', (server, admin) => {
    expect(issues([server, 80], [admin, 80])).toEqual([]);
  });

  it('accepts port 0 for both, which picks a free port for each', () => {
    expect(issues(['127.0.0.1', 0], ['127.0.0.1', 0])).toEqual([]);
  });
});
