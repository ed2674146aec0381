import type { Route } from '../route.ts';
import { accountRoutes } from './accounts.ts';

/** All routes of the Admin API. Its document, the table of who may use what and the tests follow from this list. */
export const routes: readonly Route[] = [...accountRoutes];
