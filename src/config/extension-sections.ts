import type { z } from 'zod';
import type { adminApi } from '../../plugins/admin-api/index.ts';
import type { notices } from '../../plugins/notices/index.ts';

/** The types of the sections of built-in extensions. Types only: a plugin whose folder is gone is not missed here. */
export interface Sections {
  admin_api: z.ZodPrefault<(typeof adminApi)['schema']>;
  notices: z.ZodPrefault<(typeof notices)['schema']>;
}
