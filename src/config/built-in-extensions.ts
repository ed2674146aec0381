import type { z } from 'zod';
import { adminApi } from '../../plugins/admin-api/index.ts';
import { notices } from '../../plugins/notices/index.ts';
import type { ExtensionDefinition } from '../records/define-extension.ts';

/** The built-in extensions that have a section of their own in the configuration. */
export const configurableExtensions = [adminApi, notices] as unknown as readonly ExtensionDefinition[];

/** The types of these sections. */
interface Sections {
  admin_api: z.ZodPrefault<(typeof adminApi)['schema']>;
  notices: z.ZodPrefault<(typeof notices)['schema']>;
}

/** The sections of the configuration with their options. */
export const builtInSections = Object.fromEntries(
  configurableExtensions.map(({ section, schema }) => [section, schema.prefault({})]),
) as unknown as Sections;
