import type { Page } from '../page-request.ts';
import { usagePage } from '../pages/usage.ts';
import { usageExportPage } from '../pages/usage-export.ts';
import { examplesPage } from './examples.ts';
import { findPage } from './find.ts';
import { historyPage } from './history.ts';
import { issuedPage } from './issued.ts';
import { keyPage } from './key.ts';
import { keysPage } from './keys.ts';
import { limitsPage } from './limits.ts';
import { modelsPage } from './models.ts';
import { overviewPage } from './overview.ts';
import { passwordPage } from './password.ts';
import { playgroundPages } from './playground.ts';
import { requestPage } from './request.ts';
import { requestsPage } from './requests.ts';
import { revokePage } from './revoke.ts';
import { rotatePage } from './rotate.ts';

/** All pages for customers; the one with an empty name is the start page. */
export const portalPages: readonly Page[] = [
  overviewPage,
  findPage,
  keysPage,
  keyPage,
  issuedPage,
  rotatePage,
  revokePage,
  usagePage,
  usageExportPage,
  requestsPage,
  requestPage,
  limitsPage,
  modelsPage,
  examplesPage,
  ...playgroundPages,
  historyPage,
  passwordPage,
];
