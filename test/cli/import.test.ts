import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headgate } from '../support/command.ts'
import { directoryOf, launch } from '../support/headgate.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'

const config = `
model_list:
  - { model_name: mine, litellm_params: { model: openai/gpt-4o, api_base: "http://127.0.0.1:1/v1", api_key: "sk-in-clear" } }
  - { model_name: other, litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/CLAUDE_KEY } }
environment_variables: { PLAIN: "a b$HOME'c" }
general_settings: { master_key: sk-master }
`

t.test('without --apply a plan is printed and nothing is written', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const plan = await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory)
  t.match(plan, {
    code: 0,
    out: /^manual +general_settings\.master_key[^]*entries: \d+ exact, 1 approximate, 1 manual, 0 unsupported\.$/
  })
  t.notMatch(plan.out, /sk-/)
  t.throws(() => statSync(join(directory, 'headgate.yaml')), { code: 'ENOENT' })
  const json = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--json'], directory)
  t.match(JSON.parse(json.out), {
    rows: [{ verdict: 'exact' }],
    config: { providers: {} },
    variables: ['LITELLM_127_0_0_1_1_API_KEY', 'CLAUDE_KEY']
  })
})

t.test('--apply writes a valid configuration and a private file of secrets, and can be repeated', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  for (let time = 0; time < 2; time++) {
    const applied = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--apply'], directory)
    t.match(applied, {
      code: 0,
      out: /Written: headgate\.yaml and headgate\.env\.\nSet these variables before you start it: CLAUDE_KEY\.$/
    })
    t.equal(statSync(join(directory, 'headgate.env')).mode & 0o777, 0o600)
    t.match(
      readFileSync(join(directory, 'headgate.env'), 'utf8'),
      /^LITELLM_127_0_0_1_1_API_KEY=sk-in-clear$/m
    )
    const shell = spawnSync('sh', ['-c', '. ./headgate.env; printf %s "$PLAIN"'], {
      cwd: directory,
      encoding: 'utf8'
    })
    t.equal(shell.stdout, "a b$HOME'c", 'a shell reads the original value')
    chmodSync(join(directory, 'headgate.env'), 0o644)
    t.notMatch(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), /sk-/)
  }
  const env = { LITELLM_127_0_0_1_1_API_KEY: 'x', CLAUDE_KEY: 'y' }
  t.match(await headgate(t, ['check'], directory, env), {
    code: 0,
    out: /providers: 127\.0\.0\.1-1, anthropic/
  })
})

t.test('an invalid configuration replaces nothing', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const args = ['import', 'litellm', '--config', 'config.yaml', '--apply']
  t.equal((await headgate(t, args, directory)).code, 0)
  const before = readFileSync(join(directory, 'headgate.yaml'), 'utf8')
  writeFileSync(join(directory, 'config.yaml'), `${config}\nmcp_servers: { a: { command: "" } }\n`)
  t.match(await headgate(t, args, directory), {
    code: 1,
    error: /nothing was written: the configuration would not be valid/
  })
  t.equal(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), before)
  t.same(readdirSync(directory).toSorted(), ['config.yaml', 'headgate.env', 'headgate.yaml'])
  t.match(await headgate(t, [...args, '--out', 'x', '--secrets', './x'], directory), {
    code: 2,
    error: /--out and --secrets name the same file/
  })
})

t.test('without a place for secrets no configuration is written', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const args = [
    'import',
    'litellm',
    '--config',
    'config.yaml',
    '--apply',
    '--secrets',
    'missing/secrets.env'
  ]
  t.match(await headgate(t, args, directory), {
    code: 1,
    error: /missing\/secrets\.env cannot be written: ENOENT/
  })
  t.same(readdirSync(directory), ['config.yaml'])
})

t.test('names in the file cannot move the cursor', async t => {
  const directory = t.testdir({
    'config.yaml': 'model_list: [{ model_name: "a\\e[2Jb", litellm_params: { model: "x\\ny/z" } }]'
  })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory), {
    code: 1,
    out: /^unsupported +model_list\[0\] +x\\u000ay\/z: /
  })
})

t.test('a file of another user is not replaced', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  writeFileSync(join(directory, 'headgate.yaml'), 'providers: {}\n')
  const refused = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--apply'], directory)
  t.match(refused, { code: 1, error: /headgate\.yaml exists, and this command did not write it/ })
  t.equal(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), 'providers: {}\n')
})

t.test('an entry without a counterpart gives exit code 1, and wrong usage 2', async t => {
  const directory = t.testdir({
    'config.yaml': 'model_list: [{ model_name: a, litellm_params: { model: bedrock/x } }]',
    'bad.yaml': ': ['
  })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory), {
    code: 1,
    out: /^unsupported +model_list\[0\] +bedrock\/x: no provider here serves `bedrock\/…`/
  })
  t.match(await headgate(t, ['import', 'litellm'], directory), { code: 2, error: /--config is missing/ })
  t.match(await headgate(t, ['import', 'portkey', '--config', 'x'], directory), {
    code: 2,
    error: /name what to import: "headgate import litellm" or "headgate import bifrost"/
  })
  t.match(await headgate(t, ['import', 'bifrost', '--config', 'x', '--database', 'env:X'], directory), {
    code: 2,
    error: /--database is for LiteLLM only/
  })
  t.match(await headgate(t, ['import', 'bifrost'], directory), {
    code: 2,
    error: /--config is missing: the config\.json\./
  })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'none.yaml'], directory), {
    code: 1,
    error: /none\.yaml cannot be read: ENOENT/
  })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'bad.yaml'], directory), {
    code: 1,
    error: /bad\.yaml/
  })
})

const completion = chatAnswer('Hello.', { prompt_tokens: 10, completion_tokens: 10, total_tokens: 20 })

/** The configuration of a Bifrost with two accounts at one provider, and keys of a team. */
function bifrostConfig (address: string): string {
  const account = (name: string, value: string) => ({ name, value, models: ['*'], weight: 1 })
  const allowed = (models: readonly string[]) => [
    { provider: 'mine', allowed_models: models, key_ids: ['*'], weight: 1 }
  ]
  return JSON.stringify({
    client: { enforce_auth_on_inference: true },
    providers: {
      mine: {
        keys: [account('one', 'sk-in-clear'), account('two', 'env.ACCOUNT_TWO')],
        network_config: { base_url: address },
        custom_provider_config: { base_provider_type: 'openai' }
      }
    },
    governance: {
      teams: [{ id: 'team', name: 'Team', calendar_aligned: true }],
      budgets: [
        { id: 'b', max_limit: 5, reset_duration: '1M', team_id: 'team' },
        { id: 'spent', max_limit: 1, current_usage: 2, reset_duration: '1M', virtual_key_id: 'poor' }
      ],
      virtual_keys: [
        {
          id: 'rich',
          name: 'rich',
          value: 'env.VK_RICH',
          team_id: 'team',
          provider_configs: allowed(['*'])
        },
        {
          id: 'narrow',
          name: 'narrow',
          value: 'sk-bf-narrow',
          team_id: 'team',
          provider_configs: allowed(['gpt-4o'])
        },
        { id: 'poor', name: 'poor', value: 'sk-bf-poor', provider_configs: allowed(['*']) },
        { id: 'off', name: 'off', value: 'sk-bf-off', is_active: false, provider_configs: allowed(['*']) }
      ]
    }
  })
}

t.test(
  'a Bifrost installation is imported: its virtual keys keep working, with models and budgets',
  { timeout: 60_000 },
  async t => {
    const upstream = await fakeUpstream(() => ({
      pieces: [completion],
      headers: { 'content-type': 'application/json' }
    }))
    t.teardown(upstream.close)
    const directory = directoryOf(t, { 'config.json': bifrostConfig(upstream.url) })
    const args = ['import', 'bifrost', '--config', 'config.json']
    t.match(await headgate(t, args, directory), {
      code: 0,
      out: /^manual +governance\.virtual_keys\[0\] +set VK_RICH: [^]*In the database: 3 keys, 1 projects, 0 users\.$/
    })
    t.match(
      await headgate(t, [...args, '--apply'], directory),
      { code: 1, error: /: set VK_RICH: virtual keys are read from there\.$/ },
      'it would count as deleted'
    )
    t.same(readdirSync(directory), ['config.json'])
    const env = { VK_RICH: 'sk-bf-rich' }
    const applied = await headgate(t, [...args, '--apply'], directory, env)
    t.match(
      applied,
      {
        code: 0,
        out: /Written: headgate\.yaml and headgate\.env\.[^]*ACCOUNT_TWO\.[^]*Keys: 4 new, 0 changed, 0 revoked/
      },
      applied.error
    )
    t.equal(statSync(join(directory, 'headgate.env')).mode & 0o777, 0o600)
    t.notMatch([readFileSync(join(directory, 'headgate.yaml'), 'utf8'), applied.out].join('\n'), /sk-/)
    t.match(
      await headgate(t, [...args, '--apply'], directory, env),
      { code: 0, out: /Keys: 0 new, 0 changed, 0 revoked/ },
      'and once more'
    )
    const variables = { BIFROST_MINE_ONE: 'sk-in-clear', ACCOUNT_TWO: 'sk-two' }
    t.match(await headgate(t, ['check'], directory, variables), { code: 0, out: /providers: mine/ })

    const running = launch(t, ['start'], directory, { ...variables, PORT: '0' })
    const [, gateway = ''] = await running.line(/^Headgate listens on (\S+)$/)
    const call = async (key: string, model: string): Promise<number> => {
      const response = await fetch(`${gateway}/v1/chat/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, messages: [{ role: 'user', content: 'Hi' }] })
      })
      await response.arrayBuffer()
      return response.status
    }
    t.same(
      [
        await call('sk-bf-rich', 'mine/gpt-4o'),
        await call('sk-bf-rich', 'gpt-4o'),
        await call('sk-bf-rich', 'mine/other')
      ],
      [200, 200, 200]
    )
    t.same([await call('sk-bf-narrow', 'gpt-4o'), await call('sk-bf-narrow', 'mine/other')], [200, 403])
    t.same(
      [
        await call('sk-bf-poor', 'gpt-4o'),
        await call('sk-bf-off', 'gpt-4o'),
        await call('sk-bf-none', 'gpt-4o')
      ],
      [402, 401, 401]
    )
    // Both accounts have the same weight, so it is practically impossible that one gets all forty calls.
    const accounts = (): Set<unknown> => (
      new Set(upstream.requests.map(({ headers }) => headers.authorization))
    )
    for (let more = 0; more < 40 && accounts().size < 2; more++) await call('sk-bf-rich', 'gpt-4o')
    t.same(accounts(), new Set(['Bearer sk-in-clear', 'Bearer sk-two']), 'both accounts are used')
  }
)
