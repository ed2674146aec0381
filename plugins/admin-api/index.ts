import { defineExtension } from '../../src/plugin.ts';
import { AdminApi } from './admin-api.ts';
import { adminApiOptions } from './admin-api-options.ts';

/** The operators' API, for programs: accounts, keys, usage and all else that the dashboard shows and changes. */
export const adminApi = defineExtension({
  name: 'admin-api',
  schema: adminApiOptions,
  open(context, options) {
    const api = new AdminApi(context, options);
    return { admin: api.handle, configure: next => api.configure(next) };
  },
});
