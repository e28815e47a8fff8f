import { once } from 'node:events'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import t from 'tap'
import { blockBytes, UploadBlocks } from '../../lib/http/upload-blocks.ts'
import { UploadWriter } from '../../lib/http/upload-writer.ts'
import { scarce, unbounded } from '../support/holding.ts'
import { until } from '../support/until.ts'

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

/** Writes a file of so many bytes, in pieces of a size that fits no block, and returns it with its bytes. */
async function inMemory (pool: UploadBlocks, sizeBytes: number, seed: number): Promise<{ readonly writer: UploadWriter, readonly bytes: Buffer }> {
  const writer = new UploadWriter({ memory: unbounded, disk: scarce, newPath: async () => { throw new Error('nothing may be written') } }, pool)
  const bytes = Buffer.from(Array.from({ length: sizeBytes }, (_, index) => (index * seed) % 251))
  for (let at = 0; at < sizeBytes; at += 65_521) writer.write(Buffer.from(bytes.subarray(at, at + 65_521)))
  writer.end()
  await once(writer, 'finish')
  return { writer, bytes }
}

t.test('files of any size are read as they were written, in memory that others had before', async t => {
  const pool = new UploadBlocks()
  for (const sizeBytes of [1, 512 * 1024, 512 * 1024 + 1, 4 * blockBytes, 4 * blockBytes + 1, 3_000_000, 700_000]) {
    const { writer, bytes } = await inMemory(pool, sizeBytes, sizeBytes % 13 + 1)
    for (const time of ['first', 'second']) t.ok(bytes.equals(await buffer(writer.open())), `${sizeBytes} bytes, the ${time} time`)
    const head = await writer.head()
    t.same(head, bytes.subarray(0, 4100))
    t.ok(head.buffer.byteLength < blockBytes, 'the block that it is in does not stay with it')
    writer.giveBack()
  }
  t.ok(pool.free > 0)
})

t.test('a file larger than half a megabyte is in blocks from its first byte on', async t => {
  for (const [sizeBytes, blocks] of [[512 * 1024, 0], [512 * 1024 + 1, 3], [4 * blockBytes, 4], [4 * blockBytes + 1, 5]] as const) {
    const pool = new UploadBlocks()
    const { writer } = await inMemory(pool, sizeBytes, 7)
    writer.giveBack()
    t.equal(pool.free, blocks, `${sizeBytes} bytes`)
  }
})

t.test('what a reader may still hold is not used again', async t => {
  const pool = new UploadBlocks()
  const { writer: open } = await inMemory(pool, 2_000_000, 3)
  const reader = open.open()
  await reader.next()
  open.giveBack()
  t.equal(pool.free, 0, 'it is being read')
  await reader.return()
  open.giveBack()
  t.equal(pool.free, 0, 'a reader has left')

  const { writer: read, bytes } = await inMemory(pool, 2_000_000, 5)
  const pieces: Uint8Array[] = []
  for await (const piece of read.open()) pieces.push(piece)
  read.giveBack()
  t.ok(pool.free > 0)
  const last = bytes.subarray(bytes.length - (pieces.at(-1)?.length ?? 0))
  for (let block = pool.take(), more = true; more; more = pool.free > 0, block = pool.take()) block.fill(0)
  t.ok(last.equals(pieces.at(-1) ?? Buffer.alloc(0)), 'the last piece may still wait in a socket')
  read.giveBack()
  t.equal(pool.free, 0, 'blocks are given back once')
})

t.test('a writer that is given up while it waits for its path opens no file', async t => {
  const directory = t.testdir()
  let found: (path: string) => void = () => t.fail('no path was requested')
  const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => await new Promise(resolve => { found = resolve }) })
  writer.write('bytes')
  await writer.close()
  const path = join(directory, 'file')
  found(path)
  await new Promise(resolve => { setImmediate(resolve) })
  t.notOk(existsSync(path))
})

t.test('a writer is closed once its file is', async t => {
  const path = join(t.testdir(), 'file')
  const writer = new UploadWriter({ memory: scarce, disk: unbounded, newPath: async () => path })
  writer.write('bytes')
  await until(() => existsSync(path), 'the file')
  await writer.close()
  rmSync(path)
  await writer.close()
  t.notOk(existsSync(path))
})
