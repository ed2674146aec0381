import type { Page } from '../page-request.ts';
import { accountPage } from './account.ts';
import { accountsPage } from './accounts.ts';
import { auditExportPage, auditPage } from './audit.ts';
import { inFlightPage } from './in-flight.ts';
import { noticesPage } from './notices.ts';
import { overviewLivePage, overviewPage } from './overview.ts';
import { invitedPage, signInsPage } from './portal-sign-ins.ts';
import { providerPage } from './provider.ts';
import { requestsLivePage } from './requests.ts';
import { sharedPages } from './shared.ts';

/** All pages of operators; the one with an empty name is the start page. */
export const pages: readonly Page[] = [
  overviewPage,
  overviewLivePage,
  ...sharedPages,
  requestsLivePage,
  inFlightPage,
  accountsPage,
  accountPage,
  providerPage,
  auditPage,
  auditExportPage,
  noticesPage,
  signInsPage,
  invitedPage,
];
