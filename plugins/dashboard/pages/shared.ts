import type { Page } from '../page-request.ts';
import { historyPage } from './account-history.ts';
import { limitsPage } from './account-limits.ts';
import { findPage } from './find.ts';
import { keyPage } from './key.ts';
import { keysPage } from './keys.ts';
import { modelPage } from './model.ts';
import { modelsPage } from './models.ts';
import { playgroundPage } from './playground.ts';
import { playgroundRecordPage, playgroundRunPage } from './playground-run.ts';
import { requestPage } from './request.ts';
import { requestsPage } from './requests.ts';
import { requestsExportPage } from './requests-export.ts';
import { statementExportPage, statementPage } from './statement.ts';
import { timeZonePage } from './time-zone.ts';
import { usagePage } from './usage.ts';
import { usageExportPage } from './usage-export.ts';

/** Pages of operators and customers, which show what is in the scope of their reader. */
export const sharedPages: readonly Page[] = [
  findPage,
  limitsPage,
  historyPage,
  keysPage,
  keyPage,
  requestsPage,
  requestsExportPage,
  requestPage,
  usagePage,
  usageExportPage,
  statementPage,
  statementExportPage,
  modelsPage,
  timeZonePage,
  modelPage,
  playgroundPage,
  playgroundRunPage,
  playgroundRecordPage,
];
