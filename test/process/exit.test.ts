import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { closeGraceMs } from '../../lib/process/exit.ts'
import { stopGraceMs } from '../../lib/process/start-workers.ts'
import { loadSettings } from '../../lib/config/read-settings.ts'
import { plainNode } from '../support/plain-node.ts'
import type { Test } from 'tap'

const url = pathToFileURL(join(import.meta.dirname, '../../lib/process/exit.js')).href

/** Runs a program that imports the module. */
function start (t: Test, program: string) {
  const [command, parameters] = plainNode(
    '--input-type=module',
    '-e',
    `import * as exit from '${url}'\n${program}`
  )
  const child = spawn(command, parameters, { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  return child
}

t.test('everything is printed before the exit', async t => {
  const child = start(t, 'process.stdout.write("x".repeat(1_000_000)); exit.exitWhenPrinted(3)')
  let length = 0
  child.stdout.on('data', (bytes: Buffer) => { length += bytes.length })
  t.same([await once(child, 'close'), length], [[3, null], 1_000_000])
})

t.test('output that no one reads does not keep a process alive', async t => {
  const child = start(t, 'process.stdout.write("x".repeat(1_000_000)); exit.exitWhenPrinted(4)')
  child.stdout.pause()
  t.same(await once(child, 'exit'), [4, null])
})

t.test('a shutdown that hangs exits with 1; its timer keeps nothing alive', async t => {
  t.same(
    await once(
      start(t, 'exit.exitIfStopHangs({ shutdownDelayMs: 0, drainMs: 0 }); setInterval(() => {}, 1000)'),
      'exit'
    ),
    [1, null]
  )
  t.same(await once(start(t, 'exit.exitIfStopHangs({ shutdownDelayMs: 60_000, drainMs: 0 })'), 'exit'), [
    0,
    null
  ])
})

t.test('a thread that does not end keeps no process alive', async t => {
  const pipe = join(t.testdir({}), 'pipe')
  execFileSync('mkfifo', [pipe])
  const worker = pathToFileURL(join(import.meta.dirname, '../../lib/async/run-in-worker.js')).href
  const blocked = `data:text/javascript,${encodeURIComponent(`import { readFileSync } from 'node:fs'; readFileSync(${JSON.stringify(pipe)})`)}`
  const job =
    '{ limitMs: 5000, resourceLimits: {}, signal: new AbortController().signal, workerData: undefined }'
  const child = start(
    t,
    `import { runInWorker } from '${worker}'\nawait runInWorker(new URL(${JSON.stringify(blocked)}), ${job})\nexit.exitWhenPrinted(0)`
  )
  t.same(await once(child, 'exit'), [null, 'SIGKILL'])
})

t.test(
  "a shutdown with the default settings fits into Docker's ten seconds, whatever hangs",
  async t => {
    const {
      server: { shutdownDelayMs, drainMs }
    } = loadSettings({ env: {}, cwd: t.testdir() })
    for (const graceMs of [closeGraceMs, stopGraceMs]) t.ok(shutdownDelayMs + drainMs + graceMs < 10_000)
  }
)
