import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { BodyQueue } from '../../lib/client/body-queue.ts'
import { readErrorBody } from '../../lib/providers/error-body.ts'

function open (): { readonly body: BodyQueue, readonly cancelled: () => boolean } {
  let cancelled = false
  const body = new BodyQueue({
    pause: () => undefined,
    resume: () => undefined,
    cancel: () => {
      cancelled = true
    }
  })
  return { body, cancelled: () => cancelled }
}

async function read (body: BodyQueue, waitMs?: number): Promise<unknown> {
  return await readErrorBody({ status: 400, headers: {}, body }, waitMs)
}

t.test('of an endless error body, what arrived is read', async t => {
  const { body, cancelled } = open()
  body.push(Buffer.from('{"error":{"message":"no"}}'))
  t.same(await read(body, 10), { error: { message: 'no' } })
  t.ok(cancelled(), 'and its connection is closed')
  const silent = open()
  t.equal(await read(silent.body, 10), '')
  const half = open()
  half.body.push(Buffer.from('{"error":{"mess'))
  t.equal(await read(half.body, 10), '', 'half of a text says nothing')
})

t.test('a broken or oversized error body gives no message, a text body its text', async t => {
  const broken = open()
  broken.body.push(Buffer.from('half'))
  broken.body.fail(new GatewayError('upstream_stream_interrupted'))
  t.equal(await read(broken.body), '')
  const long = open()
  long.body.push(Buffer.alloc(70_000, 0x61))
  t.equal(await read(long.body), '')
  t.ok(long.cancelled())
  const words = open()
  words.body.push(Buffer.from('model is loading'))
  words.body.end()
  t.equal(await read(words.body), 'model is loading')
})
