import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import t from 'tap'
import { superLinearParts } from './support/super-linear.ts'
import type { Literal, NewExpression } from 'acorn'

const root = join(import.meta.dirname, '../..')

/** Patterns built only from text of ours: of a schema, of the catalogue, or escaped. */
const computed = [
  'build/lib/cli/keys.js: lengthPattern',
  'build/lib/cli/keys.js: timePattern',
  'build/lib/config/read-catalogue.js: source',
  'build/lib/config/read-secrets.js: secretReference',
  "build/lib/guards/placeholder-filter.js: forms.join('|')", // made of pattern names: letters, digits and `_`
  'build/lib/models/catalogue.js: match',
  'build/lib/sandbox/tool-calling.js: `(?<![\\\\w-])${escaped(tool.name)}(?![\\\\w-])`',
  'build/lib/text/bounded-pattern.js: printNode(node)', // an operator's pattern, parsed and limited
  'build/lib/validation/explain/single-values.js: pattern',
  'build/lib/validation/fill-defaults.js: pattern'
]

interface Pattern { readonly place: string, readonly source: string, readonly flags: string }

const files = ['build/lib', 'build/pipelines', 'build/schemas'].flatMap(folder =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.js'))
    .map(name => join(folder, name)))

const patterns: Pattern[] = []
const others: string[] = []
for (const file of files) collect(file)

function collect (file: string): void {
  const text = readFileSync(join(root, file), 'utf8')
  full(parse(text, { ecmaVersion: 'latest', sourceType: 'module' }), node => {
    if (isLiteral(node) && node.regex) {
      patterns.push({ place: file, source: node.regex.pattern, flags: node.regex.flags })
    }
    if (!isConstruction(node) || node.callee.type !== 'Identifier' || node.callee.name !== 'RegExp') return
    const [argument] = node.arguments
    others.push(`${file}: ${text.slice(argument?.start, argument?.end)}`)
  })
}

function isLiteral (node: { readonly type: string }): node is Literal {
  return node.type === 'Literal'
}

function isConstruction (node: { readonly type: string }): node is NewExpression {
  return node.type === 'NewExpression'
}

/** Adds the patterns of JSON Schemas and of the catalogue, which are compiled unchanged. */
function collectFromData (place: string, value: unknown, seen = new Set()): void {
  if (typeof value !== 'object' || value === null || seen.has(value)) return
  seen.add(value)
  for (const [name, entry] of Object.entries(value)) {
    if (['pattern', 'match'].includes(name) && typeof entry === 'string')
      patterns.push({ place, source: entry, flags: 'u' })
    else collectFromData(place, entry, seen)
  }
}

t.test('every regular expression runs in linear time', async t => {
  for (const file of files.filter(name => name.startsWith('build/schemas/'))) {
    collectFromData(file, await import(join(root, file)))
  }
  collectFromData(
    'catalogue.json',
    JSON.parse(readFileSync(join(root, 'build/lib/models/catalogue.json'), 'utf8'))
  )
  t.ok(
    patterns.some(({ place, source }) => place === 'build/schemas/config.js' && source.startsWith('^(env:')),
    'patterns of schemas are found'
  )
  t.ok(
    patterns.some(({ place }) => place === 'catalogue.json'),
    'patterns of the catalogue are found'
  )
  t.ok(patterns.length > 150, 'literals are found')
  const wrong = patterns.flatMap(({ place, source, flags }) =>
    superLinearParts(source, flags).map(part => `${place}: /${source}/${flags}: ${part}`)
  )
  t.same(wrong, [])
})

t.test('no regular expression is built from outside text', async t => {
  t.same(others.toSorted(), computed)
})

t.test('the check finds patterns that backtrack or restart the search', async t => {
  for (const source of [
    '(a+)+$',
    '^\\s*a?\\s*$',
    '\\s+$',
    '[^@]+@',
    'count.*over',
    '(?:a|b)x*y*x*z',
    '(?=a*b)c',
    '"(.+)":'
  ]) {
    t.not(superLinearParts(source, '').length, 0, source)
  }
  for (const source of [
    '^a+b',
    '"[^"]*"',
    'a+',
    '\\s{0,100}$',
    '<\\w+>',
    '(?:id|key)=\\w+;',
    '^\\w+(?:-\\w+)*$'
  ]) {
    t.same(superLinearParts(source, ''), [], source)
  }
})
