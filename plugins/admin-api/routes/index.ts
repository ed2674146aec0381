import type { Route } from '../route.ts';
import { accountRoutes } from './accounts.ts';
import { adminKeyRoutes } from './admin-keys.ts';
import { auditRoutes } from './audit.ts';
import { keyRoutes } from './keys.ts';

/** All routes of the Admin API. Its document, the table of who may use what and the tests follow from this list. */
export const routes: readonly Route[] = [...accountRoutes, ...keyRoutes, ...adminKeyRoutes, ...auditRoutes];
