import type { Page } from '../page-request.ts';
import { accountPage } from '../pages/account.ts';
import { sharedPages } from '../pages/shared.ts';
import { examplesPage } from './examples.ts';
import { passwordPage } from './password.ts';

/** All pages for customers; the one with an empty name is the start page. */
export const portalPages: readonly Page[] = [
  { ...accountPage, name: '' },
  ...sharedPages,
  examplesPage,
  passwordPage,
];
