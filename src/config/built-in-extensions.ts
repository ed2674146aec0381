import { adminApi } from '../../plugins/admin-api/index.ts';
import { notices } from '../../plugins/notices/index.ts';
import type { ExtensionDefinition } from '../records/define-extension.ts';
import type { Sections } from './extension-sections.ts';

/** The built-in extensions that have a section of their own in the configuration. */
export const configurableExtensions = [adminApi, notices] as unknown as readonly ExtensionDefinition[];

/** The sections of the configuration with their options. */
export const builtInSections = Object.fromEntries(
  configurableExtensions.map(({ section, schema }) => [section, schema.prefault({})]),
) as unknown as Sections;
