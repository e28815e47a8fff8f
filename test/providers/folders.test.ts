/** Keeps the provider folders alike: who has read one finds everything in the next. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parse, type ObjectExpression, type Program } from 'acorn'
import { full } from 'acorn-walk'
import t from 'tap'

const providers = join(import.meta.dirname, '../../lib/providers')
const folders = readdirSync(providers, { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .map(({ name }) => name)

/**
 * The files of a chat API by role, each with the function or class it begins with, if that has a fixed name.
 */
const parts: Readonly<Record<string, string | undefined>> = {
  index: undefined,
  'chat-request': 'chatRequest',
  'chat-response': 'readResponse',
  'chat-stream': 'readStream',
  'chat-traits': 'chatTraits',
  content: undefined,
  errors: 'readError',
  'finish-reason': 'finishReasonOf',
  messages: 'wireConversation',
  'model-list': undefined,
  'response-reader': 'ResponseReader',
  'service-tier': undefined,
  'text-message': undefined,
  thinking: undefined,
  'tool-call-id': undefined,
  'tool-calls': undefined,
  tools: 'toolFields',
  usage: undefined,
  wire: undefined
}

/**
 * Capabilities beside chat: a file with the adapter and, for long ones, a file for the request and one for
 * streams.
 */
const capabilities = new Set([
  'deferred',
  'embeddings',
  'images',
  'image-edits',
  'image-response',
  'image-stream',
  'moderations',
  'ocr',
  'speech',
  'transcription',
  'transcription-response',
  'transcription-traits',
  'text-completion',
  'token-count'
])

/** Files for features of one provider alone. */
const particular: Readonly<Record<string, readonly string[]>> = {
  anthropic: ['cache-control', 'direct', 'property-names'],
  'chat-completions': ['schema-as-instruction', 'text-choice'],
  responses: ['direct'],
  google: ['camel-keys', 'generation-config', 'logprobs', 'schema'],
  openai: ['typed-stream']
}

/** The members of an adapter in order; their functions come in the same order. */
const members = ['directDialects', 'request', 'read', 'error', 'deleteResponse', 'split', 'join', 'fetch']

const files = folders.flatMap(folder =>
  readdirSync(join(providers, folder))
    .filter(name => name.endsWith('.js'))
    .map(name => ({
      folder,
      name: basename(name, '.js'),
      program: parse(readFileSync(join(providers, folder, name), 'utf8'), {
        ecmaVersion: 'latest',
        sourceType: 'module'
      })
    }))
)

interface Declared {
  readonly name: string
  readonly exported: boolean
}

/** Returns the top-level functions and classes of a file, in order. */
function declaredIn ({ body }: Program): Declared[] {
  return body.flatMap(statement => {
    const exported = statement.type === 'ExportNamedDeclaration'
    const declaration = exported ? statement.declaration : statement
    if (declaration?.type !== 'FunctionDeclaration' && declaration?.type !== 'ClassDeclaration') return []
    return [{ name: declaration.id.name, exported }]
  })
}

/** Returns the objects that have the members of every adapter. */
function adaptersIn (program: Program): ObjectExpression[] {
  const found: ObjectExpression[] = []
  full(program, node => {
    if (
      node.type === 'ObjectExpression' &&
      ['request', 'error'].every(name => memberNames(node).includes(name))
    ) {
      found.push(node)
    }
  })
  return found
}

function memberNames ({ properties }: ObjectExpression): string[] {
  return properties.flatMap(property =>
    property.type === 'Property' && property.key.type === 'Identifier' ? [property.key.name] : []
  )
}

t.test('files with the same role have the same name in every folder', async t => {
  t.ok(files.length > 60, `${files.length} files`)
  const others = files.filter(
    ({ folder, name }) =>
      !(name in parts) && !capabilities.has(name) && particular[folder]?.includes(name) !== true
  )
  t.same(
    others.map(({ folder, name }) => `${folder}/${name}`),
    [],
    'named otherwise in this test, or to be listed in it'
  )
  const gone = Object.entries(particular).flatMap(([folder, names]) =>
    names.filter(name => !existsSync(join(providers, folder, `${name}.js`)))
  )
  t.same(gone, [], 'listed here and not there')
})

t.test('every folder has an index with its adapters', async t => {
  for (const folder of folders.filter(name => name !== 'chat-completions' && name !== 'responses')) {
    const text = readFileSync(join(providers, folder, 'index.js'), 'utf8')
    const name = folder.replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase())
    t.match(text, new RegExp(`export (?:const|function) ${name}Adapters\\b`), folder)
  }
})

t.test('a file begins with its main export', async t => {
  for (const { folder, name, program } of files) {
    const declared = declaredIn(program)
    const main = parts[name]
    if (main !== undefined && declared.length > 0) t.equal(declared[0]?.name, main, `${folder}/${name}`)
    const [first] = declared
    if (
      first !== undefined &&
      adaptersIn(program).length === 0 &&
      declared.some(({ exported }) => exported)
    ) {
      t.ok(first.exported, `${folder}/${name}: ${first.name} serves what comes after it`)
    }
  }
})

t.test('adapters list their members in one order, and functions follow in it', async t => {
  let adapters = 0
  for (const { folder, name, program } of files) {
    const order = declaredIn(program).map(({ name }) => name)
    for (const adapter of adaptersIn(program)) {
      adapters++
      const names = memberNames(adapter)
      t.same(
        names,
        members.filter(member => names.includes(member)),
        `${folder}/${name}`
      )
      const used = adapter.properties.flatMap(property =>
        property.type === 'Property' ? [functionsIn(property)] : []
      )
      const first = used
        .map(functions => order.findIndex(declared => functions.has(declared)))
        .filter(position => position !== -1)
      t.same(
        first,
        first.toSorted((a, b) => a - b),
        `${folder}/${name}: ${order.join(', ')}`
      )
    }
  }
  t.ok(adapters > 12, `${adapters} adapters`)
})

function functionsIn (node: Parameters<typeof full>[0]): Set<string> {
  const names = new Set<string>()
  full(node, inner => { if (inner.type === 'Identifier' && 'name' in inner) names.add(inner.name) })
  return names
}

t.test('no adapter member only throws', async t => {
  for (const { folder, name, program } of files) {
    for (const adapter of adaptersIn(program)) {
      for (const property of adapter.properties) {
        if (
          property.type !== 'Property' ||
          property.value.type !== 'ArrowFunctionExpression' ||
          property.value.body.type !== 'BlockStatement'
        ) {
          continue
        }
        t.not(property.value.body.body[0]?.type, 'ThrowStatement', `${folder}/${name}`)
      }
    }
  }
})
