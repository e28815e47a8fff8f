import { join } from 'node:path'
import t from 'tap'
import { clientSettings } from '../../lib/cli/client-settings.ts'

t.test('settings are written where each program reads them', async t => {
  const files = (env: Record<string, string>): string[] =>
    [...clientSettings({ HOME: '/home/me', ...env }).values()].map(({ file }) => file)
  t.same(
    files({}),
    [
      ['.claude', 'settings.json'],
      ['.codex', 'config.toml'],
      ['.config', 'opencode', 'opencode.json']
    ].map(parts => join('/home/me', ...parts))
  )
  t.same(files({ CLAUDE_CONFIG_DIR: '/a', CODEX_HOME: '/b', XDG_CONFIG_HOME: '/c' }), [
    join('/a', 'settings.json'),
    join('/b', 'config.toml'),
    join('/c', 'opencode', 'opencode.json')
  ])
})

t.test('a model inside a table is not a top-level setting', async t => {
  const gateway = { url: 'http://127.0.0.1:8080', model: 'a/b', smallModel: 'a/b' }
  const codex = clientSettings({}).get('codex')
  t.match(codex?.merge('[profiles.x]\nmodel = "y"\n', gateway), /^model = "a\/b"/)
  t.equal(codex?.merge('model = "y"\n', gateway), undefined)
  t.equal(codex?.merge('[model_providers.headgate]\n', gateway), undefined)
})
