import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noteRunning, runningAt } from '../../lib/process/running-gateway.ts'

const warnings: unknown[] = []
const log = { warn: (...line: unknown[]) => { warnings.push(line) } }

t.test('the address is known while its process runs, and no longer', t => {
  const directory = join(t.testdir(), 'data')
  t.equal(runningAt(directory), undefined)
  const forget = noteRunning(directory, 'http://127.0.0.1:1', log)
  t.equal(runningAt(directory), 'http://127.0.0.1:1')
  forget()
  t.equal(runningAt(directory), undefined)
  t.notOk(existsSync(join(directory, 'gateway.json')))
  t.end()
})

t.test('the file of a killed process or a half-written one is ignored', t => {
  const { pid } = spawnSync(process.execPath, ['-e', ''])
  for (const text of [
    JSON.stringify({ pid, url: 'http://127.0.0.1:1' }),
    '{"pid":',
    '[]',
    '{"pid":"1","url":1}'
  ]) {
    t.equal(runningAt(t.testdir({ 'gateway.json': text })), undefined, text)
  }
  t.end()
})

t.test('a gateway that stops keeps the file of another one', t => {
  const directory = t.testdir()
  const forget = noteRunning(directory, 'http://127.0.0.1:1', log)
  writeFileSync(
    join(directory, 'gateway.json'),
    JSON.stringify({ pid: process.ppid, url: 'http://127.0.0.1:2' })
  )
  forget()
  t.equal(runningAt(directory), 'http://127.0.0.1:2')
  t.end()
})

t.test('a pipe or a link in place of the file is replaced, and a directory is reported', t => {
  const directory = t.testdir({ other: 'keep', pipe: {}, link: {}, folder: { 'gateway.json': {} } })
  execFileSync('mkfifo', [join(directory, 'pipe', 'gateway.json')])
  symlinkSync(join(directory, 'other'), join(directory, 'link', 'gateway.json'))
  t.equal(runningAt(join(directory, 'pipe')), undefined, 'a pipe is not waited for')
  for (const name of ['pipe', 'link']) {
    const dataDir = join(directory, name)
    noteRunning(dataDir, 'http://127.0.0.1:1', log)
    t.equal(runningAt(dataDir), 'http://127.0.0.1:1', name)
  }
  t.equal(readFileSync(join(directory, 'other'), 'utf8'), 'keep', 'nothing is written through the link')
  t.same(warnings, [])
  const file = join(directory, 'folder', 'gateway.json')
  noteRunning(join(directory, 'folder'), 'http://127.0.0.1:1', log)()
  t.match(warnings, [[{ file, cause: { code: 'EISDIR' } }, /failed to record the address/]])
  t.end()
})
