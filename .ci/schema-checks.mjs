/**
 * Makes `build/schema-checks.js` of the compiled modules: the checks of all request bodies and of the configuration as code, for
 * the bundle. Compiling those of requests would take 0.1 s of the first second of load; the configuration would be walked.
 */

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Build } from 'typebox/schema'

/** Returns the path of the module: imported before a gateway is created, it gives its checks to `compileCheck` and `matches`. */
export async function writeSchemaChecks (root) {
  const { endpointDocs } = await import(pathToFileURL(join(root, 'build/pipelines/index.js')).href)
  const { Config } = await import(pathToFileURL(join(root, 'build/schemas/config.js')).href)
  const { partsOf } = await import(pathToFileURL(join(root, 'build/lib/validation/compile-check.js')).href)
  const parts = [Config, ...endpointDocs.flatMap(({ request }) => request?.schema ?? [])].flatMap(partsOf)
  // Many requests have fields in common, of several hundred bytes to 50 KB each.
  const names = new Map()
  const list = parts.map(part => {
    const code = codeOf(Build(part))
    const name = names.get(code) ?? `check${names.size}`
    names.set(code, name)
    return name
  })
  const path = join(root, 'build/schema-checks.js')
  writeFileSync(path, [
    "import { Guard } from 'typebox/guard'",
    "import { useBuiltChecks } from './lib/validation/compile-check.js'",
    "import { endpointDocs } from './pipelines/index.js'",
    "import { Config } from './schemas/config.js'",
    ...[...names].map(([code, name]) => `function ${name} () {\n${code}\n}`),
    `useBuiltChecks([Config, ...endpointDocs.flatMap(({ request }) => request?.schema ?? [])], [${list.join(', ')}])\n`
  ].join('\n'))
  return path
}

/** Returns the body of a function that returns the check. */
function codeOf (build) {
  const { identifier, variables } = build.External()
  const other = variables.find(variable => !(variable instanceof RegExp))
  if (other !== undefined || build.UseUnevaluated()) throw new Error(`a check needs more than expressions: ${JSON.stringify(build.Schema())}`)
  return `const ${identifier} = [${variables.join(', ')}]\n${build.Functions().join('\n')}\nreturn value => ${build.Entry()}`
}
