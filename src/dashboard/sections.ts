/** What the navigation leads to: names of pages, in the order in which they are listed. */
export const sections = [
  { page: '', label: 'Overview' },
  { page: 'accounts', label: 'Accounts' },
  { page: 'keys', label: 'Keys' },
  { page: 'usage', label: 'Usage' },
  { page: 'models', label: 'Models' },
  { page: 'playground', label: 'Playground' },
  { page: 'audit', label: 'Audit log' },
] as const;

export type Section = (typeof sections)[number]['page'];
