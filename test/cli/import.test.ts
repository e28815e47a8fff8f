import { spawnSync } from 'node:child_process'
import { chmodSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { headgate } from '../support/command.ts'

const config = `
model_list:
  - { model_name: mine, litellm_params: { model: openai/gpt-4o, api_base: "http://127.0.0.1:1/v1", api_key: "sk-in-clear" } }
  - { model_name: other, litellm_params: { model: anthropic/claude-sonnet-4-5, api_key: os.environ/CLAUDE_KEY } }
environment_variables: { PLAIN: "a b$HOME'c" }
general_settings: { master_key: sk-master }
`

t.test('a plan is printed, and nothing is written', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const plan = await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory)
  t.match(plan, { code: 0, out: /^manual +general_settings\.master_key[^]*entries: \d+ exact, 0 approximate, 1 manual, 0 unsupported\.$/ })
  t.notMatch(plan.out, /sk-/)
  t.throws(() => statSync(join(directory, 'headgate.yaml')), { code: 'ENOENT' })
  const json = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--json'], directory)
  t.match(JSON.parse(json.out), { rows: [{ verdict: 'exact' }], config: { providers: {} }, variables: ['LITELLM_127_0_0_1_1_API_KEY', 'CLAUDE_KEY'] })
})

t.test('--apply writes a valid configuration, and secrets for its owner alone; again, the same', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  for (let time = 0; time < 2; time++) {
    const applied = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--apply'], directory)
    t.match(applied, { code: 0, out: /Written: headgate\.yaml and headgate\.env\.\nSet these variables before you start it: CLAUDE_KEY\.$/ })
    t.equal(statSync(join(directory, 'headgate.env')).mode & 0o777, 0o600)
    t.match(readFileSync(join(directory, 'headgate.env'), 'utf8'), /^LITELLM_127_0_0_1_1_API_KEY=sk-in-clear$/m)
    const shell = spawnSync('sh', ['-c', '. ./headgate.env; printf %s "$PLAIN"'], { cwd: directory, encoding: 'utf8' })
    t.equal(shell.stdout, "a b$HOME'c", 'a shell reads it as it was')
    chmodSync(join(directory, 'headgate.env'), 0o644)
    t.notMatch(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), /sk-/)
  }
  const env = { LITELLM_127_0_0_1_1_API_KEY: 'x', CLAUDE_KEY: 'y' }
  t.match(await headgate(t, ['check'], directory, env), { code: 0, out: /providers: 127\.0\.0\.1-1, anthropic/ })
})

t.test('a configuration that would not be valid replaces nothing', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const args = ['import', 'litellm', '--config', 'config.yaml', '--apply']
  t.equal((await headgate(t, args, directory)).code, 0)
  const before = readFileSync(join(directory, 'headgate.yaml'), 'utf8')
  writeFileSync(join(directory, 'config.yaml'), `${config}\nmcp_servers: { a: { command: "" } }\n`)
  t.match(await headgate(t, args, directory), { code: 1, error: /nothing was written: the configuration would not be valid/ })
  t.equal(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), before)
  t.same(readdirSync(directory).toSorted(), ['config.yaml', 'headgate.env', 'headgate.yaml'])
  t.match(await headgate(t, [...args, '--out', 'x', '--secrets', './x'], directory), { code: 2, error: /--out and --secrets name the same file/ })
})

t.test('without a place for secrets no configuration is written', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  const args = ['import', 'litellm', '--config', 'config.yaml', '--apply', '--secrets', 'missing/secrets.env']
  t.match(await headgate(t, args, directory), { code: 1, error: /missing\/secrets\.env cannot be written: ENOENT/ })
  t.same(readdirSync(directory), ['config.yaml'])
})

t.test('names of the file move no cursor', async t => {
  const directory = t.testdir({ 'config.yaml': 'model_list: [{ model_name: "a\\e[2Jb", litellm_params: { model: "x\\ny/z" } }]' })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory), { code: 1, out: /^unsupported +model_list\[0\] +x\\u000ay\/z: / })
})

t.test('a file of someone else is not replaced', async t => {
  const directory = t.testdir({ 'config.yaml': config })
  writeFileSync(join(directory, 'headgate.yaml'), 'providers: {}\n')
  const refused = await headgate(t, ['import', 'litellm', '--config', 'config.yaml', '--apply'], directory)
  t.match(refused, { code: 1, error: /headgate\.yaml exists, and this command did not write it/ })
  t.equal(readFileSync(join(directory, 'headgate.yaml'), 'utf8'), 'providers: {}\n')
})

t.test('an entry without counterpart is exit code 1, and wrong usage is 2', async t => {
  const directory = t.testdir({ 'config.yaml': 'model_list: [{ model_name: a, litellm_params: { model: bedrock/x } }]', 'bad.yaml': ': [' })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'config.yaml'], directory), { code: 1, out: /^unsupported +model_list\[0\] +bedrock\/x: no provider here serves `bedrock\/…`/ })
  t.match(await headgate(t, ['import', 'litellm'], directory), { code: 2, error: /--config is missing/ })
  t.match(await headgate(t, ['import', 'portkey', '--config', 'x'], directory), { code: 2, error: /name what to import/ })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'none.yaml'], directory), { code: 1, error: /none\.yaml cannot be read: ENOENT/ })
  t.match(await headgate(t, ['import', 'litellm', '--config', 'bad.yaml'], directory), { code: 1, error: /bad\.yaml/ })
})
