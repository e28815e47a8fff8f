import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/**
 * The layers from bottom to top, as in the table of `lib/README.md`, with at most six folders each. A file
 * imports only from its own folder and from folders listed before it, types included, so folders form no
 * cycle.
 */
const layers: ReadonlyArray<readonly string[]> = [
  ['schemas', 'lib/net', 'lib/core'],
  ['lib/dashboard/page'],
  ['lib/async', 'lib/text', 'lib/json', 'lib/log', 'lib/pipeline'],
  ['lib/wire', 'lib/validation'],
  ['lib/chat', 'lib/embeddings', 'lib/images', 'lib/audio', 'lib/ocr'],
  ['lib/providers', 'lib/dialects', 'lib/guards'],
  ['lib/client', 'lib/sandbox', 'lib/local'],
  ['lib/stores', 'lib/models', 'lib/bodies', 'lib/usage', 'lib/coordination', 'lib/limits'],
  ['lib/routing', 'lib/attempts', 'lib/mcp', 'lib/telemetry', 'lib/cache', 'lib/exports'],
  ['lib/keys', 'lib/deferred', 'lib/dashboard', 'lib/config', 'lib/accounts', 'lib/import'],
  ['lib/alerts', 'lib/services.ts', 'lib/judges', 'lib/replies', 'lib/stages', 'pipelines'],
  ['lib/http', 'lib/create-services.ts', 'lib/gateway', 'lib/gateway.ts', 'lib/public'],
  ['lib/load', 'lib/apply', 'lib/process', 'lib/cli', 'lib/main.ts']
]

const order = layers.flat()

/** The dashboard page runs in the browser; the gateway only serves it. */
const page = /^lib\/dashboard\/page\//

/** Packages that belong to one place. */
const owners: Readonly<Record<string, RegExp>> = {
  '@opentelemetry/api': /^lib\/telemetry\//,
  '@opentelemetry/api-logs': /^lib\/telemetry\/otlp-logs/,
  '@opentelemetry/exporter-logs-otlp-http': /^lib\/telemetry\/otlp-logs/,
  '@opentelemetry/exporter-logs-otlp-proto': /^lib\/telemetry\/otlp-logs/,
  '@opentelemetry/exporter-metrics-otlp-http': /^lib\/telemetry\/otlp-metrics/,
  '@opentelemetry/exporter-metrics-otlp-proto': /^lib\/telemetry\/otlp-metrics/,
  '@opentelemetry/exporter-trace-otlp-http': /^lib\/telemetry\/call-tracer/,
  '@opentelemetry/exporter-trace-otlp-proto': /^lib\/telemetry\/call-tracer/,
  '@opentelemetry/resources': /^lib\/telemetry\/otlp-target/,
  '@opentelemetry/sdk-logs': /^lib\/telemetry\/otlp-logs/,
  '@opentelemetry/sdk-metrics': /^lib\/telemetry\/otlp-metrics/,
  '@opentelemetry/sdk-trace-base': /^lib\/telemetry\//,
  koa: /^lib\/http\/|^examples\/mounted-gateway/,
  '@koa/router': /^lib\/http\//,
  'koa-body': /^lib\/http\//,
  formidable: /^lib\/http\//,
  ajv: /^lib\/(?:validation\/load-ajv|config\/(?:check-shape|check-document)|judges\/own-module)/,
  'it-pipe': /^(?:pipelines|lib\/public)\//,
  typebox:
    /^(?:schemas|pipelines|lib\/(?:dashboard\/page|dialects|keys|stages|validation|config|models))\/|^lib\/wire\/(?:openapi|endpoint-doc)\.ts$/,
  undici: /^lib\/(?:client\/|mcp\/|net\/load-undici)/,
  pino: /^lib\/log\//,
  kysely: /^lib\/(?:alerts|exports|stores|keys|accounts|deferred|usage)\//,
  '@photostructure/sqlite': /^lib\/stores\//,
  '@modelcontextprotocol/client': /^lib\/mcp\//,
  'gpt-tokenizer': /^lib\/embeddings\/count-tokens/,
  'openid-client': /^lib\/accounts\//,
  '@simplewebauthn/server': /^lib\/accounts\//,
  ioredis: /^lib\/coordination\//,
  nodemailer: /^lib\/alerts\//,
  pg: /^lib\/stores\/postgres\//,
  tweetnacl: /^lib\/import\/litellm-decryption/,
  preact: page,
  '@preact/signals': page,
  uplot: page,
  yaml: /^lib\/config\//
}

interface Import { readonly from: string, readonly to: string, readonly typeOnly: boolean }

const files = ['lib', 'pipelines', 'schemas', 'examples'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => /\.tsx?$/.test(name))
    .map(name => join(folder, name)))

const imports: readonly Import[] = files.flatMap(from => {
  const text = readFileSync(join(root, from), 'utf8')
  const found = text.matchAll(
    /^(?:import|export) (type )?(?:[^'"\n]|\n(?!import))*?from '([^']+)'|\bimport\('([^']+)'\)/gm
  )
  return [...found].map(([, type, fixed, dynamic]): Import => {
    const to = fixed ?? dynamic ?? ''
    return {
      from,
      to: to.startsWith('.') ? relative(root, join(root, dirname(from), to)) : to,
      typeOnly: type !== undefined
    }
  })
})

function placeOf (path: string): string {
  return /^(?:schemas|pipelines|lib\/dashboard\/page(?=\/)|lib\/[^/]+)/.exec(path)?.[0] ?? path
}

function grouped (edges: readonly Import[]): Map<string, Import[]> {
  const groups = new Map<string, Import[]>()
  for (const edge of edges) groups.set(edge.from, [...groups.get(edge.from) ?? [], edge])
  return groups
}

const ours = /^(?:lib|pipelines|schemas)\//
const internal = imports.filter(({ from, to }) => ours.test(from) && ours.test(to))

/** Files that do the same job in several folders. */
const roles = [
  'add-names',
  'chat-request',
  'chat-response',
  'chat-stream',
  'chat-traits',
  'complete',
  'content',
  'direct',
  'encode',
  'errors',
  'field-name',
  'finish-reason',
  'fit',
  'index',
  'input',
  'insert-usage',
  'messages',
  'migrate',
  'open',
  'prune-usage',
  'replace-texts',
  'model-list',
  'response-reader',
  'rules',
  'schema',
  'sizes',
  'text-message',
  'text-places',
  'thinking',
  'tool-call-id',
  'tool-calls',
  'tools',
  'transport',
  'usage',
  'wire',
  'provider-uses'
]

/** Words that name both a provider and a command or folder of ours. */
const subjects = ['embeddings', 'images', 'keys', 'ocr', 'route', 'speech', 'token-count']

const roleNames = new Set([...roles, ...subjects])

function printed (list: readonly Import[]): string[] {
  return list.map(({ from, to, typeOnly }) => `${from} imports ${typeOnly ? 'types of ' : ''}${to}`)
}

/** Returns one cycle of imports for each group of files that import one another. */
function findCircles (edges: readonly Import[]): string[] {
  const next = grouped(edges)
  const done = new Set<string>()
  const circles: string[] = []
  const visit = (file: string, path: readonly string[]): void => {
    if (path.includes(file)) {
      circles.push([...path.slice(path.indexOf(file)), file].join(' → '))
      return
    }
    if (done.has(file)) return
    for (const { to } of next.get(file) ?? []) visit(to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) visit(file, [])
  return circles
}

t.test('the imports of every file are found', async t => {
  const counts = imports.reduce((sum, { to }) => sum + (ours.test(to) ? 1 : 0), 0)
  const inText = files.reduce(
    (sum, file) =>
      sum +
      (readFileSync(join(root, file), 'utf8').match(/^(?:import|export|\}).* from '\.{1,2}\//gm)?.length ??
        0),
    0
  )
  t.ok(counts >= inText && inText > 1000, `${counts} imports of ${inText} lines`)
})

/** Returns a chapter of a document. */
function chapterOf (page: string, title: string): string {
  const start = page.indexOf(`## ${title}\n`)
  const end = page.indexOf('\n## ', start)
  return page.slice(start, end === -1 ? undefined : end)
}

t.test('every folder has a layer, and every layer at most six folders', async t => {
  const places = new Set(files.filter(file => ours.test(file)).map(placeOf))
  t.same([...places].filter(place => !order.includes(place)), [], 'folders and files to list in this test')
  t.same(order.filter(place => !places.has(place)), [], 'entries of this test without a folder')
  t.same(layers.filter(layer => layer.length > 6), [])
})

t.test('lib/README.md lists the folders in this order', t => {
  const readme = readFileSync(join(root, 'lib/README.md'), 'utf8')
  const table = chapterOf(readme, 'Folders')
  const rows = table.matchAll(/^\|[^|]*\|([^|]*`[^|]*)\|/gm)
  const named = [...rows].flatMap(([, cell = '']) => [...cell.matchAll(/`([^`]+?)\/?`/g)].map(([, name = '']) => (
    name === 'schemas' || name === 'pipelines' ? name : `lib/${name}`
  )))
  t.same(named, order)
  t.end()
})

t.test('lib/README.md lists at most eight tricks, each with a test', async t => {
  const rows = chapterOf(readFileSync(join(root, 'lib/README.md'), 'utf8'), 'Tricks')
    .matchAll(/^\|[^|]*\|([^|]*`[^|]*)\|/gm)
  const tricks = [...rows].map(([, cell = '']) => [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
  t.ok(tricks.length > 0 && tricks.length <= 8, `${tricks.length} tricks`)
  const places = tricks.flat().flatMap(name => [`lib/${name}.ts`, `test/${name}.test.ts`])
  t.same(places.filter(place => !existsSync(join(root, place))), [])
})

t.test('only the files that assemble the gateway are directly in lib', async t => {
  const loose = readdirSync(join(root, 'lib'), { withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(({ name }) => name)
  t.same(loose.toSorted(), [
    'CHAT-CALL.md',
    'FEATURES.md',
    'README.md',
    'RECIPES.md',
    'RERANK.md',
    'create-services.ts',
    'gateway.ts',
    'main.ts',
    'services.ts'
  ])
})

t.test('imports point down', async t => {
  t.same(
    printed(internal.filter(({ from, to }) => order.indexOf(placeOf(to)) > order.indexOf(placeOf(from)))),
    []
  )
})

t.test('there are no circular imports, types included', async t => {
  t.same(
    findCircles([
      { from: 'a', to: 'b', typeOnly: true },
      { from: 'b', to: 'a', typeOnly: false }
    ]),
    ['a → b → a']
  )
  t.same(findCircles(internal), [])
})

t.test('core imports only core and the types of schemas', async t => {
  const other = imports.filter(
    ({ from, to, typeOnly }) =>
      from.startsWith('lib/core/') &&
      !to.startsWith('lib/core/') &&
      !((typeOnly && to.startsWith('schemas/')) || sharedData.has(to))
  )
  t.same(printed(other), [])
})

/** Plain data of schemas, and the form of lists in queries, which the page imports too. */
const sharedData = new Set([
  'schemas/admin/item-list.ts',
  'schemas/config/counted-limits.ts',
  'schemas/billed-units.ts',
  'schemas/admin/scope-names.ts',
  'schemas/endpoints.ts'
])

t.test(
  'the dashboard page and the gateway share only types and plain data of schemas',
  async t => {
    const shared = internal.filter(({ from, to, typeOnly }) =>
      page.test(from)
        ? !page.test(to) && !((typeOnly && to.startsWith('schemas/')) || sharedData.has(to))
        : page.test(to)
    )
    t.same(printed(shared), [])
  }
)

t.test('a package is imported only where it belongs', async t => {
  const astray = imports.filter(({ from, to }) => {
    const name = to.startsWith('@') ? to.split('/', 2).join('/') : to.split('/', 1)[0] ?? ''
    return owners[name]?.test(from) === false
  })
  t.same(printed(astray), [])
})

t.test('a provider imports no other provider', async t => {
  const folder = /^lib\/providers\/([^/]+)\//
  const astray = imports.filter(({ from, to }) => {
    const [mine, theirs] = [folder.exec(from)?.[1], folder.exec(to)?.[1]]
    return (
      mine !== undefined &&
      theirs !== undefined &&
      mine !== theirs &&
      theirs !== 'chat-completions' &&
      theirs !== 'responses'
    )
  })
  t.same(printed(astray), [])
})

t.test('files of the same name do the same job', async t => {
  const byName = grouped(
    files
      .filter(file => file.startsWith('lib/') && !page.test(file))
      .map(file => ({ from: basename(file, '.ts'), to: file, typeOnly: false }))
  )
  const twice = [...byName].filter(([name, list]) => list.length > 1 && !roleNames.has(name))
  t.same(
    twice.map(([, list]) => list.map(({ to }) => to)),
    [],
    'rename one, or list the name of its role in this test'
  )
  t.same(
    [...roleNames].filter(name => (byName.get(name)?.length ?? 0) < 2),
    [],
    'roles of this test that have at most one file'
  )
})

t.test('the environment is read in one place', async t => {
  const reading = files.filter(file =>
    /\bprocess\.env\b/.test(readFileSync(join(root, file), 'utf8').replace(/^\s*(?:\/?\*|\/\/).*$/gm, ''))
  )
  t.same(
    reading.filter(
      file => !page.test(file) && !/^(?:examples\/|lib\/main\.ts|lib\/(?:process|cli)\/)/.test(file)
    ),
    []
  )
})

t.test(
  'packages are pinned to one version each, and none runs an install script',
  async t => {
    const { dependencies, devDependencies, optionalDependencies, scripts } = JSON.parse(
      readFileSync(join(root, 'package.json'), 'utf8')
    ) as Record<string, Record<string, string>>
    const versions = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies })
    t.ok(versions.length > 10)
    for (const [name, version] of versions) t.match(version, /^\d+\.\d+\.\d+(-[\w.]+)?$/, name)
    for (const moment of ['preinstall', 'install', 'postinstall', 'prepare']) {
      t.notOk(moment in (scripts ?? {}), moment)
    }
  }
)
