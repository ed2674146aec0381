import { describe, expect, it } from '@jest/globals';
import { redisAddressOf } from '../../../../../plugins/stores/redis/redis-address.ts';

describe('the address of a Redis', () => {
  it('is a server with user, password and database', () => {
    expect(redisAddressOf('rediss://user:p%40ss@[::1]:6380/3')).toEqual({
      kind: 'server',
      tls: true,
      hosts: [{ host: '::1', port: 6380 }],
      username: 'user',
      password: 'p@ss',
      name: '',
      database: 3,
      sentinel: {},
    });
  });

  it('is some nodes of a cluster, at the usual port unless another is given', () => {
    expect(redisAddressOf('redis+cluster://:secret@a,b:7001')).toEqual({
      kind: 'cluster',
      tls: false,
      hosts: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 7001 },
      ],
      password: 'secret',
      name: '',
      database: 0,
      sentinel: {},
    });
  });

  it('is Sentinels, the name of a primary, and the passwords of both', () => {
    const url =
      'redis+sentinel://:secret@a,b:26380/my%20master/2?sentinel_username=u&sentinel_password=p%26q';
    expect(redisAddressOf(url)).toEqual({
      kind: 'sentinel',
      tls: false,
      hosts: [
        { host: 'a', port: 26_379 },
        { host: 'b', port: 26_380 },
      ],
      password: 'secret',
      name: 'my master',
      database: 2,
      sentinel: { username: 'u', password: 'p&q' },
    });
  });
});
