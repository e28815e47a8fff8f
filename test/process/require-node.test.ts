import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { minNodeVersion } from '../../lib/process/require-node.ts'
import { plainNode } from '../support/plain-node.ts'

const root = join(import.meta.dirname, '../../..')
const file = join(import.meta.dirname, '../../lib/process/require-node.js')

t.test('the required version is the one in package.json', async t => {
  t.match(JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')), {
    engines: { node: `>=${minNodeVersion}` }
  })
})

t.test('an older Node.js exits with one sentence', async t => {
  const run = (version: string): { status: number | null, stderr: string } => {
    const [command, args] = plainNode(
      '-e',
      `import(${JSON.stringify(file)}).then(({ requireNode }) => requireNode('${version}'))`
    )
    const { status, stderr } = spawnSync(command, args, { encoding: 'utf8' })
    return { status, stderr }
  }
  t.same(run('18.20.4'), {
    status: 1, stderr: `headgate: Node.js ${minNodeVersion} or newer is required; this is 18.20.4.\n`
  })
  t.same(run(process.versions.node), { status: 0, stderr: '' })
  t.same(run('100.0.0'), { status: 0, stderr: '' })
})
