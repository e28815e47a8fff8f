import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** The floor of each place, first match wins; a file imports from its own floor or lower ones. */
const floors: ReadonlyArray<readonly [RegExp, number]> = [
  [/^schemas\//, 0],
  [/^lib\/(?:cli\/|main\.ts|gateway\.ts|open-services\.ts|setup)/, 6],
  [/^lib\/http\//, 5],
  [/^pipelines\//, 4.5],
  [/^lib\/(?:stages|replies)\//, 4],
  [/^lib\/(?:config|keys|models|mcp|stores|telemetry|deferred|routing|usage|limits)\//, 3],
  [/^lib\/(?:upstream|config|services|safe-agent|body-queue|inflate|drains)\.ts$/, 3],
  [/^lib\/(?:chat|providers|images|audio|ocr|validation|embeddings)\//, 2],
  [/^lib\/(?:sse|multipart|openapi)\.ts$/, 2],
  [/^lib\/[a-z-]+\.ts$/, 1]
]

/** Packages that belong to one place. */
const owners: Readonly<Record<string, RegExp>> = {
  koa: /^lib\/http\//,
  '@koa/router': /^lib\/http\//,
  'koa-body': /^lib\/http\//,
  ajv: /^lib\/(?:stages\/validate|config\/|models\/catalogue)/,
  'it-pipe': /^(?:pipelines|examples)\//,
  typebox: /^(?:schemas|lib\/(?:stages|validation|config|models))\/|^lib\/openapi\.ts$/,
  undici: /^lib\/(?:upstream|safe-agent|mcp\/)/,
  pino: /^lib\/telemetry\//,
  kysely: /^lib\/(?:stores|keys|deferred|usage)\//,
  '@photostructure/sqlite': /^lib\/stores\//,
  '@modelcontextprotocol/client': /^lib\/mcp\//,
  'gpt-tokenizer': /^lib\/embeddings\/count-tokens/,
  yaml: /^lib\/config\//
}

interface Import { readonly from: string, readonly to: string, readonly typeOnly: boolean }

const files = ['lib', 'pipelines', 'schemas', 'examples'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts'))
    .map(name => join(folder, name)))

const imports: readonly Import[] = files.flatMap(from => {
  const text = readFileSync(join(root, from), 'utf8')
  const found = text.matchAll(/^(?:import|export) (type )?(?:[^'"\n]|\n(?!import))*?from '([^']+)'|\bimport\('([^']+)'\)/gm)
  return [...found].map(([, type, fixed, dynamic]): Import => {
    const to = fixed ?? dynamic ?? ''
    return { from, to: to.startsWith('.') ? relative(root, join(root, dirname(from), to)) : to, typeOnly: type !== undefined }
  })
})

function floorOf (path: string): number {
  const floor = floors.find(([pattern]) => pattern.test(path))?.[1]
  if (floor === undefined) throw new Error(`${path} stands on no floor`)
  return floor
}

const ours = /^(?:lib|pipelines|schemas)\//

t.test('imports point down', async t => {
  t.ok(imports.length > 300, 'imports are found')
  for (const { from, to, typeOnly } of imports) {
    if (!ours.test(from) || !ours.test(to)) continue
    // Types of services may be named below them: instances come as arguments.
    const allowed = typeOnly ? Math.max(3, floorOf(from)) : floorOf(from)
    if (floorOf(to) > allowed) t.fail(`${from} imports ${to}`)
  }
  t.pass('every import was looked at')
})

t.test('a package is imported where it belongs', async t => {
  for (const { from, to } of imports) {
    const name = to.startsWith('@') ? to.split('/', 2).join('/') : to.split('/', 1)[0] ?? ''
    const owner = owners[name]
    if (owner !== undefined && !owner.test(from)) t.fail(`${from} imports ${to}`)
  }
  t.pass('every import was looked at')
})

t.test('a provider knows no other provider', async t => {
  const folder = /^lib\/providers\/([^/]+)\//
  for (const { from, to } of imports) {
    const [mine, theirs] = [folder.exec(from)?.[1], folder.exec(to)?.[1]]
    if (mine === undefined || theirs === undefined || mine === theirs) continue
    if (theirs !== 'chat-completions') t.fail(`${from} imports ${to}`)
  }
  t.pass('every import was looked at')
})

t.test('the environment is read in one place', async t => {
  for (const file of files) {
    const reads = /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8').replace(/^\s*(?:\/?\*|\/\/).*$/gm, ''))
    if (reads && !/^(?:examples\/|lib\/main\.ts|lib\/cli\/)/.test(file)) t.fail(`${file} reads process.env`)
  }
  t.pass('every file was looked at')
})

t.test('packages are pinned to one version each, and nothing of ours runs when they are installed', async t => {
  const { dependencies, devDependencies, optionalDependencies, scripts } = JSON.parse(
    readFileSync(join(root, 'package.json'), 'utf8')
  ) as Record<string, Record<string, string>>
  const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
  t.ok(versions.length > 10)
  for (const [name, version] of versions) t.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
  for (const moment of ['preinstall', 'install', 'postinstall', 'prepare']) t.notOk(moment in (scripts ?? {}), moment)
})
