/** A text as a configuration has it: variables as `${NAME}`. */
export type Expression = string;

/** A whole text that is a variable, in the words of LiteLLM, of Portkey's templates, and of shells and programs that fill in files. */
const variable =
  /^(?:os\.environ\/(\w+)|\$\{([A-Za-z_]\w*)\}|\$([A-Z_][A-Z0-9_]*)|\{\{ ?([A-Za-z_]\w*) ?\}\}|\$\{\{ ?(?:secrets|env)\.(\w+) ?\}\})$/;

/** `text` for a configuration: a variable as one, anything else as itself. */
export function expressionOf(text: string): Expression {
  const name = variable.exec(text.trim())?.find((part, at) => at > 0 && part !== undefined);
  if (name !== undefined && /^[A-Za-z_]/.test(name)) return `\${${name}}`;
  return text.replaceAll('${', () => '$${');
}

/** Whether it can be the address of an API, whatever its variables have. */
export function isAddress(expression: Expression): boolean {
  const sample = expression.replace(/^\$\{\w+\}/, 'https://x').replaceAll(/\$\{\w+\}/g, 'x');
  return /^https?:\/\/[^/]/.test(sample) && URL.canParse(sample);
}

/** Whether it is a variable and nothing else. */
export const isVariableAlone = (expression: Expression): boolean => /^\$\{\w+\}$/.test(expression);

/** The variables in a configuration. */
export const variablesIn = (text: string): readonly string[] => [
  ...new Set([...text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)\}/g)].map(([, name]) => name!)),
];
