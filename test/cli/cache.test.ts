import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { cache } from '../../lib/cli/cache.ts'
import { SharedAnswers } from '../../lib/coordination/shared-answers.ts'
import { noRedis, startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import type { Terminal } from '../../lib/process/terminal.ts'
import type { Test } from 'tap'

async function run (
  t: Test,
  args: readonly string[],
  config: string,
  redis = 'redis://127.0.0.1:1'
): Promise<string> {
  const directory = t.testdir()
  const file = join(directory, 'headgate.yaml')
  writeFileSync(file, config)
  const lines: string[] = []
  // all that the command uses
  const terminal = {
    env: { REDIS: redis },
    cwd: directory,
    out: (line: string) => {
      lines.push(line)
    }
  } as Partial<Terminal> as Terminal
  await cache.run([...args, '--config', file], terminal)
  return lines.join('\n')
}

t.test('a wrong command or a missing Redis is explained', async t => {
  const config = 'providers: { sandbox: { enabled: true } }\n'
  await t.rejects(run(t, ['clear'], config), /Without `coordination\.url`, answers are in the memory/)
  for (const args of [[], ['empty'], ['clear', 'all']]) {
    await t.rejects(run(t, args, config), { message: 'use clear', exitCode: 2 })
  }
  await t.rejects(
    run(t, ['clear'], `${config}coordination: { url: 'env:REDIS', timeout_ms: 100 }\n`),
    /Redis cannot be reached/
  )
})

t.test('clear deletes the answers in Redis', { skip: noRedis }, async t => {
  const redis = await startRedis(t)
  const server = await redis.connect(t)
  const answers = new SharedAnswers(server)
  const config = `providers: { sandbox: { enabled: true } }\ncoordination: { url: 'env:REDIS' }\n`
  answers.set('a', 'text', 60_000)
  await until(async () => (await answers.get('a')) === 'text', 'the answer')
  t.equal(await run(t, ['clear'], config, redis.url), 'Deleted 1 cached answer.')
  t.equal(await run(t, ['clear'], config, redis.url), 'Deleted 0 cached answers.')
})
