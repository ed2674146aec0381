import { globSync } from 'node:fs';
import { parseSync } from '@swc/core';
import { read, root } from './blocks.ts';

/** What the code logs at `warn` or above, and calls whose message could not be found. */
interface LoggedMessages {
  /** The levels of each message, in alphabetical order; `…` stands for what is put in at run time. */
  readonly messages: ReadonlyMap<string, readonly string[]>;
  /** Those of them that are warnings of a configuration. */
  readonly warnings: ReadonlySet<string>;
  /** Calls that log a message that the code there does not have: each as `file: code`. */
  readonly faults: readonly string[];
}

/** A node of the syntax tree. */
interface Node {
  readonly type: string;
  readonly [name: string]: unknown;
}

/** A file without any of these logs nothing, and need not be parsed. */
const mayLog = /\.(?:warn|error|fatal|write|failed)\b|\blog(?:ger)?\??\.?\[|\byield\b/i;

/** What can be seen at a place of the code, and what takes the messages that are found there. */
interface Scope {
  readonly file: string;
  /** The constants, with what they are set to. */
  readonly constants: ReadonlyMap<string, Node>;
  /** Whether `yield` yields a warning of a configuration. */
  readonly isWarnings: boolean;
  found(
    place: string,
    message: Node | undefined,
    levels: readonly string[],
    constants: Scope['constants'],
  ): void;
}

const loud = new Set(['warn', 'error', 'fatal']);
/** Levels that a function is given: those of OpenTelemetry's diagnostics, of which none is louder. */
const passed_along = ['warn'];
const isLog = (receiver: string): boolean => /^#?(?:log|logger|current)$/.test(receiver);

/** Things that are no logs, and have a method named `error`. */
const others = new Set(['renderer', '#renderer', 'writer', 'written', 'part', 'this']);

/** Methods that log a message which they are given: what they are called on, their name, and the number of that argument. */
const loggers = [
  { file: 'src/telemetry/throttled-log.ts', of: /./, name: 'write', at: 4, level: 2 },
  { file: 'src/cli/process-log.ts', of: /^#?log$/i, name: 'failed', at: 1, level: 'fatal' },
] as const;

/** Where the message is not the code's own: errors to clients, which the catalogue has; what any log is made of; warnings that are yielded elsewhere. */
const elsewhere = new Set([
  'src/gateway/exchange/log-error.ts',
  'src/telemetry/logger.ts',
  'src/mount/config-reloads.ts: warning',
  'src/mount/gateway.ts: warning',
  'src/mount/chain/create-chain.ts: warning',
]);

/** Reads every message that the sources log at `warn`, `error` or `fatal`. A call that is not understood is a fault, so that none is missed. */
export function loggedMessages(
  sources: ReadonlyMap<string, string> = new Map(
    globSync('{src,plugins}/**/*.ts', { cwd: root }).map(file => [file, read(file)]),
  ),
): LoggedMessages {
  const messages = new Map<string, readonly string[]>();
  const warnings = new Set<string>();
  const faults: string[] = [];
  for (const [file, code] of sources) {
    if (!mayLog.test(code)) continue;
    const found: Scope['found'] = (place, message, levels, constants) => {
      const texts = textsOf(message, constants);
      if (!texts && !isElsewhere(file, message)) faults.push(`${file}: ${place}`);
      for (const text of texts ?? []) {
        messages.set(text, [...new Set([...(messages.get(text) ?? []), ...levels])].toSorted());
        if (place === 'yield') warnings.add(text);
      }
    };
    const module = parseSync(code, { syntax: 'typescript', target: 'es2024' }) as unknown as Node;
    visit(module, { file, found, constants: new Map(constantsIn(module)), isWarnings: false });
  }
  return { messages, warnings, faults };
}

const asCode = (text: string): string => (text.includes('`') ? `\`\` ${text} \`\`` : `\`${text}\``);

/** The warnings of a configuration, as a list in Markdown. */
export const warningsList = (): string =>
  [...loggedMessages().warnings]
    .toSorted()
    .map(text => `- ${asCode(text)}`)
    .join('\n');

const troubles = 'docs/reference/troubleshooting.md';

/** The messages in the tables of the page about trouble, each with its levels there. */
export const explainedMessages = (page = read(troubles)): [message: string, levels: string][] => {
  const section = page.split('\n## By log message\n')[1]!.split('\n## ')[0]!;
  return [...section.matchAll(/^\| (`+)(.+?)\1 \| (.*?) \|/gm)].map(([, , text, levels]) => [text!, levels!]);
};

/** The messages that need no explanation, as a list in Markdown. */
export function otherMessagesList(): string {
  const { messages, warnings } = loggedMessages();
  const explained = new Set(explainedMessages().map(([text]) => text));
  return [...messages]
    .filter(([text]) => !warnings.has(text) && !explained.has(text))
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .map(([text, levels]) => `- ${asCode(text)} (${levels.join(', ')})`)
    .join('\n');
}

const isElsewhere = (file: string, message: Node | undefined): boolean =>
  elsewhere.has(file) ||
  elsewhere.has(`${file}: ${message?.value}`) ||
  loggers.some(logger => logger.file === file && message?.value === 'message');

function visit(node: Node, outer: Scope): void {
  const scope = isFunction(node) ? scopeOf(node, outer) : outer;
  if (node.type === 'CallExpression') visitCall(node, scope);
  if (node.type === 'YieldExpression' && scope.isWarnings && node.delegate !== true)
    scope.found('yield', node.argument as Node, ['warn'], scope.constants);
  for (const child of childrenOf(node)) visit(child, scope);
}

function visitCall(call: Node, { file, constants, found }: Scope): void {
  const callee = unwrapped(call.callee as Node);
  if (callee.type !== 'MemberExpression') return;
  const property = callee.property as Node;
  const [receiver, method] = [nameOf(callee.object as Node), nameOf(property)];
  const given = (call.arguments as readonly { expression: Node }[]).map(({ expression }) => expression);
  const loudest = (message: Node | undefined, levels: readonly string[] = passed_along) => {
    const heard = levels.filter(level => loud.has(level));
    if (heard.length > 0) found(`${receiver}.${method}(…)`, message, heard, constants);
  };
  const logger = loggers.find(({ name, at }) => name === method && given.length > at);
  const isChosen = property.type === 'Computed';
  if (logger && (logger.of.test(receiver) || file === logger.file)) {
    const { at, level } = logger;
    loudest(given[at], typeof level === 'string' ? [level] : textsOf(given[level], constants));
  } else if (isLog(receiver) && (isChosen || loud.has(method)))
    loudest(given[1] ?? given[0], isChosen ? textsOf(property.expression as Node, constants) : [method]);
  else if (loud.has(method) && !others.has(receiver)) loudest(undefined, [method]);
}

const isFunction = ({ type }: Node): boolean =>
  /^(?:(?:ArrowFunction|Function)Expression|FunctionDeclaration|Constructor)$/.test(type) ||
  /^(?:(?:Class|Private)Method|(?:Method|Getter|Setter)Property)$/.test(type);

function scopeOf(node: Node, outer: Scope): Scope {
  // Those of `sluice/testing` yield the faults of a stage or adapter.
  const { generator, returnType } = (node.function as Node | undefined) ?? node;
  const isWarnings =
    generator === true &&
    !outer.file.startsWith('src/testing/') &&
    /"value":"Generator".*"kind":"string"/.test(JSON.stringify(returnType));
  return { ...outer, isWarnings, constants: new Map([...outer.constants, ...constantsIn(node)]) };
}

/** The constants that a module or a function declares, without those of functions within. */
function* constantsIn(node: Node): Generator<[name: string, value: Node]> {
  for (const child of childrenOf(node)) {
    if (child.type === 'VariableDeclarator' && child.init)
      yield [nameOf(child.id as Node), child.init as Node];
    if (!isFunction(child)) yield* constantsIn(child);
  }
}

/** The texts that an expression may be; undefined if that cannot be read from the code. */
function textsOf(node: Node | undefined, constants: Scope['constants']): readonly string[] | undefined {
  if (node?.type === 'StringLiteral') return [node.value as string];
  if (node?.type === 'TemplateLiteral')
    return [(node.quasis as readonly { cooked: string }[]).map(({ cooked }) => cooked).join('…')];
  if (node?.type === 'ConditionalExpression') {
    const [one, other] = [node.consequent, node.alternate].map(each => textsOf(each as Node, constants));
    return one && other && [...one, ...other];
  }
  const value = node?.type === 'Identifier' ? constants.get(node.value as string) : undefined;
  return value && textsOf(value, new Map());
}

/** A call through `?.` is wrapped in a node of its own. */
const unwrapped = (node: Node): Node =>
  node.type === 'OptionalChainingExpression' ? unwrapped(node.base as Node) : node;

/** The last name of an expression: `log` of `this.#options.log`. */
function nameOf(node: Node): string {
  const inner = unwrapped(node);
  if (inner.type === 'ThisExpression') return 'this';
  if (inner.type === 'PrivateName') return `#${inner.value}`;
  if (inner.type === 'MemberExpression') return nameOf(inner.property as Node);
  if (inner.type === 'CallExpression') return nameOf(inner.callee as Node);
  if (inner.type === 'ParenthesisExpression' || inner.type === 'TsNonNullExpression')
    return nameOf(inner.expression as Node);
  return typeof inner.value === 'string' ? inner.value : inner.type;
}

/** The nodes directly below `value`, which may be a node or what a node consists of. */
function* childrenOf(value: object): Generator<Node> {
  for (const each of Object.values(value))
    if (typeof each !== 'object' || each === null) continue;
    else if (typeof (each as Node).type === 'string') yield each as Node;
    else yield* childrenOf(each);
}
