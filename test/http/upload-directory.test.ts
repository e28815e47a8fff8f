import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import t from 'tap'
import {
  createUploadDirectory,
  removeUploadDirectory,
  sweepUploads
} from '../../lib/http/upload-directory.ts'

t.test('each call has its own directory inside one that only this user can read', async t => {
  const [first, second] = [await createUploadDirectory(), await createUploadDirectory()]
  t.not(first, second)
  t.equal(dirname(first), dirname(second))
  t.equal(statSync(dirname(first)).mode & 0o777, 0o700)
  writeFileSync(join(first, 'a'), 'x')
  await removeUploadDirectory(first)
  t.notOk(existsSync(first))
  t.ok(existsSync(second), 'others stay')
  await removeUploadDirectory(second)
  await removeUploadDirectory(second)
})

t.test('a sweep deletes only what exited processes left', async t => {
  const { pid: ended } = spawnSync(process.execPath, ['--version'])
  const mine = await createUploadDirectory()
  const directoryOf = (pid: number): string => {
    const path = join(tmpdir(), `headgate-uploads-${pid}-test`)
    mkdirSync(join(path, 'call-1'), { recursive: true })
    return path
  }
  const [left, earlier, running] = [directoryOf(ended), directoryOf(process.pid), directoryOf(process.ppid)]
  const other = join(tmpdir(), `headgate-other-${process.pid}`)
  mkdirSync(other, { recursive: true })
  await sweepUploads()
  t.same(
    [left, earlier, running, mine, other].map(path => existsSync(path)),
    [false, false, true, true, true]
  )
  for (const path of [running, mine, other]) await removeUploadDirectory(path)
})
