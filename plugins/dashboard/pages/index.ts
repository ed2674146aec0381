import type { Page } from '../page-request.ts';
import { accountPage } from './account.ts';
import { accountsPage } from './accounts.ts';
import { auditPage } from './audit.ts';
import { auditExportPage } from './audit-export.ts';
import { findPage } from './find.ts';
import { issuePage } from './issue.ts';
import { issuedPage } from './issued.ts';
import { keyPage } from './key.ts';
import { keysPage } from './keys.ts';
import { modelsPage } from './models.ts';
import { overviewLivePage, overviewPage } from './overview.ts';
import { playgroundPage } from './playground.ts';
import { playgroundRecordPage, playgroundRunPage } from './playground-run.ts';
import { invitedPage, signInsPage } from './portal-sign-ins.ts';
import { requestPage } from './request.ts';
import { requestsLivePage, requestsPage } from './requests.ts';
import { revokePage } from './revoke.ts';
import { rotatePage } from './rotate.ts';
import { usagePage } from './usage.ts';
import { usageExportPage } from './usage-export.ts';

/** All pages; the one with an empty name is the start page. */
export const pages: readonly Page[] = [
  overviewPage,
  overviewLivePage,
  findPage,
  accountsPage,
  accountPage,
  keysPage,
  keyPage,
  issuePage,
  issuedPage,
  revokePage,
  rotatePage,
  requestsPage,
  requestsLivePage,
  requestPage,
  usagePage,
  usageExportPage,
  modelsPage,
  playgroundPage,
  playgroundRunPage,
  playgroundRecordPage,
  auditPage,
  auditExportPage,
  signInsPage,
  invitedPage,
];
