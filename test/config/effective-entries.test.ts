import t from 'tap'
import { effectiveEntries } from '../../lib/config/effective-entries.ts'
import { directory } from '../support/config.ts'

t.test('every entry has its value and origin; a secret is shown as its reference', async t => {
  const file =
    'server: { host: a.example }\nproviders:\n  a: { base_url: "http://a.example", api_key: env:A }\nroutes: { r: [a/m, a/n] }\n'
  const cwd = directory(t, { 'headgate.yaml': file })
  const entries = effectiveEntries({ env: { A: 'a secret', HEADGATE_LOG_LEVEL: 'warn' }, cwd })
  const at = (path: string): unknown => {
    const { value, origin, variable } = entries.find(entry => entry.path === path) ?? {}
    return [value, origin, variable]
  }
  t.same(at('server.host'), ['a.example', 'file', null])
  t.same(at('server.port'), [8080, 'default', null])
  t.same(at('server.log_level'), ['warn', 'environment', 'HEADGATE_LOG_LEVEL'])
  t.same(at('providers.a.api_key'), ['env:A', 'file', null])
  t.same(at('routes.r'), [['a/m', 'a/n'], 'file', null], 'a list of plain values is one entry')
  t.notMatch(JSON.stringify(entries), /a secret/)
})

t.test('a file with a problem has no entries', async t => {
  t.throws(() => effectiveEntries({ env: {}, cwd: directory(t, { 'headgate.yaml': 'server: [' }) }), {
    name: 'ConfigError'
  })
})
