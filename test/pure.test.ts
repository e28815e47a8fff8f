/**
 * Keeps adapters and dialects pure: they keep no state between calls, so no caller's answer depends on
 * another's.
 */

import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'acorn'
import { full } from 'acorn-walk'
import t from 'tap'
import type { AnyNode, Program, VariableDeclaration } from 'acorn'

const root = join(import.meta.dirname, '../..')

/** Values that a module may create once: they are read-only, or `changes` finds what mutates them. */
const constants = new Set(['Map', 'Set', 'RegExp', 'URL', 'PlaceTable'])
const changing = new Set([
  'set',
  'add',
  'delete',
  'clear',
  'push',
  'pop',
  'shift',
  'unshift',
  'splice',
  'sort',
  'reverse',
  'fill'
])

/** Returns what a module keeps between calls. */
function stateIn (source: string): string[] {
  const program: Program = parse(source, { ecmaVersion: 'latest', sourceType: 'module' })
  const found: string[] = []
  const names = new Set<string>()
  for (const statement of program.body) {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type === 'VariableDeclaration') readVariables(declared, names, found)
  }
  full(program, node => {
    if (node.type === 'PropertyDefinition' && node.static) found.push(`static ${nameOf(node.key)}`)
    const changed = changedBy(node)
    if (changed !== undefined && names.has(changed)) found.push(`changes ${changed}`)
  })
  return found
}

function readVariables (
  { kind, declarations }: VariableDeclaration,
  names: Set<string>,
  found: string[]
): void {
  for (const { id, init } of declarations) {
    const name = nameOf(id)
    names.add(name)
    if (kind !== 'const') found.push(`${kind} ${name}`)
    if (init?.type === 'NewExpression' && !constants.has(nameOf(init.callee))) {
      found.push(`new ${nameOf(init.callee)}`)
    }
    if (init?.type === 'CallExpression' && nameOf(init.callee) === 'memoized') found.push(`memoized ${name}`)
  }
}

/** Returns the name of the object that an expression mutates. */
function changedBy (node: AnyNode): string | undefined {
  if (
    node.type === 'CallExpression' &&
    node.callee.type === 'MemberExpression' &&
    changing.has(nameOf(node.callee.property))
  ) {
    return nameOf(node.callee.object)
  }
  if (node.type === 'AssignmentExpression' && node.left.type === 'MemberExpression') {
    return nameOf(node.left.object)
  }
  return undefined
}

function nameOf (node: AnyNode): string {
  return node.type === 'Identifier' ? node.name : node.type === 'PrivateIdentifier' ? `#${node.name}` : ''
}

t.test('modules of adapters and dialects keep no state between calls', async t => {
  const files = ['providers', 'dialects'].flatMap(folder => (
    readdirSync(join(root, 'build/lib', folder), { recursive: true, encoding: 'utf8' })
      .filter(name => name.endsWith('.js'))
      .map(name => join(folder, name))
  ))
  t.ok(files.length > 150, `${files.length} files`)
  const state = files.flatMap(file =>
    stateIn(readFileSync(join(root, 'build/lib', file), 'utf8')).map(what => `${file}: ${what}`)
  )
  t.same(state, [])
})

t.test('each way of keeping state is found', async t => {
  t.same(stateIn('const known = new Map(); export function f (a) { known.set(a, 1) }'), ['changes known'])
  t.same(stateIn('const known = {}; function f (a) { known[a] = 1 }'), ['changes known'])
  t.same(stateIn('const known = []; const f = a => known.push(a)'), ['changes known'])
  t.same(stateIn('let last; export function f (a) { last = a }'), ['let last'])
  t.same(stateIn('const scanner = new Scanner()'), ['new Scanner'])
  t.same(stateIn('const known = new WeakMap()'), ['new WeakMap'])
  t.same(stateIn('export const known = memoized(() => ({}))'), ['memoized known'])
  t.same(stateIn('class A { static last = undefined }'), ['static last'])
  t.same(
    stateIn(
      'const names = new Set(["a"]); class A { #b = new Map(); f () { this.#b.set(1, 2); const c = []; c.push(names) } }'
    ),
    []
  )
})
