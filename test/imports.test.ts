import { readFileSync, readdirSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** The layer of each folder: a file imports from its own layer or lower ones, types included. */
const layers: Readonly<Record<string, number>> = {
  schemas: 0,
  'lib/core': 1,
  'lib/async': 1,
  'lib/text': 1,
  'lib/json': 1,
  'lib/wire': 2,
  'lib/validation': 2,
  'lib/chat': 2,
  'lib/images': 2,
  'lib/audio': 2,
  'lib/embeddings': 2,
  'lib/ocr': 2,
  'lib/providers': 2,
  'lib/sandbox': 2.5,
  'lib/local': 2.5,
  'lib/upstream': 3,
  'lib/routing': 3,
  'lib/models': 3,
  'lib/keys': 3,
  'lib/stores': 3,
  'lib/usage': 3,
  'lib/limits': 3,
  'lib/deferred': 3,
  'lib/mcp': 3,
  'lib/telemetry': 3,
  'lib/config': 3,
  'lib/services.ts': 3.5,
  'lib/stages': 4,
  'lib/replies': 4,
  pipelines: 4.5,
  'lib/http': 5,
  'lib/create-services.ts': 5.5,
  'lib/gateway.ts': 5.5,
  'lib/public': 5.5,
  'lib/process': 6,
  'lib/cli': 7,
  'lib/main.ts': 7
}

/** Packages that belong to one place. */
const owners: Readonly<Record<string, RegExp>> = {
  koa: /^lib\/http\//,
  '@koa/router': /^lib\/http\//,
  'koa-body': /^lib\/http\//,
  ajv: /^lib\/(?:stages\/validate|config\/|models\/catalogue)/,
  'it-pipe': /^(?:pipelines|lib\/public)\//,
  typebox: /^(?:schemas|lib\/(?:stages|validation|config|models))\/|^lib\/wire\/openapi\.ts$/,
  undici: /^lib\/(?:upstream|mcp)\//,
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

function layerOf (path: string): number {
  const place = /^(?:schemas|pipelines|lib\/[^/]+)/.exec(path)?.[0] ?? path
  const layer = layers[place]
  if (layer === undefined) throw new Error(`${path} is in no layer: list ${place} in this test`)
  return layer
}

const ours = /^(?:lib|pipelines|schemas)\//

t.test('imports point down', async t => {
  t.ok(imports.length > 300, 'imports are found')
  for (const { from, to } of imports) {
    if (!ours.test(from) || !ours.test(to)) continue
    if (layerOf(to) > layerOf(from)) t.fail(`${from} imports ${to}`)
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
    if (reads && !/^(?:examples\/|lib\/main\.ts|lib\/(?:process|cli)\/)/.test(file)) t.fail(`${file} reads process.env`)
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
