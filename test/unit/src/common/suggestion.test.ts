import { describe, expect, it } from '@jest/globals';
import { nearestName, noSuchName, suggested } from '../../../../src/common/suggestion.ts';

const stages = ['error-envelope', 'auth', 'validation', 'rate-limit', 'request-rewrite', 'port', 'max'];

describe('the suggestion of a name', () => {
  it.each([
    ['prot', 'port'],
    ['validatoin', 'validation'],
    ['rate_limit', 'rate-limit'],
    ['RateLimit', 'rate-limit'],
    ['auht', 'auth'],
    ['authe', 'auth'],
    ['mx', 'max'],
  ])('is, for %s, %s', (given, meant) => {
    expect(nearestName(given, stages)).toBe(meant);
  });

  it.each(['', 'x', 'log', 'authentication', 'limiter', 'nonsense'])('is absent for %j', given => {
    expect(nearestName(given, stages)).toBeUndefined();
  });

  it('is the nearest of several names', () => {
    expect(nearestName('local2', ['loca', 'local1', 'local'])).toBe('local1');
    expect(nearestName('local', [])).toBeUndefined();
  });

  it('comes before the list of all names', () => {
    expect(suggested('prot', ['port', 'host'], 'accepted here: port, host')).toBe(
      "; did you mean 'port'? Accepted here: port, host",
    );
    expect(suggested('x', ['port', 'host'], 'accepted here: port, host')).toBe('; accepted here: port, host');
    expect(noSuchName('plan', 'fre', ['free'])).toBe(
      "there is no plan 'fre'; did you mean 'free'? There are: free",
    );
    expect(noSuchName('plan', 'gold', [])).toBe("there is no plan 'gold'; there are: (none)");
  });
});
