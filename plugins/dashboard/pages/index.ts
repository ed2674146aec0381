import { providerTestPage } from '../connection-tests.ts';
import type { Page } from '../page-request.ts';
import { accountPage } from './account.ts';
import { peoplePage } from './account-people.ts';
import { accountsPage } from './accounts.ts';
import { accountsLikePage } from './accounts-like.ts';
import { auditExportPage, auditPage } from './audit.ts';
import { inFlightLivePage, inFlightPage } from './in-flight.ts';
import { noticesPage } from './notices.ts';
import { overviewLivePage, overviewPage } from './overview.ts';
import { providerPage } from './provider.ts';
import { providersPage } from './providers.ts';
import { requestsLivePage } from './requests.ts';
import { sharedPages } from './shared.ts';

/** All pages of operators; the one with an empty name is the start page. */
export const pages: readonly Page[] = [
  overviewPage,
  overviewLivePage,
  ...sharedPages,
  requestsLivePage,
  inFlightPage,
  inFlightLivePage,
  accountsLikePage,
  accountsPage,
  accountPage,
  peoplePage,
  providersPage,
  providerPage,
  providerTestPage,
  auditPage,
  auditExportPage,
  noticesPage,
];
