/** Keeps `test/` a mirror of `lib/`: what a file does is found where the mirror says. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/**
 * Folders whose files are parts of one thing, which is tested as one: from recorded answers or from outside, with
 * the test where it is. A file of such a folder may have a test of its own beside it.
 */
const testedAsOne: Readonly<Record<string, readonly [test: string, reason: string]>> = {
  'dialects/responses': ['dialects/responses/input', 'a dialect: requests in, and what `encode` makes of the answers'],
  'providers/anthropic': ['providers/anthropic', 'an adapter: recorded responses in, events out'],
  'providers/azure-openai': ['providers/kinds', 'the chat-completions adapter at other paths'],
  'providers/chat-completions': ['providers/chat-completions', 'an adapter: recorded responses in, events out'],
  'providers/google': ['providers/google', 'an adapter: recorded responses in, events out'],
  'providers/mistral': ['pipelines/ocr', 'the one adapter for documents'],
  'providers/openai': ['pipelines/audio', 'adapters for media: forms and bytes as a fake provider sees and sends them, here and in pipelines/images'],
  'providers/xai': ['providers/xai', 'an adapter: recorded responses in, events out'],
  sandbox: ['sandbox/sandbox', 'a simulator: what it answers is what counts']
}

/** Files that are tested elsewhere. */
const elsewhere: Readonly<Record<string, readonly [test: string, reason: string]>> = {
  'cli/run-start': ['cli/start', 'the command, as the bundle has it'],
  'core/large-string': ['json/extract-large-strings', 'holds bytes and does nothing'],
  'create-services': ['gateway/routing', 'puts all services together'],
  'deferred/background-runs': ['pipelines/stored-responses', 'needs a store, a provider and a caller'],
  'deferred/detached-call': ['deferred/answer-task', 'runs the tasks that are tested there'],
  'deferred/fetch-completion': ['pipelines/deferred', 'needs a provider that defers, a store and two processes'],
  'dialects/messages/index': ['gateway/messages', 'names the parts of the dialect'],
  'dialects/chat-completions/index': ['pipelines/chat', 'names the parts of the dialect'],
  'stages/background': ['pipelines/stored-responses', 'needs a store, a provider and a caller'],
  'dialects/messages/direct-frames': ['dialects/messages/direct', 'prints what that test reads'],
  'providers/is-direct': ['gateway/messages', 'one comparison: what providers get shows it'],
  'stages/check-direct-scope': ['gateway/messages', 'needs a provider that speaks the dialect: what providers get shows it'],
  'embeddings/count-tokens': ['embeddings/measure-tokens', 'counts what could not be measured: one rule in two files'],
  'embeddings/token-worker': ['embeddings/token-counter', 'the thread of the counter'],
  gateway: ['gateway/failures', 'the gateway: each file of test/gateway and test/pipelines'],
  'wire/join-in-turns': ['http/parse-body', 'copies the pieces of a body'],
  'json/read-long-string': ['json/parse-in-turns', 'reads the long strings of the parser'],
  main: ['cli/start', 'starts a process'],
  'mcp/load-undici': ['mcp/agents', 'a require'],
  'process/compile-cache': ['process/start-bundle', 'a function of newer versions of Node.js'],
  'process/primary': ['process/start-workers', 'a process with workers']
}

const names = readdirSync(join(root, 'lib'), { recursive: true, encoding: 'utf8' })
  .filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts')).map(name => name.slice(0, -'.ts'.length))

/** Returns true for a module that runs something: types leave nothing behind, and tables no function. */
function behaves (name: string): boolean {
  const program = readFileSync(join(import.meta.dirname, `../lib/${name}.js`), 'utf8').replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, '')
  return /=>|\bfunction\b|\bclass\b/.test(program)
}

const isTested = (name: string): boolean => existsSync(join(root, 'test', `${name}.test.ts`))
const folderOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('/')))

const untested = names.filter(name => !isTested(name) && behaves(name))

t.test('every file that does something has a test at its place in the mirror', async t => {
  t.ok(names.length > 300, `${names.length} files`)
  const open = untested.filter(name => elsewhere[name] === undefined && testedAsOne[folderOf(name)] === undefined)
  t.same(open.map(name => `lib/${name}.ts has no test/${name}.test.ts`), [])
})

t.test('every exception is needed, and its test is there', async t => {
  t.same(Object.keys(elsewhere).filter(name => !untested.includes(name)), [], 'exceptions to remove from this test')
  t.same(Object.keys(testedAsOne).filter(folder => !untested.some(name => folderOf(name) === folder)), [], 'folders to remove from this test')
  t.same([...Object.values(elsewhere), ...Object.values(testedAsOne)].filter(([test]) => !isTested(test)).map(([test]) => test), [])
})
