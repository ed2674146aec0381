/** The key of that number, of all accounts. */
export const growthKey = (at: number): string => `sk-growth-${String(at).padStart(40, '0')}`;

/** The id of the model of that number. */
export const growthModel = (at: number): string => `growth/model-${at}`;
