import { parseSync } from '@swc/core';

/** One small bug: these bytes of the file in place of those from `start` to `end`. */
export interface Mutant {
  readonly start: number;
  readonly end: number;
  readonly text: string;
  readonly what: string;
}

interface Span {
  readonly start: number;
  readonly end: number;
}
type Node = { readonly type: string; readonly span: Span } & Readonly<Record<string, unknown>>;

const swapped: Readonly<Record<string, string>> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '&&': '||',
  '||': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
};
const swappedCalls: Readonly<Record<string, string>> = {
  'Math.max': 'Math.min',
  'Math.min': 'Math.max',
  'Math.ceil': 'Math.floor',
  'Math.floor': 'Math.ceil',
};

/** Every place of a TypeScript source at which one of the operators can put a bug, in the order of the file. */
export function mutantsOf(source: string): Mutant[] {
  const bytes = Buffer.from(source);
  // Spans count from all that was parsed in this process before; an empty statement in front tells where this file begins.
  const program = parseSync(`;${source}`, { syntax: 'typescript', target: 'es2024' });
  const base = program.body[0]!.span.start + 1;
  const mutants: Mutant[] = [];
  const textOf = ({ span }: Node) => bytes.subarray(span.start - base, span.end - base).toString();
  const put = ({ span }: Node, text: string, what: string) =>
    mutants.push({ start: span.start - base, end: span.end - base, text, what });
  for (const node of nodesOf(program)) for (const [text, what] of bugsOf(node, textOf)) put(node, text, what);
  return mutants.filter(({ start }) => start >= 0).sort((one, other) => one.start - other.start);
}

/** What can be put in place of a node. */
function bugsOf(node: Node, textOf: (node: Node) => string): [text: string, what: string][] {
  const part = (name: string) => textOf(node[name] as Node);
  switch (node.type) {
    case 'ExpressionStatement':
    case 'ThrowStatement':
      return [[';', 'statement removed']];
    case 'ReturnStatement':
      return node.argument ? [] : [[';', 'statement removed']];
    case 'IfStatement': {
      const rest = textOf(node).slice(textOf(node).indexOf(part('test')) + part('test').length);
      return [
        [`if (!(${part('test')})${rest.replace(/^\s*\)/, ')')}`, 'condition negated'],
        [`if (false${rest.replace(/^\s*\)/, ')')}`, 'condition never true'],
      ];
    }
    case 'ConditionalExpression':
      return [
        [`((${part('test')}) ? (${part('alternate')}) : (${part('consequent')}))`, 'branches exchanged'],
      ];
    case 'BinaryExpression': {
      const operator = node.operator as string;
      if (operator === '??') return [[part('left'), 'default removed']];
      const other = swapped[operator];
      return other === undefined
        ? []
        : [[`(${part('left')} ${other} ${part('right')})`, `${operator} to ${other}`]];
    }
    case 'AwaitExpression':
      return [[part('argument'), 'await removed']];
    case 'BooleanLiteral':
      return [[String(!node.value), 'boolean flipped']];
    case 'NumericLiteral':
      return (node.value as number) <= 2 ? [[String((node.value as number) + 1), 'number increased']] : [];
    case 'UpdateExpression': {
      const [from, to] = node.operator === '++' ? ['++', '--'] : ['--', '++'];
      return [[textOf(node).replace(from!, to!), `${from} to ${to}`]];
    }
    case 'MemberExpression': {
      const other = swappedCalls[textOf(node)];
      return other === undefined ? [] : [[other, `${textOf(node)} to ${other}`]];
    }
    default:
      return [];
  }
}

/** All nodes below `node` that run: types and imports do not. */
function* nodesOf(node: unknown): Generator<Node> {
  if (typeof node !== 'object' || node === null) return;
  if (Array.isArray(node)) {
    for (const element of node) yield* nodesOf(element);
    return;
  }
  const { type } = node as { type?: unknown };
  if (typeof type === 'string') {
    if (
      /^Ts|^Import|^Export(All|Named)/.test(type) &&
      type !== 'TsAsExpression' &&
      type !== 'TsNonNullExpression'
    )
      return;
    if ('span' in node) yield node as Node;
  }
  for (const [name, value] of Object.entries(node)) if (name !== 'span') yield* nodesOf(value);
}
