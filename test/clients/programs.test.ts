/**
 * Codex and OpenCode, headless, as a user runs them: each with its own home directory, and with no network
 * access except to the gateway. `.ci/programs.mjs` installs them and runs this test; elsewhere it is skipped.
 */

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import t from 'tap'
import { startGateway } from '../support/headgate.ts'
import { plainCommand } from '../support/plain-node.ts'
import type { Test } from 'tap'

const programs = process.env['HEADGATE_TEST_PROGRAMS']
const platform = `linux-${process.arch}`
const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
const codex = `@openai/codex-${platform}/vendor/${machine}-unknown-linux-musl/bin/codex`
const openCode = `opencode-${platform}/bin/opencode`

interface Place {
  readonly url: string
  readonly home: string
  readonly work: string
  /** Runs a program to its end and returns the events that it prints, one JSON object per line. */
  readonly run: (
    program: string,
    args: readonly string[],
    input: string
  ) => Promise<Array<Record<string, unknown>>>
}

/** Starts the gateway with the sandbox, and creates a home directory for a program. */
async function start (t: Test): Promise<Place> {
  const folder = mkdtempSync(join(tmpdir(), 'headgate-programs-'))
  // A process that the program left behind may still write to its home, so removal is retried.
  t.teardown(() => { rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }) })
  const home = join(folder, 'home')
  const work = join(folder, 'work')
  for (const path of [home, work]) mkdirSync(path)
  const { url, line } = await startGateway(t, folder, { HEADGATE_SANDBOX: 'on' })
  const [, key = ''] = await line(/^API key .*: (hg_\S+)$/)
  const proxy = 'http://127.0.0.1:9' // nothing listens there
  const env = {
    PATH: '/usr/bin:/bin',
    HOME: home,
    HEADGATE_KEY: key,
    HTTP_PROXY: proxy,
    HTTPS_PROXY: proxy,
    NO_PROXY: '127.0.0.1',
    OPENCODE_DISABLE_MODELS_FETCH: '1'
  }
  return {
    url,
    home,
    work,
    run: async (program, args, input) => {
      const [command, parameters] = plainCommand(join(programs ?? '', 'node_modules', program), ...args)
      const child = spawn(command, parameters, { cwd: work, env, timeout: 120_000 })
      child.stdin.end(input)
      const [[code], out, error] = await Promise.all([
        once(child, 'close') as Promise<unknown[]>,
        textOf(child.stdout),
        textOf(child.stderr)
      ])
      t.equal(code, 0, `it ends well: ${error}`)
      return out
        .split('\n')
        .filter(line => line.startsWith('{'))
        .map(line => JSON.parse(line) as Record<string, unknown>)
    }
  }
}

/** Returns the arguments that make the sandbox call the shell tool of a program. */
function shellCall (name: string, argument: string): string {
  return `use ${name} with ${JSON.stringify({ [argument]: 'echo from the shell > seen.txt; cat seen.txt', ...name === 'bash' && { description: 'try' } })}`
}

function checkSeen (t: Test, work: string): void {
  const file = join(work, 'seen.txt')
  t.equal(existsSync(file) && readFileSync(file, 'utf8'), 'from the shell\n', 'the command was run')
}

if (programs === undefined)
  void t.test(
    'Codex and OpenCode',
    { skip: 'not installed: run `node .ci/programs.mjs`' },
    async () => undefined
  )
else {
  t.test('Codex: a question, and a task with a command', async t => {
    const { url, home, work, run } = await start(t)
    mkdirSync(join(home, '.codex'))
    // As in docs/clients.md, with update checks turned off.
    writeFileSync(join(home, '.codex/config.toml'), `
model = "sandbox/echo"
model_provider = "headgate"
check_for_update_on_startup = false

[model_providers.headgate]
name = "Headgate"
base_url = "${url}/v1"
env_key = "HEADGATE_KEY"
wire_api = "responses"

[analytics]
enabled = false

[features]
plugins = false
`)
    const ask = async (prompt: string): Promise<Array<Record<string, unknown>>> =>
      (
        await run(
          codex,
          ['exec', '--json', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '-'],
          prompt
        )
      ).flatMap(({ item }) => (item === undefined ? [] : [Object(item) as Record<string, unknown>]))
    t.match((await ask('Say hello')).at(-1), { type: 'agent_message', text: /You said: "Say hello/ })
    const items = await ask(shellCall('exec_command', 'cmd'))
    t.match(
      items.findLast(({ type }) => type === 'command_execution'),
      { exit_code: 0, aggregated_output: 'from the shell\n', status: 'completed' }
    )
    t.match(items.at(-1), {
      type: 'agent_message',
      text: /The tool exec_command returned:.*from the shell/s
    })
    checkSeen(t, work)
  })

  const dialects = {
    chat: '@ai-sdk/openai-compatible',
    responses: '@ai-sdk/openai',
    messages: '@ai-sdk/anthropic'
  }
  for (const [dialect, npm] of Object.entries(dialects)) {
    t.test(`OpenCode, ${dialect}: a task with a command`, async t => {
      const { url, work, run } = await start(t)
      writeFileSync(
        join(work, 'opencode.json'),
        JSON.stringify({
          $schema: 'https://opencode.ai/config.json',
          autoupdate: false,
          share: 'disabled',
          permission: 'allow',
          provider: {
            headgate: {
              npm,
              name: 'Headgate',
              options: { baseURL: `${url}/v1`, apiKey: '{env:HEADGATE_KEY}' },
              models: { 'sandbox/echo': {} }
            }
          },
          model: 'headgate/sandbox/echo',
          small_model: 'headgate/sandbox/echo'
        })
      )
      const ask = async (prompt: string): Promise<unknown[]> =>
        (await run(openCode, ['run', '--format', 'json'], prompt)).map(({ part }) => part)
      if (dialect === 'chat') {
        t.match(
          (await ask('Say hello')).find(part => Reflect.get(Object(part), 'type') === 'text'),
          { text: /You said: "Say hello/ }
        )
      }
      const parts = await ask(shellCall('bash', 'command'))
      t.match(
        parts.find(part => Reflect.get(Object(part), 'type') === 'tool'),
        { tool: 'bash', state: { status: 'completed', output: 'from the shell\n' } }
      )
      t.match(
        parts.find(part => Reflect.get(Object(part), 'type') === 'text'),
        { text: /The tool bash returned: from the shell/ }
      )
      checkSeen(t, work)
    })
  }
}
