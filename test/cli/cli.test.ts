import { spawnSync } from 'node:child_process'
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { request } from 'undici'
import { minNodeVersion } from '../../lib/process/require-node.ts'
import { banner } from '../../lib/process/banner.ts'
import { run } from '../../lib/cli/run.ts'
import { localModels } from '../../lib/local/local-models.ts'
import { ask, childrenOf, launch, main, startGateway, type Ended } from '../support/headgate.ts'
import { plainNode } from '../support/plain-node.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'

/** Only what the test says: no provider of the machine that runs the tests is enabled. */
const bare = { PATH: process.env['PATH'] ?? '' }

/** A command that comes to an end by itself: the same as its own process, without starting one. */
async function headgate (t: Test, args: readonly string[], cwd = t.testdir()): Promise<Ended> {
  const out: string[] = []
  const error: string[] = []
  const code = await run(args, {
    env: bare, cwd, out: text => out.push(text), notice: text => out.push(text), error: text => error.push(text)
  })
  return { code, out: out.join('\n'), error: error.join('\n') }
}

t.test('prints its usage, and what was probably meant', async t => {
  t.match(await headgate(t, ['--help']), { code: 0, out: /Usage: headgate COMMAND[^]*doctor/, error: '' })
  t.match(await headgate(t, []), { code: 2, out: '', error: /Usage: headgate COMMAND/ })
  t.match(await headgate(t, ['strat']), { code: 2, error: /unknown command "strat". Did you mean "start"\?/ })
  for (const command of ['start', 'check', 'models', 'route', 'usage', 'doctor', 'tools']) {
    t.match(await headgate(t, [command, '--help']), { code: 0, out: new RegExp(`headgate ${command}`), error: '' })
  }
  t.match(await headgate(t, ['keys', '--help']), { code: 0, out: /headgate keys create --name NAME/ })
  t.match(await headgate(t, ['keys', 'crate']), { code: 2, error: /did you mean "create"/ })
  t.match(await launch(t, ['strat'], t.testdir()).ended, { code: 2, out: '', error: /unknown command/ }, 'as a process')
  t.match(await headgate(t, ['check', '--jsn']), { code: 2, error: /Unknown option '--jsn'\nSee [^]*check --help/ })
  t.match(await headgate(t, ['models', 'x']), { code: 2, error: /Unexpected argument 'x'\nSee / })
  t.match(await headgate(t, ['tools', 'list', 'a/b', '-c', 'none.yaml']), { code: 1, error: /^none.yaml {2}file not found/ })
  t.match(await headgate(t, ['tools', 'list', '--jsn']), { code: 2, error: /^headgate tools: Unknown option '--jsn'\nSee "headgate tools --help"/ })
})

t.test('an old Node gets a sentence instead of a syntax error', async t => {
  const manifest: { engines: { node: string } } = JSON.parse(await readFile(join(import.meta.dirname, '../../../package.json'), 'utf8'))
  t.equal(manifest.engines.node, `>=${minNodeVersion}`)
  const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "18.20.4" })'
  const [command, parameters] = plainNode('--import', old, main, '--version')
  const { status, stdout, stderr } = spawnSync(command, parameters, { encoding: 'utf8' })
  t.same({ status, stdout, stderr }, { status: 1, stdout: '', stderr: 'headgate: Node.js 20.20.0 or newer is required; this is 18.20.4.\n' })
})

t.test('check says which catalogue file is used and what is in it', async t => {
  const model = { id: 'openai/gpt-6', display_name: 'Six', description: 'Newer.', status: 'enabled', upstream_api: 'x', can: ['text'] }
  const directory = t.testdir({
    'headgate.yaml': 'catalogue: own.json',
    'own.json': JSON.stringify({ families: [], models: [model] }),
    'bad.yaml': 'catalogue: bad.json',
    'bad.json': JSON.stringify({ families: [], models: [{ ...model, id: 'x' }] })
  })
  t.match(await headgate(t, ['check'], directory), { code: 0, out: /catalogue: own\.json \(1 models, 0 families\)/ })
  t.match(await headgate(t, ['check', '-c', 'bad.yaml'], directory), { code: 1, error: /bad\.json:1:\d+ {2}models\[0\]\.id {2}must be/ })
})

t.test('check names every problem of a configuration with its place', async t => {
  const directory = t.testdir({
    'headgate.yaml': 'server:\n  prt: 1\nproviders:\n  sandbox: {}\n',
    'good.yaml': 'providers:\n  sandbox: {}\n',
    'odd.yaml': 'providers:\n  sandbox: {}\nroutes: {fast: [sandbox/eco]}\n'
  })
  t.match(await headgate(t, ['check'], directory), { code: 1, out: '', error: /headgate.yaml:2:3 .*did you mean .*port/ })
  const json = await headgate(t, ['check', '--json'], directory)
  t.equal(json.code, 1)
  t.match(JSON.parse(json.out), { ok: false, problems: [{ line: 2, path: 'server.prt', suggestion: 'port' }] })
  t.match(await headgate(t, ['check', '-c', 'good.yaml'], directory), { code: 0, out: /OK[^]*providers: sandbox/ })
  const odd = await headgate(t, ['check', '-c', 'odd.yaml'], directory)
  t.match(odd, { code: 0, out: /^Configuration OK\./, error: /^odd.yaml:3:17 {2}routes.fast\[0\] {2}warning: .*did you mean sandbox\/echo\?/ })
  const oddJson = await headgate(t, ['check', '-c', 'odd.yaml', '--json'], directory)
  t.match(JSON.parse(oddJson.out), { ok: true, warnings: [{ path: 'routes.fast[0]', suggestion: 'sandbox/echo' }] })
  t.equal(oddJson.error, '')
  t.match(await headgate(t, ['check', '-c', 'none.yaml'], directory), { code: 1, error: /none.yaml {2}file not found/ })
})

t.test('keys are created, listed and revoked, and printed only once', async t => {
  const directory = t.testdir()
  const made = await headgate(t, [
    'keys', 'create', '--name', 'ci', '--endpoints', 'chat', '--models', 'sandbox/*', '--expires', '30d', '--json',
    '--requests-per-minute', '60', '--tokens-per-minute', '100000', '--concurrent-calls', '8', '--budget', '20.5/month'
  ], directory)
  t.equal(made.code, 0)
  const { id, key }: { id: string, key: string } = JSON.parse(made.out)
  const list = await headgate(t, ['keys', 'list', '--json'], directory)
  t.match(JSON.parse(list.out), [
    { id, name: 'ci', status: 'active', endpoints: ['chat'], models: ['sandbox/*'], expiresAtMs: Number, limits: { requestsPerMinute: 60, tokensPerMinute: 100_000, concurrentCalls: 8, budget: { usd: 20.5, per: 'month' } } }
  ])
  t.notMatch(list.out, key)
  t.match(made.error, `warning: created a new store at ${join(directory, '.headgate/headgate.db')}. Only a gateway`)
  const second = await headgate(t, ['keys', 'create', '--name', 'second', '--requests-per-minute', '7', '--tokens-per-minute', '8', '--concurrent-calls', '9', '--mcp-servers', 'acme/tickets,acme/files', '--mcp-servers', 'b/c', '--no-mcp-urls'], directory)
  t.equal(second.error, '', 'the store is there by now')
  t.match(await headgate(t, ['keys', 'list'], directory), { out: /second .*requests_per_minute=7,tokens_per_minute=8,concurrent_calls=9 +all +all +acme\/tickets,acme\/files,b\/c +no$/m })
  t.match(JSON.parse((await headgate(t, ['keys', 'list', '--json'], directory)).out), [
    {}, { name: 'second', mcpServers: ['acme/tickets', 'acme/files', 'b/c'], mcpUrls: false }
  ])
  t.match(await headgate(t, ['keys', 'create', '--name', 'ci'], directory), { code: 1, error: /a key named "ci" already/ })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 0, out: new RegExp(id) })
  t.match(await headgate(t, ['keys', 'revoke', 'ci'], directory), { code: 1, error: /no active key/ })
  t.match(await headgate(t, ['keys', 'list'], directory), { code: 0, out: /ci +revoked +\S+ +requests_per_minute=60,tokens_per_minute=100000,concurrent_calls=8,budget=20.5\/month +chat/ })
})

t.test('keys with invalid options are not created', async t => {
  const directory = t.testdir()
  const invalid = [
    ['--expires', 'soon'], ['--expires', '2001-01-01'], ['--expires', '2099-02-31'], ['--endpoints', 'cha'], ['--models', 'openai/gpt-*'], ['--models', ''], ['--mcp-servers', 'tickets'],
    ['--requests-per-minute', '0'], ['--tokens-per-minute', 'many'], ['--concurrent-calls', '1.5'], ['--budget', '20'], ['--budget', '0/day'], ['--budget', '5/year']
  ]
  for (const args of [[], ['--name', ' '], ...invalid.map(options => ['--name', 'a', ...options])]) {
    t.equal((await headgate(t, ['keys', 'create', ...args], directory)).code, 2, args.join(' '))
  }
  t.match(await headgate(t, ['keys', 'create', '--name', 'a', '--endpoints', 'ebmeddings'], directory), {
    error: /unknown endpoint "ebmeddings"; did you mean "embeddings"\?/
  })
  t.notOk(existsSync(join(directory, '.headgate')), 'the store was not even opened')
})

t.test('models lists what callers can use', async t => {
  const { code, out } = await headgate(t, ['models', '--json'])
  t.equal(code, 0)
  t.match(JSON.parse(out), [{ id: 'sandbox/echo', status: 'enabled' }])
  t.match(await headgate(t, ['models']), { code: 0, out: /^MODEL[^]*\nsandbox\/echo +enabled +text/ })

  const directory = t.testdir({ 'headgate.yaml': 'providers:\n  here: {kind: local}\n' })
  const local = await headgate(t, ['models', '--json'], directory)
  const listed: Array<{ id: string }> = JSON.parse(local.out)
  const able = await localModels('here')
  t.same(listed.map(({ id }) => id).toSorted(), able.map(({ id }) => id).toSorted(), 'what programs of this machine can do')

  const away = t.testdir({ 'headgate.yaml': 'providers:\n  gone: {base_url: "http://127.0.0.1:1", list_models: true}\n' })
  t.match(await headgate(t, ['models'], away), {
    code: 0, error: /^gone {2}warning: failed to read the model list of a provider: The provider could not be reached\. \(connect ECONNREFUSED 127\.0\.0\.1:1\)$/
  })
})

t.test('route prints which models a call would use, and why', async t => {
  const directory = t.testdir({
    'headgate.yaml': `models:
  sandbox/echo: {attributes: {speed: 0.9, intelligence: 0.2}}
  sandbox/thinker: {attributes: {speed: 0.1, intelligence: 0.8}}
routes: {shared: {strategy: cheapest, models: [sandbox/echo, sandbox/painter]}}`
  })
  const list = ['route', 'sandbox/echo', 'thinker', '--attributes', 'complexity=0.8,efficiency=.1']
  const { code, out } = await headgate(t, [...list, '--json'], directory)
  t.equal(code, 0)
  t.match(JSON.parse(out), {
    object: 'route.decision',
    requested: 'sandbox/echo, thinker',
    candidates: [
      { rank: 1, model: 'sandbox/thinker', provider: 'sandbox', state: 'ready', score: 1, reason: 'score=1.00' },
      { rank: 2, model: 'sandbox/echo' }
    ]
  })
  t.match(await headgate(t, list, directory), { code: 0, out: /^RANK +MODEL +STATE +REASON\n1 +sandbox\/thinker +ready +score=1\.00\n2 +sandbox\/echo +ready +score=0\.33/ })
  t.match(await headgate(t, ['route', 'shared'], directory), { code: 0, out: /1 +sandbox\/echo +ready +price=0\.00/ })
  t.match(await headgate(t, ['route'], directory), { code: 2, error: /a model is required/ })
  t.match(await headgate(t, ['route', 'thinkr'], directory), { code: 1, error: /^headgate route: The model `thinkr` does not exist.*Did you mean/ })
  for (const wrong of ['speed', 'speed=2', 'speed=x', '=1', 'a=0.5,']) {
    t.match(await headgate(t, ['route', 'thinker', '--attributes', wrong], directory), { code: 2, error: /must be names with numbers from 0 to 1/ }, wrong)
  }
})

t.test('route sends no request, not even for the models of a provider', async t => {
  let requests = 0
  const upstream = await fakeUpstream(() => {
    requests++
    return { headers: { 'content-type': 'application/json' }, pieces: ['{"data":[{"id":"m"}]}'] }
  })
  t.teardown(upstream.close)
  const directory = t.testdir({ 'headgate.yaml': `providers: {listed: {kind: openai-compatible, base_url: '${upstream.url}/v1', list_models: true}}` })
  t.match(await headgate(t, ['route', 'listed/m'], directory), { code: 0, out: /1 +listed\/m +ready/ })
  t.match(await headgate(t, ['route', 'm'], directory), { code: 1, error: /does not exist/ })
  t.equal(requests, 0)
})

t.test('doctor reports each provider, and leaves nothing behind', async t => {
  const upstream = await fakeUpstream(({ path }) => path === '/v1/models'
    ? { headers: { 'content-type': 'application/json' }, pieces: ['{"data":[{"id":"m"}]}'] }
    : { status: 401, pieces: ['{}'] })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `providers:
  good: {base_url: '${upstream.url}/v1'}
  locked: {base_url: '${upstream.url}/other'}
  gone: {base_url: 'http://127.0.0.1:1'}
`
  })
  const { code, out } = await headgate(t, ['doctor', '--json'], directory)
  t.equal(code, 1, 'two providers fail')
  const report: { findings: Array<{ about: string, state: string, text: string }> } = JSON.parse(out)
  const found = new Map(report.findings.map(finding => [finding.about, finding]))
  t.match(found.get('good'), { state: 'ok', text: /^answered in \d+ ms with 1 models$/ })
  t.match(found.get('locked'), { state: 'problem', text: /status 401/ })
  t.match(found.get('gone'), { state: 'problem', text: /could not be reached.*ECONNREFUSED/ })
  t.match(found.get('keys'), { state: 'note' })
  t.notOk(existsSync(join(directory, '.headgate')))
  const alone = await headgate(t, ['doctor'])
  t.match(alone, { code: 0, out: /only the simulator is enabled; for others set [^]*GEMINI_API_KEY/ })
  t.notMatch(alone.out, 'GOOGLE_API_KEY', 'another name for the same provider')
  const local = await headgate(t, ['doctor'], t.testdir({ 'headgate.yaml': 'providers:\n  local:\n' }))
  const spoilt = t.testdir({ '.headgate': { 'headgate.db': 'this is no database' } })
  t.match(await headgate(t, ['doctor'], spoilt), { code: 1, out: /^problem +store +The store \S+ cannot be used: file is not a database\.$/m })
  t.match(local, { code: 0, out: /local +tesseract is .+, pdftoppm is .+, espeak-ng is / })
})

t.test('the first start creates a key, prints it once and shows how to try it', async t => {
  const directory = t.testdir()
  const first = await startGateway(t, directory)
  const [, key = ''] = await first.line(/not shown again\): (hg_\S+)$/)
  t.match(await ask(first.url, key), { status: 200, body: { model: 'sandbox/echo' } })
  t.match(await ask(first.url, `${key}x`), { status: 401, body: { error: { code: 'invalid_api_key' } } })

  // The lines of the banner, as a shell would run them, less what a test does not need.
  const shown: string[] = []
  for (const pattern of [/^ {2}curl http.*"Say hello/, /^ {2}curl -N .*"stream":true/, /^ {2}curl .*"tools":\[/]) {
    shown.push((await first.line(pattern)).input)
  }
  for (const line of shown) {
    const [, url = '', authorization = '', body = ''] = /curl (?:-N )?(\S+) -H "Authorization: ([^"]+)".* -d '(.*)'$/.exec(line) ?? []
    const answer = await request(url, { method: 'POST', body, headers: { authorization, 'content-type': 'application/json' } })
    t.equal(answer.statusCode, 200, line)
    await answer.body.text()
  }

  first.child.kill('SIGTERM')
  const { code, out } = await first.ended
  t.equal(code, 0)
  const log = out.split('\n').map((line): unknown => JSON.parse(line)) // nothing but the log
  t.match(log, [{ endpoint: 'chat', status: 200, provider: 'sandbox' }], 'calls are in the log')
  t.notMatch(JSON.stringify(log), key)

  const second = await startGateway(t, directory)
  await second.line(/Bearer \$HEADGATE_KEY"/)
  await second.line(/^ {2}npx headgate keys create --name NAME$/)
  t.match(await ask(second.url, key), { status: 200 }, 'the key is still good')
  second.child.kill('SIGINT')
  const end = await second.ended
  t.match(end, { code: 0, error: /sandbox: a simulator/ })
  t.notMatch(end.error, key)
})

t.test('without a provider there is nothing to try, and the banner says when every address is used', async t => {
  const { child, line, ended } = launch(t, ['start'], t.testdir(), { HEADGATE_SANDBOX: 'off', HEADGATE_PORT: '0' })
  await line(/not shown again\): hg_/)
  child.kill('SIGTERM')
  const { error } = await ended
  t.match(error, /^No provider is enabled: set OPENAI_API_KEY/m)
  t.notMatch(error, 'curl')
  const everywhere = banner({ address: { host: '0.0.0.0', port: 80 }, providers: [], models: { list: () => [] } })
  t.match(everywhere, /^Headgate listens on http:\/\/localhost:80 and all other addresses of this machine\n/)
})

t.test('below log level info there is no banner, but a new key is printed', async t => {
  const { child, line, ended } = launch(t, ['start'], t.testdir(), { HEADGATE_PORT: '0', HEADGATE_LOG_LEVEL: 'warn' })
  await line(/not shown again\): hg_/)
  child.kill('SIGTERM')
  t.match(await ended, { code: 0, out: '', error: /^API key \(created because none existed; not shown again\): [^\n]*$/ })
})

t.test('keys created and revoked by another process apply without a restart', async t => {
  const directory = t.testdir()
  const gateway = await startGateway(t, directory)
  const { out } = await headgate(t, ['keys', 'create', '--name', 'late', '--json'], directory)
  const { key }: { key: string } = JSON.parse(out)
  await until(async () => (await ask(gateway.url, key)).status === 200, 'the key to be taken', 20_000)
  await headgate(t, ['keys', 'revoke', 'late'], directory)
  await until(async () => (await ask(gateway.url, key)).status === 401, 'the key to be refused', 20_000)
})

t.test('an open call finishes before the process exits, and a second signal does not wait', async t => {
  let answer = (): void => {}
  const upstream = await fakeUpstream(async () => {
    await new Promise<void>(resolve => { answer = resolve })
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [JSON.stringify({ choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'late' } }] })]
    }
  })
  t.teardown(upstream.close)
  const directory = t.testdir({
    'headgate.yaml': `providers:\n  slow: {base_url: '${upstream.url}', list_models: false}\n`
  })
  const env = { HEADGATE_API_KEYS: 'a key, another' }

  const patient = await startGateway(t, directory, env)
  const reply = ask(patient.url, 'a key', 'slow/m')
  await upstream.request(0)
  patient.child.kill('SIGTERM')
  await patient.line(/draining/)
  answer()
  t.match(await reply, { status: 200, body: { choices: [{ message: { content: 'late' } }] } })
  t.match(await patient.ended, { code: 0 })

  const hasty = await startGateway(t, directory, env)
  const cut = t.rejects(ask(hasty.url, 'another', 'slow/m'))
  await upstream.request(1)
  hasty.child.kill('SIGINT')
  await hasty.line(/draining/)
  hasty.child.kill('SIGINT')
  t.match(await hasty.ended, { code: 1 })
  await cut
})

t.test('a changed configuration applies without a restart, an invalid one changes nothing', async t => {
  const directory = t.testdir({ 'headgate.yaml': 'providers:\n  sandbox: {}\n' })
  const file = join(directory, 'headgate.yaml')
  const gateway = await startGateway(t, directory, { HEADGATE_API_KEYS: 'one' })
  writeFileSync(file, 'providers:\n  sandbox: {}\n  unknown: 5\n')
  await gateway.line(/"problems":\["headgate.yaml:3:/)
  t.match(await ask(gateway.url, 'one'), { status: 200 })
  writeFileSync(file, 'providers:\n  sandbox: {}\nroutes:\n  quick: [sandbox/echo]\n')
  await gateway.line(/"changed":\["routes"\],"pid":\d+,"msg":"configuration reloaded"/)
  t.match(await ask(gateway.url, 'one', 'quick'), { status: 200 })
  const missing = await request(`${gateway.url}/v2/nothing?key=secret`)
  t.equal(missing.statusCode, 404)
  t.notMatch((await gateway.line(/"request":"GET \/v2\/nothing",.*"status":404/)).input, 'secret')
  rmSync(file)
  await gateway.line(/"problems":\["headgate.yaml {2}file not found"\].*keeping the current one/)
  t.match(await ask(gateway.url, 'one', 'quick'), { status: 200 })
  writeFileSync(file, 'server: {keep_alive_ms: 5, public_health: true, port: 1}\nmetrics: {}\n')
  await gateway.line(/"entries":\["server.keep_alive_ms","metrics"\].*require a restart/)
})

t.test('a start that fails says why and how to fix it', async t => {
  const other = createServer()
  await new Promise<void>(resolve => { other.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo // listening on TCP, so it is one
  const taken = { HEADGATE_PORT: String(port), HEADGATE_HOST: '127.0.0.1' }
  const message = new RegExp(`^headgate start: cannot listen on 127.0.0.1 port ${port}: the port is in use. .*HEADGATE_PORT.*server.port`)
  t.match(await launch(t, ['start'], t.testdir(), taken).ended, { code: 1, error: message })
  const workers = await launch(t, ['start'], t.testdir(), { ...taken, HEADGATE_WORKERS: '2' }).ended
  t.match(workers, { code: 1, error: message })
  t.equal(workers.error.trim().split('\n').length, 1, 'workers fail with one voice')

  for (const count of ['1', '2']) {
    const metrics = { HEADGATE_PORT: '0', HEADGATE_WORKERS: count, HEADGATE_METRICS_PORT: String(port) }
    t.match(await launch(t, ['start'], t.testdir(), metrics).ended, {
      code: 1, error: new RegExp(`^headgate start: cannot listen on 127.0.0.1 port ${port}: the port is in use. .*metrics.port`)
    })
  }

  const directory = t.testdir({ store: 'a file, not a directory' })
  t.match(await launch(t, ['start'], directory, { HEADGATE_PORT: '0', HEADGATE_DATA_DIR: 'store' }).ended, {
    code: 1, error: /^headgate start: The store .*store\/headgate.db cannot be used/
  })
})

t.test('workers share the port and the key, and one that exits is replaced', async t => {
  const gateway = await startGateway(t, t.testdir(), { HEADGATE_WORKERS: '2' })
  const [, key = ''] = await gateway.line(/not shown again\): (hg_\S+)$/)
  for (let call = 0; call < 4; call++) t.match(await ask(gateway.url, key), { status: 200 })

  const pids = await childrenOf(gateway.child.pid ?? 0)
  t.equal(pids.length, 2)
  process.kill(pids[0] ?? 0, 'SIGKILL')
  await gateway.line(/worker exited; restarting/)
  t.match(await ask(gateway.url, key), { status: 200 }, 'the other one answers meanwhile')
  let alive = await childrenOf(gateway.child.pid ?? 0)
  while (alive.length < 2) alive = await childrenOf(gateway.child.pid ?? 0)
  t.ok(alive.includes(pids[1] ?? 0) && !alive.includes(pids[0] ?? 0))

  gateway.child.kill('SIGTERM')
  const { code, error } = await gateway.ended
  t.equal(code, 0)
  t.equal(error.match(/Headgate listens/g)?.length, 1, 'the banner is shown once')
  for (const pid of alive) t.throws(() => process.kill(pid, 0), { code: 'ESRCH' })
})

t.test('workers share the limits of a key and the usage records', async t => {
  const directory = t.testdir({
    '.env': 'FEW=few\nPOOR=poor\n',
    'headgate.yaml': 'keys:\n' +
      '  - {name: few, key: env:FEW, limits: {requests_per_minute: 1}}\n' +
      '  - {name: poor, key: env:POOR, limits: {budget: {usd: 0.001, per: total}}}\n' +
      'models:\n  sandbox/echo: {price: {input: 100, output: 100}}\n'
  })
  const usage = async (...args: string[]): Promise<Ended> => await headgate(t, ['usage', ...args], directory)
  t.match(await usage(), { code: 0, out: 'No usage recorded.' })
  const gateway = await startGateway(t, directory, { HEADGATE_WORKERS: '2' })
  const all = await Promise.all(Array.from({ length: 12 }, async () => await ask(gateway.url, 'few')))
  t.equal(all.filter(({ status }) => status === 200).length, 1)
  t.equal(all.filter(({ status }) => status === 429).length, 11)
  t.match(await ask(gateway.url, 'poor'), { status: 402 }, 'the price of what may be written is too much')
  gateway.child.kill('SIGTERM')
  t.equal((await gateway.ended).code, 0)

  t.match(await usage(), { code: 0, out: /^KEY +CALLS +FAILED [^]*\nconfigured:few +12 +11 +0 +\d+ +\d+ +\$0\.\d{4} +0\n/ })
  t.match(JSON.parse((await usage('--by', 'day,key', '--since', '1d', '--json')).out), [1, 1].map(() => (
    { day: /^\d{4}-\d{2}-\d{2}$/, key: /^configured:/, calls: Number, cost_nano_usd: Number }
  )))
  t.match(await usage('--since', '2999-01-01'), { code: 0, out: 'No usage recorded.' })
  t.match(await usage('--by', 'modle'), { code: 2, error: /did you mean "model"/ })
  t.match(await usage('--since', 'long ago'), { code: 2, error: /must be a date/ })
})

t.test('metrics of all workers are served together, only where configured', async t => {
  const plain = await startGateway(t, t.testdir(), { HEADGATE_API_KEYS: 'a key' })
  t.match(await ask(plain.url, 'a key'), { status: 200 })
  plain.child.kill('SIGTERM')
  t.notMatch((await plain.ended).out, /metrics/, 'nowhere by default')

  const env = { HEADGATE_API_KEYS: 'a key', HEADGATE_METRICS_PORT: '0' }
  for (const workers of [1, 2]) {
    const gateway = await startGateway(t, t.testdir(), { ...env, HEADGATE_WORKERS: String(workers) })
    const [, page = ''] = await gateway.line(/"url":"(http:\/\/127\.0\.0\.1:\d+\/metrics)","msg":"metrics server listening"/)
    const sum = async (name: string): Promise<number> => {
      const text = await (await request(page)).body.text()
      t.notMatch(text, /a key|environment-/)
      return [...text.matchAll(new RegExp(`^${name}(?:{.*})? (\\S+)$`, 'gm'))].reduce((sum, [, value]) => sum + Number(value), 0)
    }
    // At once, so that every worker gets some.
    await Promise.all(Array.from({ length: 6 }, async () => await ask(gateway.url, 'a key')))
    while (await sum('headgate_open_calls') > 0);
    t.equal(await sum('headgate_calls_total'), 6)
    t.equal(await sum('headgate_processes'), workers === 1 ? 1 : 3)
    if (workers > 1) {
      process.kill((await childrenOf(gateway.child.pid ?? 0))[0] ?? 0, 'SIGKILL')
      await gateway.line(/worker exited; restarting/)
      t.equal(await sum('headgate_calls_total'), 6, 'the counts of an exited worker remain')
    }
    gateway.child.kill('SIGTERM')
    t.equal((await gateway.ended).code, 0)
    await t.rejects(request(page), { code: 'ECONNREFUSED' })
  }
})
