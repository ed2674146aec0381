import { describe, expect, it } from '@jest/globals';
import { Sessions } from '../../../../../src/dashboard/access/sessions.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const limits = { idle_ms: 1000, max_ms: 2500 };

describe('the sessions of the dashboard', () => {
  it('are found by the token of their browser only', () => {
    const sessions = new Sessions(new FakeClock(), limits);
    const { token, session } = sessions.start('olga');
    expect(sessions.find(token)).toBe(session);
    expect(sessions.find(token.toLowerCase())).toBeUndefined();
    expect(sessions.find('')).toBeUndefined();
    sessions.end(token);
    expect(sessions.find(token)).toBeUndefined();
  });

  it('expire when unused, and at the latest after their full lifetime', () => {
    const clock = new FakeClock();
    const sessions = new Sessions(clock, limits);
    const [idle, used] = [sessions.start('idle').token, sessions.start('used').token];
    clock.advance(999);
    expect(sessions.find(used)).toBeDefined();
    clock.advance(1);
    expect(sessions.find(idle)).toBeUndefined();
    clock.advance(900);
    expect(sessions.find(used)).toBeDefined();
    clock.advance(600);
    expect(sessions.find(used)).toBeUndefined();
  });

  it('are limited to a thousand: the least recently used one ends', () => {
    const sessions = new Sessions(new FakeClock(), limits);
    const [first, second] = [sessions.start('first').token, sessions.start('second').token];
    sessions.find(first);
    for (let started = 0; started < 999; started++) sessions.start('other');
    expect(sessions.find(first)).toBeDefined();
    expect(sessions.find(second)).toBeUndefined();
  });
});
