import { defineExtension } from '../../src/plugin.ts';
import { SignInMemory } from './access/sign-in-memory.ts';
import { GatewayCalls } from './gateway-calls.ts';
import { GatewaySites } from './gateway-sites.ts';
import { LiveStreams } from './live-streams.ts';

/** The operators' dashboard, and the customers' portal. */
export const dashboard = defineExtension({
  name: 'dashboard',
  open(context) {
    const { clock, handler } = context;
    const live = new LiveStreams();
    const added = {
      live,
      calls: new GatewayCalls(handler),
      signIns: { dashboard: new SignInMemory(clock), portal: new SignInMemory(clock) },
    };
    const sites = new GatewaySites(
      Object.defineProperties(added, Object.getOwnPropertyDescriptors(context)) as typeof added &
        typeof context,
    );
    return {
      admin: sites.dashboard,
      public: sites.portal,
      publicPath: () => (context.settings.portal.enabled ? context.settings.portal.path : undefined),
      configure: () => sites.configure(),
      drain: () => live.close(),
    };
  },
});
