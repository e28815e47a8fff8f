import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { noteRunning, runningAt } from '../../lib/process/running-gateway.ts'

t.test('the address is known while its process runs, and no longer', t => {
  const directory = join(t.testdir(), 'data')
  t.equal(runningAt(directory), undefined)
  const forget = noteRunning(directory, 'http://127.0.0.1:1')
  t.equal(runningAt(directory), 'http://127.0.0.1:1')
  forget()
  t.equal(runningAt(directory), undefined)
  t.notOk(existsSync(join(directory, 'gateway.json')))
  t.end()
})

t.test('a note of a killed process, and one that is half written, say nothing', t => {
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

t.test('a gateway that stops leaves the note of another one', t => {
  const directory = t.testdir()
  const forget = noteRunning(directory, 'http://127.0.0.1:1')
  writeFileSync(
    join(directory, 'gateway.json'),
    JSON.stringify({ pid: process.ppid, url: 'http://127.0.0.1:2' })
  )
  forget()
  t.equal(runningAt(directory), 'http://127.0.0.1:2')
  t.end()
})
