import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { UploadWriter } from '../../lib/http/upload-writer.ts'
import { scarce, unbounded } from '../support/holding.ts'
import { until } from '../support/until.ts'

t.test('a disk write error ends the file with that error', async t => {
  const directory = t.testdir({ taken: 'by another' })
  for (const path of [join(directory, 'missing', 'file'), join(directory, 'taken')]) {
    const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => path })
    writer.write(Buffer.alloc(5000))
    const [error] = await once(writer, 'error')
    t.match(error, { syscall: 'open' })
    t.equal(writer.destroyed, true)
  }
})

t.test('an empty file takes no space', async t => {
  const writer = new UploadWriter({
    memory: scarce,
    disk: unbounded,
    newPath: async () => {
      throw new Error('nothing may be written')
    }
  })
  writer.end()
  await once(writer, 'finish')
  t.equal((await buffer(writer.open())).length, 0)
  t.equal((await writer.head()).length, 0)
})

t.test('a reader that stops early closes the file, and another can follow', async t => {
  const path = join(t.testdir(), 'file')
  const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => path })
  const bytes = Buffer.alloc(300_000, 'abc')
  writer.end(bytes)
  await once(writer, 'finish')
  t.ok(existsSync(path))
  for await (const piece of writer.open()) {
    t.ok(piece.length < bytes.length)
    break
  }
  t.same(await writer.head(), bytes.subarray(0, 4100))
  t.ok(bytes.equals(await buffer(writer.open())))
})

t.test('a file of small chunks takes little more memory than its bytes', async t => {
  let taken = 0
  const memory = {
    leavesHalfFree: () => true,
    take: (bytes: number) => {
      taken += bytes
    }
  }
  const writer = new UploadWriter({
    memory,
    disk: scarce,
    newPath: async () => {
      throw new Error('nothing may be written')
    }
  })
  const bytes = Buffer.from(Array.from({ length: 50_000 }, (_, index) => index % 251))
  for (let at = 0; at < bytes.length; at += 10) writer.write(bytes.subarray(at, at + 10))
  writer.end()
  await once(writer, 'finish')
  t.ok(bytes.equals(await buffer(writer.open())))
  t.ok(taken < 60_000, `${taken} bytes`)
})

t.test('a writer abandoned while it waits for its path opens no file', async t => {
  const directory = t.testdir()
  let found: (path: string) => void = () => t.fail('no path was requested')
  const writer = new UploadWriter({
    memory: scarce,
    disk: unbounded,
    newPath: async () =>
      await new Promise(resolve => {
        found = resolve
      })
  })
  writer.write(Buffer.alloc(5000))
  await writer.close()
  const path = join(directory, 'file')
  found(path)
  await new Promise(resolve => { setImmediate(resolve) })
  t.notOk(existsSync(path))
})

t.test('a writer is closed with its file', async t => {
  const path = join(t.testdir(), 'file')
  const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => path })
  writer.write(Buffer.alloc(5000))
  await until(() => existsSync(path), 'the file')
  await writer.close()
  rmSync(path)
  await writer.close()
  t.notOk(existsSync(path))
})
