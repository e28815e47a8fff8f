import t from 'tap'
import { BodyQueue, bufferBytes } from '../../lib/client/body-queue.ts'

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

t.test('what has arrived since the last read is one piece', async t => {
  const { queue } = start()
  for (const text of ['a', 'b', 'c']) queue.push(Buffer.from(text))
  t.equal(textOf(await queue.next()), 'abc')
  const waiting = queue.next()
  queue.push(Buffer.from('d'))
  queue.push(Buffer.from('e'))
  t.equal(textOf(await waiting), 'd', 'one who waits gets the first at once')
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

t.test('above 32 KiB the socket is paused, once, until a read', async t => {
  const { queue, events } = start()
  queue.push(Buffer.alloc(32 * 1024))
  t.same(events, [])
  queue.push(Buffer.alloc(1))
  queue.push(Buffer.alloc(1))
  t.same(events, ['pause'])
  await queue.next()
  t.same(events, ['pause', 'resume'])
})

t.test('an error comes after what has arrived before it, to one who waits at once', async t => {
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

t.test('who leaves cancels the source, unless it has ended', async t => {
  const { queue, events } = start()
  queue.push(Buffer.from('a'))
  for await (const _ of queue) break
  t.same(events, ['cancel'])
  const ended = start()
  ended.queue.end()
  ended.queue.cancel()
  t.same(ended.events, [])
})

t.test('a body is taken complete up to its limit', async t => {
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

t.test('a body over its limit is refused as soon as it is', async t => {
  const { queue, events } = start()
  const complete = queue.buffer(400_000)
  queue.push(Buffer.alloc(10))
  queue.push(Buffer.alloc(400_000))
  await t.rejects(async () => await complete, { code: 'upstream_invalid_response' })
  t.same(events, ['cancel'])
})

t.test('a piece that waits keeps no more than twice its size in memory', async t => {
  const { queue } = start()
  const read = Buffer.alloc(60_000, 'x')
  queue.push(read.subarray(30_000, 30_001))
  const { value } = await queue.next()
  t.same([value?.length, value?.buffer.byteLength], [1, 1])
  queue.push(read.subarray(0, 40_000))
  t.equal((await queue.next()).value?.buffer, read.buffer, 'what is most of a read is not copied')
})

t.test('what a source gives at once when it is resumed comes next', async t => {
  const queue: BodyQueue = new BodyQueue({
    pause: () => undefined,
    resume: () => queue.push(Buffer.from('at once')),
    cancel: () => undefined
  })
  queue.push(Buffer.alloc(40_000)) // which pauses it
  await queue.next()
  t.equal(textOf(await queue.next()), 'at once')
})
