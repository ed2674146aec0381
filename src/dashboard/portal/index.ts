import type { Page } from '../page-request.ts';
import { issuedPage } from './issued.ts';
import { keysPage } from './keys.ts';
import { overviewPage } from './overview.ts';
import { passwordPage } from './password.ts';
import { revokePage } from './revoke.ts';
import { rotatePage } from './rotate.ts';

/** All pages for customers; the one with an empty name is the start page. */
export const portalPages: readonly Page[] = [
  overviewPage,
  keysPage,
  issuedPage,
  rotatePage,
  revokePage,
  passwordPage,
];
