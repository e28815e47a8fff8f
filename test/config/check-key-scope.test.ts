import t from 'tap'
import { checkKeyScope } from '../../lib/config/check-key-scope.ts'
import { readSettings } from '../../lib/config/read-settings.ts'

const { checked } = readSettings({
  env: {},
  cwd: t.testdir(),
  config: {
    providers: {
      own: { base_url: 'http://127.0.0.1:1' },
      off: { enabled: false, base_url: 'http://127.0.0.1:1' }
    },
    mcp_servers: { 'acme/tickets': { url: 'http://127.0.0.1:1' } }
  }
})

t.test('names in the configuration are accepted, also of disabled providers', async t => {
  t.same(
    checkKeyScope(
      { models: ['own/*', 'off/x', 'openai/*', '*'], mcpServers: ['acme/tickets', '*'] },
      checked
    ),
    []
  )
  t.same(checkKeyScope({}, checked), [])
})

t.test('any other name gives a warning with the closest match', async t => {
  t.match(checkKeyScope({ models: ['own/*', 'owm/x', 'beta/zzz'], mcpServers: ['acme/tickest'] }, checked), [
    { path: 'models[1]', message: 'names a provider that is not configured', suggestion: 'own/x' },
    { path: 'models[2]', message: 'names a provider that is not configured', suggestion: undefined },
    { path: 'mcp_servers[0]', message: 'is not in mcp_servers', suggestion: 'acme/tickets' }
  ])
})
