import { defineExtension } from '../../src/plugin.ts';
import { GatewaySites } from './gateway-sites.ts';

/** The operators' dashboard, and the customers' portal. */
export const dashboard = defineExtension({
  name: 'dashboard',
  open(context) {
    const sites = new GatewaySites(context);
    return {
      admin: sites.dashboard,
      public: sites.portal,
      publicPath: () => (context.settings.portal.enabled ? context.settings.portal.path : undefined),
      configure: () => sites.configure(),
      drain: () => sites.close(),
    };
  },
});
