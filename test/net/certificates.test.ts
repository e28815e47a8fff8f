import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { Secret } from '../../lib/core/secret.ts'
import { certificateExpiries } from '../../lib/net/certificates.ts'
import { Metrics } from '../../lib/telemetry/metrics.ts'
import { printFamilies } from '../../lib/telemetry/metric-families.ts'
import { testGateway } from '../support/gateway.ts'
import { certificateFor, noOpenSsl } from '../support/certificate.ts'
import { providerSettings, settings } from '../support/settings.ts'

const dayMs = 86_400_000

t.test('the expiry of each certificate is known and reported as a metric', { skip: noOpenSsl }, async t => {
  const directory = t.testdir({})
  const path = join(directory, 'server.pem')
  const [soon, late] = [certificateFor(path, 10), certificateFor(join(directory, 'late.pem'), 400)]
  writeFileSync(path, soon)
  const provider = {
    ...providerSettings('openai', 'openai'),
    tls: { ca: new Secret(`${late}\n${soon}`), cert: new Secret(late), key: new Secret('not a certificate') }
  }
  const sources = {
    ...settings({ providers: [provider] }),
    server: { ...settings().server, tls: { certificate: path, key: `${path}.key` } }
  }
  const days = (): ReadonlyArray<readonly [string, number]> =>
    certificateExpiries(sources).map(({ certificate, expiresAtMs }) => [
      certificate,
      Math.round((expiresAtMs - Date.now()) / dayMs)
    ])
  t.same(
    days(),
    [
      ['server.tls', 10],
      ['providers.openai.tls.ca', 10],
      ['providers.openai.tls.cert', 400]
    ],
    'of several the first'
  )
  writeFileSync(path, late)
  t.same(days()[0], ['server.tls', 400], 'a renewed one is seen')
  for (const text of ['', '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----']) {
    writeFileSync(path, text)
    t.same(days().length, 2, 'one that cannot be read is left out')
  }
  const { gateway } = await testGateway(t, { providers: [provider] })
  const text = printFamilies(new Metrics(() => gateway).families())
  const [, seconds] =
    /^headgate_certificate_expiry_timestamp_seconds\{certificate="providers\.openai\.tls\.ca"\} (\d+)$/m.exec(
      text
    ) ?? []
  t.equal(Math.round((Number(seconds) - Date.now() / 1000) / 86_400), 10)
})
