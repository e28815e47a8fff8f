import t from 'tap'
import { BodyQueue, bufferBytes, decompressed } from '../../lib/client/body-queue.ts'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { until } from '../support/until.ts'

function start () {
  const events: string[] = []
  const queue = new BodyQueue({
    pause: () => events.push('pause'),
    resume: () => events.push('resume'),
    cancel: () => events.push('cancel')
  })
  return { queue, events }
}

const textOf = ({ value }: IteratorResult<Uint8Array, undefined>): string | undefined =>
  value === undefined ? undefined : Buffer.from(value).toString()

t.test('everything received since the last read is one piece', async t => {
  const { queue } = start()
  for (const text of ['a', 'b', 'c']) queue.push(Buffer.from(text))
  t.equal(textOf(await queue.next()), 'abc')
  const waiting = queue.next()
  queue.push(Buffer.from('d'))
  queue.push(Buffer.from('e'))
  t.equal(textOf(await waiting), 'd', 'a waiting reader gets the first piece at once')
  queue.end()
  t.equal(textOf(await queue.next()), 'e')
  t.same(
    [await queue.next(), await queue.next()],
    [
      { done: true, value: undefined },
      { done: true, value: undefined }
    ]
  )
})

t.test('above 32 KiB the socket is paused once, until a read', async t => {
  const { queue, events } = start()
  queue.push(Buffer.alloc(32 * 1024))
  t.same(events, [])
  queue.push(Buffer.alloc(1))
  queue.push(Buffer.alloc(1))
  t.same(events, ['pause'])
  await queue.next()
  t.same(events, ['pause', 'resume'])
})

t.test('an error comes after the data received before it; a waiting reader gets it at once', async t => {
  const { queue } = start()
  queue.push(Buffer.from('a'))
  queue.fail(new Error('cut'))
  queue.push(Buffer.from('late'))
  t.equal(textOf(await queue.next()), 'a')
  await t.rejects(queue.next(), { message: 'cut' })
  const other = start().queue
  const waiting = other.next()
  other.fail(new Error('cut'))
  await t.rejects(waiting, { message: 'cut' })
})

t.test('leaving cancels the source unless it has ended', async t => {
  const { queue, events } = start()
  queue.push(Buffer.from('a'))
  for await (const _ of queue) break
  t.same(events, ['cancel'])
  const ended = start()
  ended.queue.end()
  ended.queue.cancel()
  t.same(ended.events, [])
})

t.test('a body is read completely up to its limit', async t => {
  const { queue } = start()
  queue.push(Buffer.from('ab'))
  const complete = queue.buffer(4)
  queue.push(Buffer.from('cd'))
  queue.end()
  t.equal(String(await complete), 'abcd')
  let left = false
  const source = async function * (): AsyncGenerator<Uint8Array, void, undefined> {
    try {
      yield Buffer.from('abc')
      yield Buffer.from('de')
    } finally {
      left = true
    }
  }
  await t.rejects(bufferBytes(source(), 4), {
    code: 'upstream_invalid_response',
    message: "The provider's answer is too large."
  })
  t.equal(left, true)
})

t.test('a body over its limit is refused as soon as the limit is exceeded', async t => {
  const { queue, events } = start()
  const complete = queue.buffer(400_000)
  queue.push(Buffer.alloc(10))
  queue.push(Buffer.alloc(400_000))
  await t.rejects(async () => await complete, { code: 'upstream_invalid_response' })
  t.same(events, ['cancel'])
})

t.test('a queued piece keeps at most twice its size in memory', async t => {
  const { queue } = start()
  const read = Buffer.alloc(60_000, 'x')
  queue.push(read.subarray(30_000, 30_001))
  const { value } = await queue.next()
  t.same([value?.length, value?.buffer.byteLength], [1, 1])
  queue.push(read.subarray(0, 40_000))
  t.equal((await queue.next()).value?.buffer, read.buffer, 'a piece that is most of a read is not copied')
})

t.test('data that the source gives during resume comes next', async t => {
  const queue: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => queue.push(Buffer.from('at once')),
    cancel: () => undefined
  })
  queue.push(Buffer.alloc(40_000)) // pauses the source
  await queue.next()
  t.equal(textOf(await queue.next()), 'at once')
})

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
  for (const encoding of ['identity', '']) t.equal(decompressed(queue, encoding), queue)
})

t.test('a body is decoded, and what has arrived is passed on before the end', async t => {
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
  'a truncated body is an interruption; an unknown encoding, bad bytes or too many bytes are errors',
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

t.test('a decompression bomb is refused, however it is read', async t => {
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
  t.ok(sizeBytes > 0 && sizeBytes < 3_000_000, `${sizeBytes} bytes were returned`)
  const numbers = Array.from({ length: 300_000 }, (_, number) => String(number)).join(' ')
  const text = body(gzipSync(numbers))
  text.queue.end()
  t.equal(
    (await decompressed(text.queue, 'gzip').buffer(1e7)).length,
    numbers.length,
    'plain text of that size is accepted'
  )
})

t.test('a truncated body that is read late rejects its reader, without an uncaught error', async t => {
  const { queue } = body(gzipSync('hello').subarray(0, 12))
  queue.end()
  const late = decompressed(queue, 'gzip')
  for (let turn = 0; turn < 20; turn++) await new Promise(resolve => { setImmediate(resolve) })
  await t.rejects(async () => await late.buffer(100), { code: 'upstream_stream_interrupted' })
})

t.test('cancelling closes the connection', async t => {
  const { queue, cancelled } = body(gzipSync('hello').subarray(0, 12))
  decompressed(queue, 'gzip').cancel()
  t.equal(cancelled(), true)
})
