/**
 * Keeps `test/` a mirror of `lib/` and `pipelines/`: each file with behaviour has its test at the mirrored
 * path, and each test there belongs to a file.
 */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

type Reasons = Readonly<Record<string, readonly [test: string, reason: string]>>

/** Files that only assemble or name things, or that run in a process or thread of their own. */
const elsewhere: Reasons = {
  'alerts/open-alerts': ['pipelines/admin/alerts', 'opens the alerts of a gateway'],
  'alerts/store-outage': ['alerts/alerts', 'sends what that test receives while the store is unreachable'],
  'bodies/body-rules': ['pipelines/admin/call-bodies', 'finds the rule of a project'],
  'bodies/print-body': ['bodies/call-capture', 'prints what is noted there'],
  'bodies/redaction': ['bodies/redact-json', 'the rules that are applied there'],
  'config/check-draft': ['pipelines/admin/configuration', 'what its route answers'],
  'config/live-configuration': [
    'pipelines/admin/configuration',
    'the file and the reloads that its routes show'
  ],
  'config/optional-packages': ['package/package', 'names the packages that are not installed there'],
  'config/plain-value': ['config/config-document', 'makes the values of the documents that are read there'],
  'coordination/scripts': ['limits/redis-counters', 'what Redis runs'],
  'create-services': ['gateway/routing', 'puts all services together'],
  'dashboard/link': ['cli/dashboard', 'an address'],
  'deferred/run-detached': ['deferred/answer-task', 'runs the tasks that are tested there'],
  'deferred/fetch-completion': ['stages/deferred/fetch-deferred', 'the fetches of the stage'],
  'deferred/until-stored': ['deferred/task-runner', 'stores the answers of the tasks there'],
  'dialects/chat-completions/index': ['pipelines/chat', 'names the parts of the dialect'],
  'dialects/messages/direct-frames': ['dialects/messages/direct', 'prints what that test reads'],
  'dialects/messages/index': ['pipelines/messages', 'names the parts of the dialect'],
  'dialects/responses/compaction': ['pipelines/responses', 'passes a request and its answer on'],
  'dialects/responses/direct-answer': [
    'dialects/responses/direct-printer',
    'replaces fields of the responses that are printed'
  ],
  'dialects/responses/sent-items': [
    'dialects/responses/direct',
    'the items of the requests that are made there'
  ],
  'dialects/responses/ping-counter': ['dialects/responses/encode', 'counts the pings that are sent there'],
  'dialects/responses/index': ['pipelines/responses', 'names the parts of the dialect'],
  'embeddings/count-tokens': [
    'embeddings/measure-inputs',
    'counts what could not be measured: one rule in two files'
  ],
  'embeddings/token-worker': ['embeddings/token-counter', 'the thread of the counter'],
  'exports/directory-destination': ['exports/usage-exports', 'a rename'],
  'exports/export-store': ['exports/usage-exports', 'the rows of the files that are written there'],
  'exports/open-exports': ['pipelines/admin/exports', 'opens the exports of a gateway'],
  'exports/export-window': ['exports/usage-exports', 'the windows of the files that are written there'],
  'exports/write-file': ['exports/usage-exports', 'writes the files that are read there'],
  'gateway/deferred-work': ['pipelines/deferred', 'runs the deferred calls of a gateway'],
  'gateway/optional-features': ['gateway/failures', 'opens what a configuration asks for'],
  gateway: ['gateway/failures', 'the gateway: each file of test/gateway and test/pipelines'],
  'ocr/pdf-reader': ['ocr/pdf', 'runs in a process that is started there'],
  'routing/learned-cooldowns': ['routing/routing-state', 'what it knows of others'],
  'guards/event-queue': ['guards/stream-filter', 'holds the events that wait there'],
  'guards/gathered-texts': ['guards/stream-judge', 'puts back what is judged there'],
  'guards/running-text': ['guards/stream-filter', 'the texts of the events that wait there'],
  'core/route': ['limits/named-budgets', 'says which models the budgets of that test mean'],
  'guards/guard-scope': ['guards/configured-guards', 'says which calls the guards of that test inspect'],
  'judges/judge-client': ['judges/webhook', 'asks the services of that test'],
  'judges/open-judges': ['gateway/own-modules', 'opens the guards of a gateway'],
  'keys/limiting-fields': ['pipelines/admin/keys', 'which fields members may change'],
  'cli/bench-report': ['cli/bench', 'prints what is measured there'],
  'load/answers': ['load/answer-check', 'the answers that are checked there'],
  'load/http-lanes': ['cli/bench', 'the lanes of the command'],
  'load/raw-server': ['load/simulated-provider', 'the HTTP of the provider'],
  'load/simulator-thread': ['load/simulated-provider', 'the thread of the provider'],
  'apply/change-plan': ['cli/apply', 'the plan that the command prints and carries out'],
  'apply/gateway-state': ['cli/apply', 'what the plan is compared with'],
  'apply/organisation-file': ['cli/apply', 'the file of the command'],
  'config/check-document': ['config/read-catalogue', 'checks the files that are read there'],
  'attempts/prepared-request': ['stages/provider-call', 'the requests of the stage'],
  'validation/form': ['stages/validate-form', 'parses the forms of that test'],
  'validation/body-check': ['stages/validate', 'checks the bodies of that test'],
  'deferred/delete-at-provider': ['pipelines/responses', 'one request to a provider'],
  'attempts/stream-pace': ['attempts/stream-response', 'watches the streams that are read there'],
  'usage/call-filter': ['pipelines/admin/usage', 'narrows what is summed and listed there'],
  'usage/call-timeline': ['usage/call-steps', 'reads what is printed there'],
  'usage/bodies-report': ['stores/call-body-store', 'reads what is stored there'],
  'usage/attempts-report': ['pipelines/admin/usage', 'the attempts at each provider'],
  'usage/calls-report': ['pipelines/admin/usage', 'the calls of a gateway'],
  'usage/window-sums': ['exports/usage-exports', 'sums up the windows of the files that are written there'],
  'usage/report-worker': ['pipelines/admin/usage', 'the thread of the reports'],
  'usage/usage-report': ['pipelines/admin/usage', 'the sums of a gateway'],
  'usage/watch-reports': ['alerts/alert-rules', 'reads what is decided on there'],
  'usage/usage-summary': ['pipelines/admin/usage', 'adds up what is read there'],
  'wire/openapi-headers': ['wire/openapi', 'a part of the document'],
  'wire/openapi-responses': ['wire/openapi', 'a part of the document'],
  'wire/openapi-schemas': ['wire/openapi', 'a part of the document'],
  'json/read-long-string': ['json/parse-in-slices', 'reads the long strings of the parser'],
  'keys/party-limits': ['pipelines/admin/keys', 'renames what the admin API sends'],
  'keys/key-poller': ['keys/key-store', 'reads what other processes wrote there'],
  'keys/key-rows': ['keys/key-store', 'reads what the store wrote'],
  'keys/loaded-keys': ['keys/key-store', 'the keys that are checked there'],
  'keys/spent-of': ['pipelines/admin/keys', 'the spending in its answers'],
  'keys/watched-parties': ['alerts/alert-rules', 'the keys and projects of the alerts there'],
  'keys/managed-keys': [
    'pipelines/admin/keys',
    'the keys of the store as the admin API shows and changes them'
  ],
  'text/parse-pattern': ['text/linear-pattern', 'reads the patterns that are searched for there'],
  main: ['cli/start', 'starts a process'],
  'net/load-undici': ['mcp/agents', 'a require'],
  'pipelines/conversation': [
    'pipelines/chat',
    'the stages that chat, messages and responses have in common: their tests'
  ],
  'stores/migrations/budget-steps': ['stores/migrations', 'a list of steps'],
  'stores/migrations/usage-steps': ['stores/migrations', 'a list of steps'],
  'stores/response-frames': ['stores/response-store', 'a part of the store of responses'],
  'stores/stored-conversations': ['stores/response-store', 'a part of the store of responses'],
  'stores/replaced-row': ['stores/insert-usage', 'says which rows are replaced there'],
  'stores/usage-rollups': ['stores/insert-usage', 'says what adds up there'],
  'stores/prune-rollups': ['stores/prune-usage', 'prunes beside the records'],
  'stores/open-database': ['stores/postgres', 'chooses an engine'],
  'providers/prompt-as-message': [
    'pipelines/text-completions',
    'sends what the chat adapters of every provider send'
  ]
}

/**
 * Folders whose small pure parts form one thing. Parts with rules of their own have their own tests; the
 * others are tested through what the whole makes of recorded bytes.
 */
const parts: Reasons = {
  accounts: ['pipelines/admin/users', 'users and what they administer: through the admin API'],
  'pipelines/admin': [
    'pipelines/admin/keys',
    'handlers of the admin API: through a gateway, here, in its other tests, and in pipelines/admin for every role'
  ],
  'dialects/responses/output': [
    'dialects/responses/output-items',
    'the items of an answer: events in, items and their events out'
  ],
  'dialects/text-completions': [
    'pipelines/text-completions',
    'a dialect of three events: what the official client reads and sends'
  ],
  'providers/anthropic': ['providers/anthropic', 'an adapter: recorded responses in, events out'],
  'providers/chat-completions': [
    'providers/chat-completions',
    'an adapter: recorded responses in, events out'
  ],
  'providers/google': ['providers/google', 'an adapter: recorded responses in, events out'],
  'providers/openai': [
    'pipelines/recordings',
    'adapters for media: forms and bytes as a fake provider sees and sends them, here, in pipelines/speech and pipelines/images'
  ],
  'providers/responses': ['providers/responses', 'an adapter: recorded responses in, events out'],
  'providers/xai': ['providers/xai', 'an adapter: recorded responses in, events out'],
  'stores/postgres': [
    'stores/postgres',
    'an engine of the store: what it does in its own way; the rest is in every test of the store'
  ],
  'stores/sqlite': ['stores/database', 'an engine of the store, which every test of the store runs'],
  sandbox: ['sandbox/answer', 'a simulator: what it answers, and that its adapter reads it']
}

/** Folders of tests that cover more than one source file. */
const subjects: ReadonlySet<string> = new Set([
  'bench',
  'clients',
  'cluster',
  'contract',
  'docs',
  'examples',
  'fuzz',
  'gateway',
  'package',
  'scaling',
  'support'
])

/** Tests of several files together, beside those of each. */
const together: Readonly<Record<string, string>> = {
  'cli/locked-store': 'every command that writes, while another process does',
  'config/example': 'the example of a configuration',
  'dashboard/page': 'the page, in a real browser',
  'dashboard/other-pages': 'pages of other origins, in a real browser',
  'dashboard/hostile-texts': 'texts of callers and providers on every page, in a real browser',
  'dashboard/widths': 'every page at the widths of screens, with the longest names',
  'http/openapi-conformance': 'answers of every endpoint, against the served document',
  'http/rights': 'who may call which endpoint',
  'http/wire-bodies': 'the bodies of every endpoint',
  'limits/added-limit': 'a limit that is added: a row is all that it takes',
  'limits/identity': 'what is left of a budget, in every set-up',
  'limits/jumping-clocks': 'what is left of a budget, in windows of any zone, where clocks jump',
  'limits/limits': 'the limits of a key, through a gateway',
  'limits/upgrade': 'a store and a Redis of an earlier version',
  'limits/money': 'what calls cost, and what a budget allows',
  'pipelines/chat-with-generators': 'pipelines with a generator at every place',
  'providers/anthropic': 'an adapter, from recorded responses',
  'providers/chat-completions': 'an adapter, from recorded responses',
  'providers/fold': 'streams of every adapter fold to their complete answers',
  'providers/folders': 'the names and the order of files of every adapter',
  'providers/google': 'an adapter, from recorded responses',
  'providers/responses': 'an adapter, from recorded responses',
  'providers/reported-servers': 'behaviour of servers and clients, from request to answer',
  'providers/sloppy-answers': 'answers of every adapter with one thing changed',
  'providers/sloppy-results': 'the same of all but conversations',
  'providers/strict-requests': 'requests of every adapter against the rules of its provider',
  'providers/work': 'the work of every adapter grows no faster than its input',
  'providers/xai': 'an adapter, from recorded responses',
  'routing/promise': 'a call succeeds when any of its models can',
  'attempts/accepted': 'what a provider has accepted is not sent again',
  'stores/insert-usage': 'both engines of the store',
  'stores/postgres': 'one engine of the store, on a server',
  'stores/prune-usage': 'both engines of the store',
  'usage/added-unit': 'a unit that is added: a row, a price and columns are all that it takes'
}

function modules (folder: string): string[] {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.ts') && !name.endsWith('.d.ts'))
    .map(name => name.slice(0, -'.ts'.length))
}

/** The dashboard page runs in browsers, which `test/dashboard` drives. */
const names = [
  ...modules('lib').filter(name => !name.startsWith('dashboard/page/')),
  ...modules('pipelines').map(name => `pipelines/${name}`)
]
const tests = modules('test')
  .filter(name => name.endsWith('.test'))
  .map(name => name.slice(0, -'.test'.length))

/** Returns true for a module with behaviour: types are erased at run time, and tables have no functions. */
function behaves (name: string): boolean {
  const place = name.startsWith('pipelines/') ? name : `lib/${name}`
  const program = readFileSync(join(import.meta.dirname, `../${place}.js`), 'utf8').replaceAll(
    /\/\*[^]*?\*\/|^\s*\/\/.*$/gm,
    ''
  )
  return /=>|\bfunction\b|\bclass\b/.test(program)
}

const isTested = (name: string): boolean => existsSync(join(root, 'test', `${name}.test.ts`))
const folderOf = (name: string): string => name.slice(0, Math.max(0, name.lastIndexOf('/')))
const isPart = (name: string): boolean => parts[folderOf(name)] !== undefined
const isAboutOne = (test: string): boolean => test.includes('/') && !subjects.has(test.split('/', 1)[0] ?? '')

const untested = names.filter(name => !isTested(name) && behaves(name))

t.test('every file with behaviour has a test at the mirrored path', async t => {
  t.ok(names.length > 300, `${names.length} files`)
  const open = untested.filter(name => elsewhere[name] === undefined && !isPart(name))
  t.same(open.map(name => `${name}.ts has no test/${name}.test.ts`), [])
})

t.test('every test at a mirrored path belongs to a file', async t => {
  const orphans = tests.filter(
    test => isAboutOne(test) && !names.includes(test) && together[test] === undefined
  )
  t.same(
    orphans.map(test => `test/${test}.test.ts has no ${test}.ts`),
    []
  )
})

t.test('stages, sinks and the HTTP layer have tests of their own, without exception', async t => {
  t.same(Object.keys(elsewhere).filter(name => /^(?:stages|replies|http)\//.test(name)), [])
})

t.test('every exception is needed, and its test exists', async t => {
  t.same(
    Object.keys(elsewhere).filter(name => !untested.includes(name)),
    [],
    'files to remove from this test'
  )
  t.same(
    Object.keys(parts).filter(folder => !untested.some(name => folderOf(name) === folder)),
    [],
    'folders to remove from this test'
  )
  t.same(
    Object.keys(together).filter(test => !tests.includes(test) || names.includes(test)),
    [],
    'tests to remove from this test'
  )
  t.same(
    [...Object.values(elsewhere), ...Object.values(parts)]
      .filter(([test]) => !isTested(test))
      .map(([test]) => test),
    []
  )
})
