import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { headgate } from '../support/command.ts'

const options = [
  '--url',
  'https://gateway.example/v1/',
  '--model',
  'openai/gpt-5',
  '--small-model',
  'openai/gpt-5-mini'
]

t.test('by default settings are printed and nothing is written', async t => {
  const directory = t.testdir()
  const claude = await headgate(
    t,
    ['connect', 'claude-code', ...options, '--file', 'settings.json'],
    directory
  )
  t.match(claude, {
    code: 0,
    out: /"ANTHROPIC_BASE_URL": "https:\/\/gateway\.example",\n *"ANTHROPIC_MODEL": "openai\/gpt-5",\n *"ANTHROPIC_DEFAULT_HAIKU_MODEL": "openai\/gpt-5-mini"/
  })
  t.match(
    (await headgate(t, ['connect', 'codex', ...options], directory)).out,
    /^# .*config\.toml\nmodel = "openai\/gpt-5"\nmodel_provider = "headgate"\n\n\[model_providers\.headgate\]\n[^]*base_url = "https:\/\/gateway\.example\/v1"/
  )
  t.match(
    (await headgate(t, ['connect', 'opencode', ...options], directory)).out,
    /"baseURL": "https:\/\/gateway\.example\/v1"[^]*"model": "headgate\/openai\/gpt-5"/
  )
  t.same(await readdir(directory), [])
})

t.test('settings are merged into an existing file, which is backed up', async t => {
  const before = '{"permissions":{"allow":["Read"]},"env":{"MINE":"1"}}'
  const directory = t.testdir({
    'settings.json': before,
    'config.toml': 'sandbox_mode = "read-only"\n\n[mcp_servers.a]\ncommand = "a"\n'
  })
  const write = async (client: string, file: string) =>
    await headgate(t, ['connect', client, ...options, '--write', '--file', file], directory)
  const content = async (file: string): Promise<string> => await readFile(join(directory, file), 'utf8')
  t.match(await write('claude-code', 'settings.json'), {
    code: 0,
    out: /^Written: .*settings\.json\. The previous file is now .*settings\.json\.backup\.\n/
  })
  t.match(JSON.parse(await content('settings.json')), {
    permissions: { allow: ['Read'] },
    env: { MINE: '1', ANTHROPIC_MODEL: 'openai/gpt-5' },
    apiKeyHelper: 'printenv HEADGATE_API_KEY'
  })
  t.equal(await content('settings.json.backup'), before)
  await write('claude-code', 'settings.json')
  t.ok((await readdir(directory)).includes('settings.json.backup-2'), 'an earlier backup is kept')

  t.equal((await write('codex', 'config.toml')).code, 0)
  t.match(
    await content('config.toml'),
    /^model = "openai\/gpt-5"\nmodel_provider = "headgate"\nsandbox_mode = "read-only"\n\n\[mcp_servers\.a\]\ncommand = "a"\n\n\[model_providers\.headgate\]\n/
  )
  t.match(await write('codex', 'config.toml'), { code: 1, error: /already has these settings/ })
  t.equal((await write('opencode', 'new/opencode.json')).code, 0)
  t.match(JSON.parse(await content('new/opencode.json')), { small_model: 'headgate/openai/gpt-5-mini' })
})

t.test(
  'the address defaults to that of the configuration, with a note if no gateway runs there',
  async t => {
    const directory = t.testdir({
      'headgate.yaml': 'server: { port: 9123 }\n',
      'other.yaml': 'server: { public_url: https://ai.example.com/ }\n'
    })
    t.match(await headgate(t, ['connect', 'claude-code'], directory), {
      code: 0,
      out: /^# No gateway runs here with the data directory .*\n[^]*"ANTHROPIC_BASE_URL": "http:\/\/127\.0\.0\.1:9123"/
    })
    t.match(
      (await headgate(t, ['connect', 'claude-code', '-c', 'other.yaml'], directory)).out,
      /"ANTHROPIC_BASE_URL": "https:\/\/ai\.example\.com"/
    )
    t.same((await readdir(directory)).toSorted(), ['headgate.yaml', 'other.yaml'], 'no store is created')
  }
)

t.test('a file that cannot be merged is left unchanged', async t => {
  const directory = t.testdir({ 'settings.json': '{ // mine\n}' })
  t.match(await headgate(t, ['connect', 'claude-code', '--write', '--file', 'settings.json'], directory), {
    code: 1,
    error: /cannot be read/
  })
  t.same(await readdir(directory), ['settings.json'])
  t.match(await headgate(t, ['connect', 'emacs'], directory), {
    code: 2,
    error: /name one of claude-code, codex, opencode/
  })
  t.match(await headgate(t, ['connect', 'codex', '--url', 'gateway.example'], directory), {
    code: 2,
    error: /--url must start with/
  })
})

t.test(
  'an unknown model is reported, and none is suggested when the sandbox is off',
  async t => {
    const env = { OPENAI_API_KEY: 'x', OPENAI_BASE_URL: 'http://127.0.0.1:1/v1' }
    const connect = async (...more: readonly string[]) =>
      await headgate(t, ['connect', 'codex', ...more], t.testdir(), env)
    t.match(await connect(), { code: 2, error: /--model MODEL is required, since the sandbox is off/ })
    t.match(await connect('--model', 'openai/gpt-4.2'), {
      code: 0,
      out: /# This gateway has no model named openai\/gpt-4\.2\. Did you mean openai\/gpt-4\.1\?/
    })
    t.notMatch((await connect('--model', 'openai/gpt-4.1')).out, /has no model named/)
    t.notMatch(
      (await connect('--model', 'anything', '--url', 'https://elsewhere.example')).out,
      /has no model named/,
      'models of another gateway are unknown'
    )
  }
)
