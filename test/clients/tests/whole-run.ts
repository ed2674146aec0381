import { it, suite } from 'node:test';
import { expect } from 'expect';
import { network } from '../network-watch.ts';

// Its name makes it the last one: what holds of all that was run before.
suite('network', () =>
  suite('every client', () => {
    it('has connected only to the gateways', async () => {
      expect([...network.hosts]).toEqual(['127.0.0.1']);
      // The watch would have seen it.
      await fetch('http://127.0.0.2:59999').catch(() => {});
      expect([...network.hosts]).toContain('127.0.0.2');
    });
  }));
