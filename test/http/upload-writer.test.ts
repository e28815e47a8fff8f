import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { UploadWriter } from '../../lib/http/upload-writer.ts'
import { scarce, unbounded } from '../support/holding.ts'

t.test('a disk that cannot be written ends the file with its error', async t => {
  const directory = t.testdir({ taken: 'by another' })
  for (const path of [join(directory, 'missing', 'file'), join(directory, 'taken')]) {
    const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => path })
    writer.write('bytes')
    const [error] = await once(writer, 'error')
    t.match(error, { syscall: 'open' })
    t.equal(writer.destroyed, true)
  }
})

t.test('an empty file takes nothing', async t => {
  const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => { throw new Error('nothing may be written') } })
  writer.end()
  await once(writer, 'finish')
  t.equal((await buffer(writer.open())).length, 0)
  t.equal((await writer.head()).length, 0)
})

t.test('a reader who leaves closes the file, and another may follow', async t => {
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
