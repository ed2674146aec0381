import type { Route } from '../route.ts';
import { accountRoutes } from './accounts.ts';
import { adminKeyRoutes } from './admin-keys.ts';
import { auditRoutes } from './audit.ts';
import { catalogRoutes } from './catalog.ts';
import { configurationRoutes } from './configuration.ts';
import { documentRoute } from './document.ts';
import { keyRoutes } from './keys.ts';
import { noticeRoutes } from './notices.ts';
import { providerControlRoutes } from './provider-controls.ts';
import { requestRoutes } from './requests.ts';
import { statementRoutes } from './statements.ts';
import { usageRoutes } from './usage.ts';

/** All routes of the Admin API. Its document, the table of who may use what and the tests follow from this list. */
export const routes: readonly Route[] = [
  ...accountRoutes,
  ...keyRoutes,
  ...usageRoutes,
  ...statementRoutes,
  ...requestRoutes,
  ...catalogRoutes,
  ...configurationRoutes,
  ...adminKeyRoutes,
  ...noticeRoutes,
  ...auditRoutes,
  ...providerControlRoutes,
  documentRoute(() => routes),
];
