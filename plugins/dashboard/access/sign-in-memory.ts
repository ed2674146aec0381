import QuickLRU from 'quick-lru';
import { type Clock, LoginThrottle } from '../../../src/plugin.ts';
import { type KnownSession, remembered } from './sessions.ts';

/** What a set of pages remembers of its people while the process lives, whatever the configuration becomes. */
export class SignInMemory {
  /** Sessions that are known without the store. */
  readonly sessions = new QuickLRU<string, KnownSession>(remembered);
  readonly throttle: LoginThrottle;

  constructor(clock: Clock) {
    this.throttle = new LoginThrottle(clock);
  }
}
