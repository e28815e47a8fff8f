import t from 'tap'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { directory, failure, lines, provider } from '../support/config.ts'
import { makeAuthority } from '../support/certificate-authority.ts'
import { noOpenSsl } from '../support/certificate.ts'

t.test('conflicting connection entries are refused', async t => {
  const messageFor = (entries: string, env = {}): string =>
    lines(t, `providers: {a: {${entries}}}`, env)[0]?.replace(/^\S+ +/, '') ?? ''
  const https = 'base_url: "https://a.example"'
  for (const [entries, message] of [
    [
      `${https}, proxy: "http://pro xy"`,
      'providers.a.proxy  must be an http:// or https:// address without user and path, or `none`'
    ],
    [
      `${https}, proxy: "http://proxy/path"`,
      'providers.a.proxy  must be an http:// or https:// address without user and path, or `none`'
    ],
    [
      'base_url: "http://127.0.0.1:1", proxy: "http://proxy"',
      'providers.a.proxy  cannot be used: this machine, link-local addresses and metadata services are reached directly'
    ],
    [`${https}, proxy_credentials: env:C`, 'providers.a.proxy_credentials  requires proxy'],
    ['base_url: "http://a.example", http2: true', 'providers.a.http2  needs a base_url with https://'],
    [
      `${https}, http2: true, proxy: "http://proxy"`,
      'providers.a.http2  does not go through a proxy: set `proxy: none`, or leave http2 out'
    ],
    [
      `${https}, headers: {Proxy-Authorization: env:C}`,
      'providers.a.headers.Proxy-Authorization  is a header of the connection and cannot be set'
    ],
    ['base_url: "http://a.example", tls: {ca: env:PEM}', 'providers.a.tls  needs a base_url with https://'],
    [`${https}, tls: {cert: env:PEM}`, 'providers.a.tls  needs cert and key together'],
    [`${https}, tls: {ca: env:C}`, 'providers.a.tls.ca  the variable C contains no PEM data']
  ] as const) {
    t.equal(
      messageFor(entries, {
        C: 'me:secret',
        PEM: '-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----'
      }),
      message
    )
  }
  t.match(
    messageFor(`${https}, http2: true`, { HTTPS_PROXY: 'http://proxy' }),
    'does not go through a proxy'
  )
})

t.test(
  'certificates and keys are read from files, and must match',
  { skip: noOpenSsl },
  async t => {
    const { ca, client, server } = makeAuthority(t.testdir({}))
    const yaml =
      'providers: {a: {base_url: "https://a.example", tls: {ca: "file:ca.pem", cert: "file:cert.pem", key: "file:key.pem"}}}'
    const files = { 'headgate.yaml': yaml, 'ca.pem': ca, 'cert.pem': client.cert, 'key.pem': client.key }
    const { tls } = provider(loadSettings({ env: {}, cwd: directory(t, files) }), 'a')
    t.same(
      [tls?.ca?.reveal(), tls?.cert?.reveal(), tls?.key?.reveal()],
      [ca.trim(), client.cert.trim(), client.key.trim()]
    )
    const { message } = failure(() =>
      loadSettings({ env: {}, cwd: directory(t, { ...files, 'key.pem': server.key }) })
    )
    t.match(message, /providers\.a\.tls\.key {2}does not belong to the certificate \(.*key values mismatch\)/)
    t.notMatch(message, /BEGIN/)
    for (const name of ['ca', 'cert', 'key']) {
      const broken = { ...files, [`${name}.pem`]: '-----BEGIN CERTIFICATE-----\nAAAA\n' }
      const { message } = failure(() => loadSettings({ env: {}, cwd: directory(t, broken) }))
      t.match(message, new RegExp(`providers\\.a\\.tls\\.${name} {2}is not a `), name)
    }
    t.match(
      failure(() => loadSettings({ env: {}, cwd: directory(t, { 'headgate.yaml': yaml }) })).message,
      'the file ca.pem cannot be read (ENOENT)'
    )
  }
)
