import type { Page } from '../page-request.ts';
import { historyPage } from '../pages/audit.ts';
import { sharedPages } from '../pages/shared.ts';
import { examplesPage } from './examples.ts';
import { limitsPage } from './limits.ts';
import { overviewPage } from './overview.ts';
import { passwordPage } from './password.ts';

/** All pages for customers; the one with an empty name is the start page. */
export const portalPages: readonly Page[] = [
  overviewPage,
  ...sharedPages,
  limitsPage,
  examplesPage,
  historyPage,
  passwordPage,
];
