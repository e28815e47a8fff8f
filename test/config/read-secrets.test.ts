import t from 'tap'
import { inspect } from 'node:util'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { formatProblems } from '../../lib/config/problems.ts'
import { directory, failure, ids, lines, load, provider } from '../support/config.ts'

t.test('a secret is never read from the file itself, and never shown', async t => {
  const canary = 'sk-canary-4711'
  const places = [
    `providers: {openai: {api_key: ${canary}}}`,
    'providers: {openai: {api_key: 4711}}',
    `providers: {openai: {api_key: 'env:${canary}'}}`,
    `providers: {openai: {headers: {x-key: ${canary}}}}`,
    `keys: [{name: a, key: ${canary}}]`,
    `mcp_servers: {a/b: {command: x, env: {TOKEN: ${canary}}}}`,
    `mcp_servers: {a/b: {url: 'http://x', headers: {authorization: ${canary}}}}`
  ]
  for (const yaml of places) {
    const error = failure(() => load(t, yaml))
    t.match(error.message, 'must be env:NAME, a variable of letters, digits and _, or file:PATH, never the secret itself')
    t.notMatch(inspect(error, { depth: Infinity }), /4711/)
  }
  const broken = [
    `api_key: |${canary}\n  x`, `api_key: "\\x${canary}"`, `api_key: "${canary}`, `? [${canary}]\n: 1`,
    canary, `api_key: {${canary}`, `providers: {openai: {base_url: 'http://a:${canary}@b/'}}`,
    `providers: {openai: {on_disconnect: ${canary}}}`, `server: ${canary}`
  ]
  for (const yaml of broken) {
    t.notMatch(inspect(failure(() => load(t, yaml)), { depth: Infinity }), /4711/, yaml)
  }

  const yaml = `providers: {openai: {api_key: env:CANARY, headers: {x: env:CANARY}}}
keys: [{name: a, key: env:CANARY}]
mcp_servers: {a/b: {command: x, env: {T: env:CANARY}}}`
  const settings = load(t, yaml, { CANARY: canary, HEADGATE_API_KEYS: `${canary}-too` })
  t.equal(provider(settings, 'openai').apiKey?.reveal(), canary)
  t.notMatch(JSON.stringify(settings) + inspect(settings, { depth: Infinity }), /4711/)
  t.same(lines(t, 'keys: [{name: a, key: env:sk_canary_4711}]'), [
    'headgate.yaml:1:23  keys[0].key  the variable named here is not set'
  ], 'a secret after `env:` by mistake is not shown either')
  t.match(lines(t, yaml, { CANARY: `${canary}\r\nx-injected: 1` }), [
    'headgate.yaml:1:31  providers.openai.api_key  the variable CANARY contains more than one line'
  ])
  t.same(ids(load(t, 'providers: {openai: {enabled: false, api_key: env:NOT_SET}}')), ['sandbox'],
    'a disabled provider needs no secret')
})

t.test('a secret that is invalid in a header is refused, but not one for a program', async t => {
  const yaml = `providers:
  openai: {api_key: env:WIDE, headers: {x-team: file:team.txt}}
mcp_servers:
  a/b: {url: 'http://x', headers: {authorization: env:WIDE}}
  a/c: {command: x, env: {TOKEN: env:WIDE}}
keys: [{name: a, key: env:WIDE}]`
    const cwd = directory(t, { 'headgate.yaml': yaml, 'team.txt': ' bell\x07 \n' })
    const error = failure(() => loadSettings({ env: { WIDE: ' canary\u200b\t' }, cwd }))
    t.same(formatProblems(error).split('\n'), [
      'headgate.yaml:2:21  providers.openai.api_key  the variable WIDE contains a character not allowed in headers (position 7)',
      'headgate.yaml:2:49  providers.openai.headers.x-team  the file team.txt contains a character not allowed in headers (position 5)',
      'headgate.yaml:4:51  mcp_servers["a/b"].headers.authorization  the variable WIDE contains a character not allowed in headers (position 7)',
      'headgate.yaml:6:23  keys[0].key  the variable WIDE contains a character not allowed in headers (position 7)'
    ])
    t.notMatch(inspect(error, { depth: Infinity }), /canary/)
    t.same(lines(t, '', { OPENAI_API_KEY: 'x\x7f' }), [
      'environment  OPENAI_API_KEY  the variable OPENAI_API_KEY contains a character not allowed in headers (position 2)'
    ])
    t.equal(provider(load(t, '', { OPENAI_API_KEY: ' caf\xe9 ' }), 'openai').apiKey?.reveal(), 'caf\xe9')
  }
)
