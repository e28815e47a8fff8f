/**
 * Compiles the TypeScript of docs/embedding.md against the public modules, by their declarations in `build`,
 * as in a program that uses the package.
 */

import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { plainNode } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const document = readFileSync(join(root, 'docs/embedding.md'), 'utf8')
const snippets = [...document.matchAll(/```ts\n([^]*?)```/g)].map(([, snippet = '']) => snippet)

/** Each public name, with a module that exports it. */
const moduleOf = new Map(
  ['index', 'stages', 'pipelines', 'providers', 'schemas', 'config', 'testing'].flatMap(name => {
    const source = readFileSync(join(root, 'lib/public', `${name}.ts`), 'utf8')
    const module = name === 'index' ? 'headgate' : `headgate/${name}`
    return [...source.matchAll(/^export (?:(?:type )?\{([^}]*)\}|(?:async )?function (\w+))/gm)]
      .flatMap(([, list, name = '']) => list?.split(',') ?? name)
      .map(item => [item.trim().replace(/^type |^\w+ as /g, ''), module] as const)
  })
)

/** Names that the document uses without defining them, with their public types. */
const given = `
import type Koa from 'koa'
declare const settings: Settings
declare const keys: Keys
declare const log: Log
declare const services: Services
declare const app: Koa
declare const myMiddleware: Koa.Middleware
declare const myRoutes: Koa.Middleware
declare function shout (): Stage<Batch<ChatInput, ChatEvent>>
declare function myStage (): Stage<ValidCall<ChatInput>>
declare const headers: Record<string, string>
declare const baseUrl: string
declare const accounts: ReadonlyArray<{ readonly accessKey: string }>
`

/** Turns a snippet into a program: adds imports of public names, and replaces `…`. */
function programOf (snippet: string): string {
  const imports = [...snippet.matchAll(/^import .*$/gm)].join('\n')
  const body = snippet
    .replace(/^import .*$/gm, '')
    .replaceAll('…', 'undefined as never')
    // Entries of an object are not statements.
    .replace(/^\w+: [^]*/m, entries => `const options: Partial<GatewayOptions & Endpoint & Provider> = {\n${entries}}`)
  const code = `${given}export async function run (): Promise<void> {\n${body}\n}\n`
  const imported = new Set(imports.match(/\w+/g))
  const missing = [...new Set(code.match(/\w+/g))].filter(name => moduleOf.has(name) && !imported.has(name))
  return [imports, ...missing.map(name => `import { ${name} } from '${moduleOf.get(name)}'`), code].join('\n')
}

t.test('the examples compile against the public modules', async t => {
  t.ok(snippets.length > 8, 'there are examples')
  const dir = t.testdir()
  for (const [index, snippet] of snippets.entries()) {
    writeFileSync(join(dir, `snippet-${index}.ts`), programOf(snippet))
  }
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: join(root, 'tsconfig.json'),
      compilerOptions: {
        noEmit: true,
        incremental: false,
        rootDir: root,
        outDir: join(dir, 'out'), // with the configuration of the project its sources would be checked
        verbatimModuleSyntax: false, // types are imported like values
        noUncheckedIndexedAccess: false // not part of `strict`
      },
      include: ['snippet-*.ts'],
      exclude: []
    })
  )
  const printed = await new Promise<string>(resolve => {
    const [command, args] = plainNode(tsc, '-p', dir, '--pretty', 'false')
    execFile(command, args, (_error, stdout) => resolve(stdout)) // it exits with 2 if there are errors
  })
  t.equal(printed, '')
})
