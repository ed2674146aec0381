import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { API, type Checker, type Symbol as CompilerSymbol, SymbolFlags } from 'typescript/unstable/sync';
import type { UserProject } from './user-project.ts';

/** A symbol that the package exports, or a member of one that is a type. */
export interface PublicSymbol {
  /** Such as `sluice/plugin Exchange.headers`. */
  readonly name: string;
  /** What editors show of it. */
  readonly documentation: string;
}

const modules = ['sluice', 'sluice/plugin', 'sluice/testing'];
const importOf = (module: string) => `export type * as named from '${module}';\n`;

/** The symbols that the package exports, as the compiler reads them from the declarations that are published. */
export function publicSymbols(project: UserProject): PublicSymbol[] {
  // The compiler's answers have real paths.
  const directory = realpathSync(project.directory);
  const files = new Map(modules.map((module, at) => [`module-${at}.ts`, importOf(module)]));
  project.write(files);
  const api = new API({ cwd: directory });
  try {
    const config = join(directory, 'tsconfig.json');
    const { checker } = api.updateSnapshot({ openProjects: [config] }).getProject(config)!;
    return [...files.keys()].flatMap((file, at) => {
      const named = checker.getSymbolAtPosition(join(directory, file), importOf('').indexOf('named'))!;
      return exportsOf(modules[at]!, checker.getAliasedSymbol(named), checker);
    });
  } finally {
    api.close();
  }
}

function exportsOf(module: string, symbol: CompilerSymbol, checker: Checker): PublicSymbol[] {
  return checker.getExportsOfModule(symbol).flatMap(exported => {
    const target = exported.flags & SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const name = `${module} ${exported.name}`;
    const members = checker.getPropertiesOfType(checker.getDeclaredTypeOfSymbol(target));
    return [
      { name, documentation: checker.getDocumentationCommentOfSymbol(target) },
      ...members.filter(isOwn).map(member => ({
        name: `${name}.${member.name}`,
        documentation: checker.getDocumentationCommentOfSymbol(member),
      })),
    ];
  });
}

/** Members of the language's own types, such as `Error.stack`, private ones and those named by a symbol are not the package's to document. */
const isOwn = ({ name, declarations }: CompilerSymbol): boolean =>
  !/^__[#@]/.test(name) && declarations.every(({ path }) => !/\/lib\.[\w.]+\.d\.ts$/.test(path));
