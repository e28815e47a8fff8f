import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { banner } from '../../lib/process/banner.ts'
import { headgate } from '../support/command.ts'
import { collector } from '../support/collector.ts'
import { directoryOf, ask, launch, startGateway } from '../support/headgate.ts'
import { fakeUpstream } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { AddressInfo } from 'node:net'

t.test('the first start creates a key, prints it once and shows how to try it', async t => {
  const directory = directoryOf(t)
  const first = await startGateway(t, directory)
  const [, key = ''] = await first.line(/not shown again\): (hg_\S+)$/)
  t.match(await ask(first.url, key), { status: 200, body: { model: 'sandbox/echo' } })
  t.match(await ask(first.url, `${key}x`), { status: 401, body: { error: { code: 'invalid_api_key' } } })

  // The commands of the banner as a shell would run them, without those that a test does not need.
  const shown: string[] = []
  for (const pattern of [
    /^ {2}curl http.*"Say hello/,
    /^ {2}curl -N .*"stream":true/,
    /^ {2}curl .*"tools":\[/
  ]) {
    shown.push((await first.line(pattern)).input)
  }
  for (const line of shown) {
    const [, url = '', authorization = '', body = ''] =
      /curl (?:-N )?(\S+) -H "Authorization: ([^"]+)".* -d '(.*)'$/.exec(line) ?? []
    const answer = await request(url, {
      method: 'POST',
      body,
      headers: { authorization, 'content-type': 'application/json' }
    })
    t.equal(answer.statusCode, 200, line)
    await answer.body.text()
  }

  const link = await headgate(t, ['dashboard', 'link'], directory)
  t.equal(link.code, 0)
  t.ok(
    link.out.startsWith(`${first.url}/dashboard/#/link/`),
    'the link points to the running gateway, whatever its port'
  )
  t.match(
    (await headgate(t, ['connect', 'claude-code'], directory)).out,
    `"ANTHROPIC_BASE_URL": "${first.url}"`
  )

  first.child.kill('SIGTERM')
  const { code, out } = await first.ended
  t.equal(code, 0)
  const log = out.split('\n').map((line): unknown => JSON.parse(line)) // only log lines
  t.match(log, [{ endpoint: 'chat', status: 200, provider: 'sandbox' }], 'calls are logged')
  t.notMatch(JSON.stringify(log), key)
  t.match(await headgate(t, ['dashboard', 'link'], directory), {
    code: 0,
    out: /^No gateway runs here with the data directory .*\.headgate: /
  })

  const second = await startGateway(t, directory)
  await second.line(/Bearer \$HEADGATE_API_KEY"/)
  await second.line(/^ {2}npx headgate keys create --name NAME$/)
  t.match(await ask(second.url, key), { status: 200 }, 'the key still works')
  second.child.kill('SIGINT')
  const end = await second.ended
  t.match(end, { code: 0, error: /sandbox: a simulator/ })
  t.notMatch(end.error, key)
})

t.test(
  'without a provider there is no example, and the banner warns when listening on all addresses',
  async t => {
    const { child, line, ended } = launch(t, ['start'], directoryOf(t), {
      HEADGATE_SANDBOX: 'off',
      PORT: '0'
    })
    await line(/not shown again\): hg_/)
    child.kill('SIGTERM')
    const { error } = await ended
    t.match(error, /^No provider is enabled: set OPENAI_API_KEY/m)
    t.notMatch(error, 'curl')
    const everywhere = banner({
      address: { host: '0.0.0.0', port: 80 },
      providers: [],
      models: { list: () => [] }
    })
    t.match(
      everywhere,
      /^Headgate listens on http:\/\/localhost:80 and all other addresses of this machine\n/
    )
  }
)

t.test('below log level info there is no banner, but a new key is printed', async t => {
  const { child, line, ended } = launch(t, ['start'], directoryOf(t), {
    PORT: '0',
    HEADGATE_LOG_LEVEL: 'warn'
  })
  await line(/not shown again\): hg_/)
  child.kill('SIGTERM')
  t.match(await ended, {
    code: 0,
    out: '',
    error: /^API key \(created because none existed; not shown again\): [^\n]*$/
  })
})

t.test('keys created and revoked by another process take effect without a restart', async t => {
  const directory = directoryOf(t)
  const gateway = await startGateway(t, directory)
  const { out } = await headgate(t, ['keys', 'create', '--name', 'late', '--json'], directory)
  const { key }: { key: string } = JSON.parse(out)
  await until(async () => (await ask(gateway.url, key)).status === 200, 'the key to be taken', 20_000)
  await headgate(t, ['keys', 'revoke', 'late'], directory)
  await until(async () => (await ask(gateway.url, key)).status === 401, 'the key to be refused', 20_000)
})

t.test('an open call finishes before the process exits, and a second signal exits at once', async t => {
  let answer = (): void => {}
  const upstream = await fakeUpstream(async () => {
    await new Promise<void>(resolve => { answer = resolve })
    return {
      headers: { 'content-type': 'application/json' },
      pieces: [
        JSON.stringify({
          choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: 'late' } }]
        })
      ]
    }
  })
  t.teardown(upstream.close)
  const directory = directoryOf(t, {
    'headgate.yaml': `providers:\n  slow: {base_url: '${upstream.url}', list_models: false}\n`
  })
  const env = { HEADGATE_API_KEYS: 'a-key-of-24-characters-00, a-key-of-24-characters-00-2' }

  const patient = await startGateway(t, directory, env)
  const reply = ask(patient.url, 'a-key-of-24-characters-00', 'slow/m')
  await upstream.request(0)
  patient.child.kill('SIGTERM')
  await patient.line(/draining/)
  answer()
  t.match(await reply, { status: 200, body: { choices: [{ message: { content: 'late' } }] } })
  t.match(await patient.ended, { code: 0 })

  const hasty = await startGateway(t, directory, env)
  const cut = t.rejects(ask(hasty.url, 'a-key-of-24-characters-00-2', 'slow/m'))
  await upstream.request(1)
  hasty.child.kill('SIGINT')
  await hasty.line(/draining/)
  hasty.child.kill('SIGINT')
  t.match(await hasty.ended, { code: 1 })
  await cut
})

t.test('a changed configuration takes effect without a restart, an invalid one is ignored', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers:\n  sandbox: {}\n' })
  const file = join(directory, 'headgate.yaml')
  const gateway = await startGateway(t, directory, { HEADGATE_API_KEYS: 'a-key-of-24-characters-00' })
  writeFileSync(file, 'providers:\n  sandbox: {}\n  unknown: 5\n')
  await gateway.line(/"problems":\["headgate.yaml:3:/)
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 })
  const health = async (): Promise<unknown> =>
    await (
      await fetch(`${gateway.url}/health`, { headers: { 'x-api-key': 'a-key-of-24-characters-00' } })
    ).json()
  t.match(await health(), { status: 'ok', degraded: ['configuration'] })
  writeFileSync(file, 'providers:\n  sandbox: {}\nroutes:\n  quick: [sandbox/echo]\n')
  await gateway.line(/"changed":\["routes"\],"pid":\d+,"msg":"configuration reloaded"/)
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00', 'quick'), { status: 200 })
  t.match(await health(), { degraded: undefined })
  const missing = await request(`${gateway.url}/v2/nothing?key=secret`)
  t.equal(missing.statusCode, 404)
  t.notMatch((await gateway.line(/"request":"GET \/v2\/nothing",.*"status":404/)).input, 'secret')
  rmSync(file)
  await gateway.line(/"problems":\["headgate.yaml {2}file not found"\].*keeping the current one/)
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00', 'quick'), { status: 200 })
  writeFileSync(file, 'server: {keep_alive_ms: 5, public_health: true, port: 1}\nmetrics: {}\n')
  await gateway.line(/"entries":\["server.keep_alive_ms","metrics"\].*require a restart/)
})

t.test('spans, metrics and logs reach a collector, the last of them on shutdown', async t => {
  const seen = await collector(t)
  const directory = directoryOf(t, { 'headgate.yaml': 'providers:\n  sandbox: {}\n' })
  const otel = {
    OTEL_EXPORTER_OTLP_ENDPOINT: seen.url,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_METRICS_EXPORTER: 'otlp',
    OTEL_LOGS_EXPORTER: 'otlp'
  }
  const gateway = await startGateway(t, directory, {
    HEADGATE_API_KEYS: 'a-key-of-24-characters-00',
    ...otel
  })
  t.match(await ask(gateway.url, 'a-key-of-24-characters-00'), { status: 200 })
  gateway.child.kill('SIGTERM')
  t.match(await gateway.ended, { code: 0 })
  const span = seen.spans().find(({ kind }) => kind === 2)
  t.match(
    seen.logs().filter(({ body }) => body === 'call'),
    [
      {
        severityText: 'INFO',
        traceId: span?.traceId,
        spanId: span?.spanId,
        attributes: { model: 'sandbox/echo' }
      }
    ]
  )
  t.match(seen.metrics().find(({ name }) => name === 'headgate_calls_total')?.points, [
    { attributes: { model: 'sandbox/echo', status: '200' }, value: 1 }
  ])
  t.match(seen.metrics().find(({ name }) => name === 'gen_ai.client.token.usage')?.points, [
    { attributes: { 'gen_ai.token.type': 'input' } },
    { attributes: { 'gen_ai.token.type': 'output' } }
  ])
})

t.test('configuration reloads are counted, including failed ones', async t => {
  const directory = directoryOf(t, { 'headgate.yaml': 'providers:\n  sandbox: {}\n' })
  const file = join(directory, 'headgate.yaml')
  const gateway = await startGateway(t, directory, { HEADGATE_METRICS_PORT: '0' })
  const [, url = ''] = await gateway.line(/"url":"([^"]+)","msg":"metrics server listening"/)
  const reloads = async (): Promise<string[]> =>
    (await (await request(url)).body.text()).match(/^headgate_configuration_reloads_total.*$/gm) ?? []
  t.strictSame(await reloads(), [
    'headgate_configuration_reloads_total{result="ok"} 0',
    'headgate_configuration_reloads_total{result="failed"} 0'
  ])
  writeFileSync(file, 'providers: 5\n')
  await gateway.line(/"msg":"invalid configuration; keeping the current one"/)
  writeFileSync(file, 'providers:\n  sandbox: {}\nroutes:\n  quick: [sandbox/echo]\n')
  await gateway.line(/"msg":"configuration reloaded"/)
  t.strictSame(await reloads(), [
    'headgate_configuration_reloads_total{result="ok"} 1',
    'headgate_configuration_reloads_total{result="failed"} 1'
  ])
})

t.test('a failed start explains why and how to fix it', async t => {
  const other = createServer()
  await new Promise<void>(resolve => { other.listen(0, '127.0.0.1', resolve) })
  t.teardown(() => other.close())
  const { port } = other.address() as AddressInfo // listening on TCP, so it is an object
  const taken = { PORT: String(port), HOST: '127.0.0.1' }
  const message = new RegExp(
    `^headgate start: cannot listen on 127.0.0.1 port ${port}: the port is in use. .*PORT.*server.port`
  )
  t.match(await launch(t, ['start'], directoryOf(t), taken).ended, { code: 1, error: message })
  const workers = await launch(t, ['start'], directoryOf(t), { ...taken, HEADGATE_WORKERS: '2' }).ended
  t.match(workers, { code: 1, error: message })
  t.equal(workers.error.trim().split('\n').length, 1, 'workers report a failure once')

  for (const count of ['1', '2']) {
    const metrics = { PORT: '0', HEADGATE_WORKERS: count, HEADGATE_METRICS_PORT: String(port) }
    t.match(await launch(t, ['start'], directoryOf(t), metrics).ended, {
      code: 1,
      error: new RegExp(
        `^headgate start: cannot listen on 127.0.0.1 port ${port}: the port is in use. .*metrics.port`
      )
    })
  }

  const directory = directoryOf(t, { store: 'a file, not a directory' })
  t.match(await launch(t, ['start'], directory, { PORT: '0', HEADGATE_DATA_DIR: 'store' }).ended, {
    code: 1, error: /^headgate start: The store .*store\/headgate.db cannot be used/
  })
})
