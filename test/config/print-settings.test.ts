import t from 'tap'
import { decodeSettings, encodeSettings, printSettings } from '../../lib/config/print-settings.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { Secret } from '../../lib/core/secret.ts'
import { directory } from '../support/config.ts'
import type { Settings } from '../../lib/core/settings.ts'

t.test(
  'printed settings include secrets, so a changed secret is a difference',
  async t => {
    t.equal(
      printSettings({ key: new Secret('one'), list: [new Secret('two')] }),
      '{"key":"one","list":["two"]}'
    )
  }
)

t.test('settings are encoded with their secrets, and decode to equal settings', async t => {
  const settings = loadSettings({
    env: { A: 'secret-a', HEADGATE_API_KEYS: 'secret-b-of-24-characters' },
    cwd: directory(t, {
      'headgate.yaml': [
        'providers: {a: {base_url: "http://a.example", api_keys: ["env:A", {key: env:A, weight: 2}], headers: {x-a: env:A}}}',
        'models: {a/m: {price: {input: 0.1, output: 0.25}}}',
        'routes: {quick: [a/m]}',
        'keys: [{name: k, key: env:A, expires_at: 2030-01-02}]'
      ].join('\n')
    })
  })
  const decoded = decodeSettings(encodeSettings(settings)) as Settings
  t.strictSame(decoded, settings)
  t.equal(printSettings(decoded), printSettings(settings))
  t.equal(decoded.keys[0]?.key.reveal(), 'secret-a')
  t.equal(decoded.keys[0]?.key.source, 'A', 'the variable it came from')
  t.notMatch(JSON.stringify(decoded), 'secret-', 'they are secrets again')
})

t.test('plain text is not taken for a secret', async t => {
  const texts = { a: 'secret', b: '[redacted]', c: encodeSettings({ d: new Secret('s') }) }
  t.strictSame(decodeSettings(encodeSettings(texts)), texts)
})
