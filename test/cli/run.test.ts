import { execFileSync, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { minNodeVersion } from '../../lib/process/require-node.ts'
import { closedUrl } from '../support/closed-port.ts'
import { headgate } from '../support/command.ts'
import { directoryOf, launch, main } from '../support/headgate.ts'
import { plainNode } from '../support/plain-node.ts'

t.test('a pipe in place of a file is refused without waiting', async t => {
  const directory = directoryOf(t, { 'litellm.yaml': 'model_list: []' })
  execFileSync('mkfifo', [join(directory, 'pipe')])
  for (const args of [
    ['check', '-c', 'pipe'],
    ['import', 'litellm', '--config', 'pipe'],
    ['import', 'litellm', '--config', 'litellm.yaml', '--apply', '--out', 'pipe'],
    ['apply', '-f', 'pipe', '--url', closedUrl],
    ['connect', 'claude-code', '--write', '--file', 'pipe']
  ]) {
    t.match(
      await headgate(t, args, directory, { HEADGATE_ADMIN_KEY: `hga_${'x'.repeat(24)}` }),
      { code: 1, error: /pipe +cannot be read(?:: | \()not a regular file/ },
      args.join(' ')
    )
  }
})

t.test('prints its usage and suggests the intended command', async t => {
  t.match(await headgate(t, ['--help']), { code: 0, out: /Usage: headgate COMMAND[^]*doctor/, error: '' })
  t.match(await headgate(t, []), { code: 2, out: '', error: /Usage: headgate COMMAND/ })
  t.match(await headgate(t, ['strat']), { code: 2, error: /unknown command "strat". Did you mean "start"\?/ })
  for (const command of ['start', 'check', 'models', 'route', 'usage', 'doctor', 'tools']) {
    t.match(await headgate(t, [command, '--help']), {
      code: 0,
      out: new RegExp(`headgate ${command}`),
      error: ''
    })
  }
  t.match(await headgate(t, ['keys', '--help']), { code: 0, out: /headgate keys create --name NAME/ })
  t.match(await headgate(t, ['keys', 'crate']), { code: 2, error: /did you mean "create"/ })
  t.match(
    await launch(t, ['strat'], directoryOf(t)).ended,
    { code: 2, out: '', error: /unknown command/ },
    'run as a process'
  )
  t.match(await headgate(t, ['check', '--jsn']), {
    code: 2,
    error: /Unknown option '--jsn'\nSee [^]*check --help/
  })
  t.match(await headgate(t, ['models', 'x']), { code: 2, error: /Unexpected argument 'x'\nSee / })
  t.match(await headgate(t, ['tools', 'list', 'a/b', '-c', 'none.yaml']), {
    code: 1,
    error: /^none.yaml {2}file not found/
  })
  t.match(await headgate(t, ['tools', 'list', '--jsn']), {
    code: 2,
    error: /^headgate tools: Unknown option '--jsn'\nSee "headgate tools --help"/
  })
})

t.test('an old Node.js version gives a message instead of a syntax error', async t => {
  const manifest: { engines: { node: string } } = JSON.parse(
    await readFile(join(import.meta.dirname, '../../../package.json'), 'utf8')
  )
  t.equal(manifest.engines.node, `>=${minNodeVersion}`)
  const old = 'data:text/javascript,Object.defineProperty(process.versions, "node", { value: "18.20.4" })'
  const [command, parameters] = plainNode('--import', old, main, '--version')
  const { status, stdout, stderr } = spawnSync(command, parameters, { encoding: 'utf8' })
  t.same(
    { status, stdout, stderr },
    { status: 1, stdout: '', stderr: 'headgate: Node.js 20.20.0 or newer is required; this is 18.20.4.\n' }
  )
})
