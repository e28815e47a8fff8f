import { brotliCompressSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { decompressed } from '../../lib/client/decompress.ts'
import { until } from '../support/until.ts'

function body (...pieces: Uint8Array[]) {
  let cancelled = false
  const queue: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => {
      cancelled = true
      queue.end()
    }
  })
  for (const piece of pieces) queue.push(Buffer.from(piece))
  return { queue, cancelled: () => cancelled }
}

t.test('a body without an encoding is the same object', async t => {
  const { queue } = body()
  for (const encoding of [undefined, 'identity', '']) t.equal(decompressed(queue, encoding), queue)
})

t.test('an encoding is undone, and what has arrived is given out before the end', async t => {
  for (const [encoding, bytes] of [
    ['gzip', gzipSync('hello')],
    ['br', brotliCompressSync('hello')]
  ] as const) {
    const { queue } = body(bytes)
    queue.end()
    t.equal(String(await decompressed(queue, encoding).buffer(100)), 'hello')
  }
  const compressed = gzipSync('hello')
  const { queue } = body(compressed.subarray(0, compressed.length - 8))
  const reading = decompressed(queue, 'gzip')[Symbol.asyncIterator]()
  t.equal(Buffer.from((await reading.next()).value ?? []).toString(), 'hello')
  await reading.return?.()
})

t.test(
  'a cut body is an interruption, other bytes and encodings are invalid, and too many are too many',
  async t => {
    const cut = body(gzipSync('hello').subarray(0, 12)).queue
    cut.end()
    await t.rejects(async () => await decompressed(cut, 'gzip').buffer(100), {
      code: 'upstream_stream_interrupted'
    })
    const wrong = body(Buffer.from('no gzip at all')).queue
    wrong.end()
    await t.rejects(async () => await decompressed(wrong, 'gzip').buffer(100), {
      code: 'upstream_invalid_response'
    })
    const unknown = body(Buffer.from('x'))
    await t.rejects(async () => await decompressed(unknown.queue, 'compress').buffer(100), {
      code: 'upstream_invalid_response',
      cause: 'content-encoding compress'
    })
    t.equal(unknown.cancelled(), true)
    const bomb = body(gzipSync(Buffer.alloc(1_000_000)))
    await t.rejects(async () => await decompressed(bomb.queue, 'gzip').buffer(1000), {
      code: 'upstream_invalid_response'
    })
    await until(bomb.cancelled, 'the source to be given up')
  }
)

t.test('a body that is compressed too much is refused, however it is read', async t => {
  const zeros = gzipSync(Buffer.alloc(5_000_000))
  const complete = body(zeros)
  await t.rejects(async () => await decompressed(complete.queue, 'gzip').buffer(1e8), {
    code: 'upstream_invalid_response',
    cause: 'the body is compressed more than 200:1'
  })
  await until(complete.cancelled, 'the source to be given up')
  const streamed = body(zeros)
  let sizeBytes = 0
  await t.rejects(
    async () => {
      for await (const bytes of decompressed(streamed.queue, 'gzip')) sizeBytes += bytes.length
    },
    { code: 'upstream_invalid_response' }
  )
  t.ok(sizeBytes > 0 && sizeBytes < 3_000_000, `${sizeBytes} bytes were given out`)
  const numbers = Array.from({ length: 300_000 }, (_, number) => String(number)).join(' ')
  const text = body(gzipSync(numbers))
  text.queue.end()
  t.equal(
    (await decompressed(text.queue, 'gzip').buffer(1e7)).length,
    numbers.length,
    'a text of that size is not'
  )
})

t.test('a cut body that is read late is an interruption for its reader, and no uncaught error', async t => {
  const { queue } = body(gzipSync('hello').subarray(0, 12))
  queue.end()
  const late = decompressed(queue, 'gzip')
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => { setImmediate(resolve) })
  await t.rejects(async () => await late.buffer(100), { code: 'upstream_stream_interrupted' })
})

t.test('who cancels closes the connection', async t => {
  const { queue, cancelled } = body(gzipSync('hello').subarray(0, 12))
  decompressed(queue, 'gzip').cancel()
  t.equal(cancelled(), true)
})
