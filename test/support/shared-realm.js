import { createRequire } from 'node:module';

const vm = createRequire(import.meta.url)('node:vm');
const { compileFunction, SourceTextModule, SyntheticModule } = vm;

/** What jest believes to be a context of its own. Code that it compiles for it runs in the process's own realm. */
export const realm = vm.createContext();

/** What V8 has compiled, by file. A worker compiles a file once, not once per test file. */
const functions = new Map();
const modules = new Map();

const within = context => (context === realm ? {} : { context });

/** A function of a module closes over nothing: what differs between test files are its arguments. An import of its own would be the first one's. */
vm.compileFunction = (code, parameters, { parsingContext, ...options }) => {
  if (parsingContext !== realm) return compileFunction(code, parameters, { parsingContext, ...options });
  const { filename } = options;
  const known = functions.get(filename);
  if (known?.code === code) return known.compiled;
  const compiled = compileFunction(code, parameters, options);
  if (!code.includes('import(')) functions.set(filename, { code, compiled });
  return compiled;
};

/** Does without the bytecode if V8 refuses it, which it does after a test has changed V8's flags. */
function CachedModule(code, { context, ...options }) {
  const own = { ...options, ...within(context) };
  const cachedData = modules.get(code);
  try {
    const module = new SourceTextModule(code, { ...own, cachedData });
    if (!cachedData) modules.set(code, module.createCachedData());
    return module;
  } catch (fault) {
    if (fault.code !== 'ERR_VM_MODULE_CACHED_DATA_REJECTED') throw fault;
    return new SourceTextModule(code, own);
  }
}
CachedModule.prototype = SourceTextModule.prototype;
vm.SourceTextModule = CachedModule;

vm.SyntheticModule = class extends SyntheticModule {
  constructor(names, evaluate, { context, ...options }) {
    super(names, evaluate, { ...options, ...within(context) });
  }
};
