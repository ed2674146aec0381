import { describe, expect, it } from '@jest/globals';
import { errorOfReply, mayHaveMoved } from '../../../../../plugins/stores/redis/error-reply.ts';
import { CannotServe, CommandRejected } from '../../../../../src/records/remote-state.ts';

const at = 'script: 0af3, on @user_script:12.';
const before7 = 'ERR Error running script (call to f_0af3): @user_script:12: @user_script: 12: ';

describe('an error reply of Redis', () => {
  it.each([
    `OOM command not allowed when used memory > 'maxmemory'. ${at}`,
    `${before7}-OOM command not allowed when used memory > 'maxmemory'.`,
    `READONLY You can't write against a read only replica. ${at}`,
    `${before7}-READONLY You can't write against a read only replica.`,
    `MISCONF Redis is configured to save RDB snapshots, but it is currently not able to persist on disk. ${at}`,
    `${before7}-MISCONF Redis is configured to save RDB snapshots`,
    'LOADING Redis is loading the dataset in memory',
    'CLUSTERDOWN The cluster is down',
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
    'NOREPLICAS Not enough good replicas to write.',
    'TRYAGAIN Multiple keys request during rehashing of slot',
    'BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.',
    'NOAUTH Authentication required.',
    "NOPERM this user has no permissions to run the 'evalsha' command",
    'ERR max number of clients reached',
    'ERR unknown command `EVALSHA`, with args beginning with: `0af3` `1`',
    'MOVED 3999 127.0.0.1:6381',
    'upstream failure',
    '',
  ])('means that Redis cannot serve: %s', message => {
    expect(errorOfReply(message)).toBeInstanceOf(CannotServe);
  });

  it.each([
    `WRONGTYPE Operation against a key holding the wrong kind of value ${at}`,
    'ERR Error running script (call to f_0af3): @user_script:31: WRONGTYPE Operation against a key holding the wrong kind of value',
    `ERR user_script:3: attempt to perform arithmetic on a nil value ${at}`,
    "ERR Error compiling script (new function): user_script:1: '=' expected near 'is'",
    "CROSSSLOT Keys in request don't hash to the same slot",
    'NOSCRIPT No matching script. Please use EVAL.',
  ])('rejects only the command: %s', message => {
    expect(errorOfReply(message)).toBeInstanceOf(CommandRejected);
  });

  it('shows whether another server may have become the primary', () => {
    expect(mayHaveMoved(`READONLY You can't write against a read only replica. ${at}`)).toBe(true);
    expect(mayHaveMoved(`${before7}-READONLY You can't write`)).toBe(true);
    expect(mayHaveMoved('MASTERDOWN Link with MASTER is down')).toBe(true);
    expect(mayHaveMoved("OOM command not allowed when used memory > 'maxmemory'.")).toBe(false);
    expect(mayHaveMoved('LOADING Redis is loading the dataset in memory')).toBe(false);
  });
});
