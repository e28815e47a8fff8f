import { once } from 'node:events'
import { createServer, type AddressInfo } from 'node:net'
import t from 'tap'
import { openBucket } from '../support/bucket.ts'
import { headgate } from '../support/command.ts'
import { fakeUpstream } from '../support/upstream.ts'

t.test(
  'doctor checks Redis, the issuer, the metrics port, export targets and each tool server',
  async t => {
    const upstream = await fakeUpstream(({ path }) =>
      path.endsWith('openid-configuration')
        ? { pieces: ['{"issuer":"https://elsewhere.example"}'] }
        : { status: 404, pieces: ['{}'] }
    )
    t.teardown(upstream.close)
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    t.teardown(() => taken.close())
    const bucket = await openBucket(t)
    const { port } = taken.address() as AddressInfo // listening on TCP
    const directory = t.testdir({
      'server.mjs': 'process.exit(3)',
      'headgate.yaml': `
coordination: {url: env:REDIS, timeout_ms: 100}
metrics: {port: ${port}}
accounts:
  oidc: {name: Test, issuer: '${upstream.url}', client_id: x, client_secret: env:OIDC}
usage:
  exports:
    gone: {directory: gone}
    here: {directory: .}
    cloud: {s3: {endpoint: '${bucket.url}', bucket: records, access_key: env:OIDC, secret_key: env:OIDC}}
tools: {connect_ms: 60000}
mcp_servers:
  a/gone: {url: 'http://127.0.0.1:1/mcp'}
  a/exits: {command: '${process.execPath}', args: [server.mjs]}
`
    })
    const { code, out } = await headgate(t, ['doctor', '--json'], directory, {
      OIDC: 'secret',
      REDIS: 'redis://127.0.0.1:1'
    })
    t.equal(code, 1)
    const { findings }: { findings: Array<{ about: string, state: string, text: string }> } = JSON.parse(out)
    const found = new Map(findings.map(finding => [finding.about, finding]))
    t.match(found.get('redis'), {
      state: 'problem',
      text: /^Redis cannot be reached: .*(?:ECONNREFUSED|no reply in time)/
    })
    t.match(found.get('accounts.oidc'), {
      state: 'problem',
      text: 'the issuer calls itself https://elsewhere.example: set accounts.oidc.issuer to that'
    })
    t.match(found.get('metrics'), { state: 'problem', text: /cannot be used: .*EADDRINUSE/ })
    t.match(found.get('usage.exports.gone'), { state: 'problem', text: /gone: ENOENT/ })
    t.match(found.get('usage.exports.here'), { state: 'ok', text: directory })
    t.match(found.get('usage.exports.cloud'), {
      state: 'problem',
      text: `${bucket.url}/records/: the bucket answered with status 403 (InvalidAccessKeyId)`
    })
    t.match(found.get('a/gone'), { state: 'problem', text: /^The tool server could not be reached/ })
    t.match(found.get('a/exits'), { state: 'problem', text: /^The tool server ended the connection/ })
  }
)
